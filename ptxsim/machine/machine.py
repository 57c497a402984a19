"""Grids, blocks, warps and lanes, and how they run.

One lane is one thread; lanes are numbered block after block. A register is a NumPy array with one value for
each lane, or with a single value when all lanes hold the same. Register arrays are never changed in place.

Lanes that stand at the same instruction form a group and run a basic block together (turns.py: which runs next). Lanes
that wait for others (barriers.py) are in no group.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from ..gpus import WARP
from ..ground.memory import UNIT, Buffer, Fault, LocalMemory, Miss, SharedMemory, beside_written, not_written
from ..observe import events
from ..observe.recorder import Recorder
from ..races.findings import Findings
from ..races.orders import Orders
from ..races.shadow import Shadow
from ..races.unwatched import Unwatched
from ..units import leaving
from ..units.access import Access, Holes, Partly, differs
from ..units.async_math import AsyncMath
from ..units.async_reads import AsyncReads
from ..units.barriers import ALL, Barrier, Gathering, WarpBarrier
from ..units.bulk import BulkCopies
from ..units.clusters import Clusters
from ..units.copies import CopyQueue
from ..units.dependents import Dependence
from ..units.divergence import SyncCheck
from ..units.mbarriers import Mbarrier
from ..units.registers import RegisterPool
from ..units.tensor_memory import TensorMemory
from ..units.turns import Turns
from ..units.unset import SecondValues
from .decode import BasicBlock
from .launched import LaunchState
from .settled import Settled
from .specials import special
from .standstill import Watch
from .stuck import deadlock, endless, not_begun


class Machine:
    """Runs one batch of blocks to the end: `count` of them from number `first` on, in the launch's order.

    How much of it each of the other rooms uses: lanes.py."""

    def __init__(self, launch: LaunchState, first: int, count: int) -> None:
        threads, code = launch.threads, launch.code
        blocks = launch.blocks[first : first + count]
        self.launch = launch
        self.log = launch.log
        self.blocks, self.launch_of = blocks, launch.launch_of[first : first + count]
        self.lanes = len(blocks) * threads
        self.warps_per_block = -(-threads // WARP)
        self.warps = len(blocks) * self.warps_per_block
        self.thread_of = np.tile(np.arange(threads), len(blocks))
        self.block_of = np.repeat(np.arange(len(blocks)), threads)
        self.warp_of = self.block_of * self.warps_per_block + self.thread_of // WARP
        self.every_lane = np.arange(self.lanes)

        zeros = {dtype: np.zeros(1, dtype) for dtype in set(code.register_dtypes)}
        self.R = [zeros[dtype] for dtype in code.register_dtypes]
        self.unset = list(self.R)  # what a register holds until an instruction writes it
        self.clean = [False] * len(self.R)  # known to hold no subnormal float32
        self.idx: np.ndarray | None = None  # the active lanes; None means all

        names = [(v.offset, v.size, plain_name(v.name)) for v in code.program.shared]
        self.memory = launch.memory
        reserved = code.program.reserved_shared
        self.shared = SharedMemory(len(blocks), launch.shared_bytes, names, launch.shapes, reserved)
        self.local = LocalMemory(self.lanes, code.program.local_bytes)
        self.block_base = self.block_of * self.shared.stride
        self.orders = Orders(
            launch.trail, launch.letters, first, len(blocks), threads, code.lanes_apart, launch.cluster_size
        )
        self.findings = Findings(self)
        self.judged = launch.flags.judged
        self.second = SecondValues(self, code.unset.registers if self.judged else frozenset())
        shared_bytes = len(self.shared.memory.data)
        apart = launch.cluster_size == 1  # blocks do not touch each other's
        self.shadow = (Shadow if self.judged else Unwatched)(
            shared_bytes, code.shared_granule, launch.budget, block=self.shared.stride if apart else 0
        )
        self.shadow.leave_to_system(self.shared.stride, reserved)
        self.copies = CopyQueue(self)
        self.bulk = BulkCopies(self)
        self.async_reads = AsyncReads(self)
        self.math = AsyncMath(self)
        self.tensor = TensorMemory(self)
        self.registers = RegisterPool(self)
        self.clusters = Clusters(self, launch.cluster_size)
        self.dependence = Dependence(self, len(blocks), launch.flags.dependent)
        self.proxy_fences = launch.proxy_fences
        self.counters = launch.counters
        self.recorder = Recorder(self, code.costs, launch.watched - first)

        seed = launch.flags.seed
        random = None if seed is None else np.random.default_rng([seed, first])
        self.at_once = min(len(blocks), launch.room.blocks if launch.room else len(blocks))
        if code.cancels and len(launch.grids) == 1:  # so that some wait for their turn
            clusters = self.at_once // launch.cluster_size
            some = -(-clusters // 2) if random is None else int(random.integers(1, clusters + 1))
            self.at_once = some * launch.cluster_size
        self.begun = self.at_once
        self.turns = Turns(self, random)
        self.watch = Watch(self)
        self.settled = Settled(self)
        self.still: bool | None = None
        self.holes, self.partly = False, list[Partly]()
        self.alive = np.ones(self.lanes, bool)
        self.barriers: dict[int, Barrier] = {}
        self.mbarriers: dict[int, Mbarrier] = {}
        self.warp_barrier = WarpBarrier(self)
        self.gatherings: dict[int, Gathering] = {}
        self.fragments: dict[tuple, tuple] = {}  # of mma: see there
        self.whole_warps: tuple | None = None  # active lanes that were found to be so many whole warps
        self.given_up: np.ndarray | None = None  # lanes that go on without others that they should wait for
        self.sync_check = SyncCheck(self)
        self._alive_bits: np.ndarray | None = None
        self._specials: dict[str, np.ndarray] = {}
        self.issued = 0  # instructions before that of pc 0, if the basic block that runs were a longer one

    # ------------------------------------------------------------------ running

    def run(self) -> None:
        """Run to the end, or to a Fault, which is entered into the log and raised again."""
        try:
            self._run()
        finally:
            self.findings.doubts()

    def _run(self) -> None:
        self.turns.add(
            0, None if self.begun == len(self.blocks) else self.every_lane[: self.begun * self.launch.threads]
        )
        while self.alive.any():
            while self.turns.ready:
                pc, lanes = self.turns.next()
                if self.watch.turn(pc, lanes, self.launch.code.block(pc).traceless):
                    self._standstill(pc, lanes)
                if pc in self.settled.loops:
                    self.settled.round(pc, lanes)
                else:
                    self.execute(pc, lanes)
            if self.alive.any() and not self._go_on_without():
                self._stop(*deadlock(self))
        self.copies.finish()
        self.bulk.finish()
        self.tensor.finish()
        self.clusters.finish(leaving.tell_of_others(self))
        leaving.note_own(self)
        self.launch.letters.pop(self.shared, None)

    def execute(self, pc: int, idx: np.ndarray | None) -> None:
        block = self.launch.code.block(pc)
        at = pc
        try:
            if idx is not None and pc in self.sync_check.watched:
                self.sync_check.come(pc, idx)
            if block.gathers is not None and not self._gather(pc, idx, block.gathers):
                return
            if block.gathers is None:
                self.idx = idx
            self.issued = self.launch.steps - pc
            self.launch.steps += block.length
            self.counters.executed(self, pc, block.counts)
            self.recorder.begin(pc)
            idx = self.idx
            left = block.steps
            while left:
                try:
                    for at, step in left:
                        try:
                            step(self)
                        except Miss as miss:
                            self._without(miss, at, step)
                    left = ()
                except Holes:
                    block = self._follow_loads(block, at)
                    left, self.idx = block.steps, idx
            at = block.end_pc
            self.recorder.work(block.work_end)
            self.launch.budget.spend(block.work.of(self.count()))
            block.end(self)
        except Fault as fault:
            self.log_fault(fault, at)
            raise

    def _without(self, miss: Miss, pc: int, step: Callable) -> None:
        """Run an instruction for the lanes that do not miss; for the others it does nothing."""
        whole = self.idx
        self.missed(miss, pc)
        self.idx = self.active()[~miss.bad]
        if len(self.idx):
            try:
                step(self)
            except Miss as another:
                self._without(another, pc, step)
        self.idx = whole

    def _follow_loads(self, block: BasicBlock, pc: int) -> BasicBlock:
        """The load at `pc` is the first that found bytes which nobody has written. From here on such values are
        followed; what is left of the basic block."""
        code = self.launch.code = self.launch.code.following
        self.second.wanted = code.unset.registers
        code.take_loaded(pc)(self)
        if pc == block.end_pc:
            return replace(block, steps=())
        return replace(code.block(pc + 1), work=block.work)

    def work(self, amount: float) -> None:
        """Something took longer than an instruction does: so many times as long."""
        self.launch.budget.spend(amount)

    def exit(self, lanes: np.ndarray | None) -> None:
        """These lanes are done. Who waited only for them goes on."""
        if lanes is None:
            self.alive[:] = False
            return
        self.alive[lanes] = False
        self.orders.end(lanes)
        self.launch.budget.got_on()
        if self._alive_bits is not None:
            bits = np.uint32(1) << (self.thread_of[lanes] % WARP).astype(np.uint32)
            np.bitwise_and.at(self._alive_bits, self.warp_of[lanes], ~bits)
        for rendezvous in self.rendezvous():
            if rendezvous.waiting:
                rendezvous.look_again(lanes)
        if self.begun < len(self.blocks):
            self._begin_more()

    def cancel(self) -> tuple[int, int, int, int]:
        """The next cluster whose turn has not come never begins: the place of its first block, and 1. 0: there is
        none."""
        first, threads = self.begun, self.launch.threads
        if first == len(self.blocks):
            return 0, 0, 0, 0
        self.begun += self.launch.cluster_size
        self.exit(self.every_lane[first * threads : self.begun * threads])
        grid = self.launch.grids[int(self.launch_of[first])]
        z, y, x = (int(each) for each in np.unravel_index(int(self.blocks[first]), grid[::-1]))
        return x, y, z, 1

    def _begin_more(self) -> None:
        """Blocks begin, in their order, cluster by cluster, where others have ended."""
        threads, cluster = self.launch.threads, self.launch.cluster_size
        running = int(np.count_nonzero(self.alive[: self.begun * threads].reshape(-1, threads).any(axis=1)))
        first = self.begun
        self.begun += min((self.at_once - running) // cluster * cluster, len(self.blocks) - first)
        if self.begun > first:
            self.turns.add(0, self.every_lane[first * threads : self.begun * threads])

    # ------------------------------------------------------------------ lanes

    def all_lanes(self, lanes: np.ndarray | None) -> np.ndarray:
        return self.every_lane if lanes is None else lanes

    def active(self) -> np.ndarray:
        """Numbers of the active lanes."""
        return self.every_lane if self.idx is None else self.idx

    def count(self) -> int:
        return self.lanes if self.idx is None else len(self.idx)

    def active_warps(self) -> int:
        """Number of warps with an active lane."""
        if self.idx is None:
            return self.warps
        return int(np.count_nonzero(np.diff(self.warp_of[self.idx]))) + 1

    def alive_bits(self) -> np.ndarray:
        """For each warp its lanes that have not exited."""
        if self._alive_bits is None:
            bits = np.zeros(self.warps, np.uint32)
            lane = (self.thread_of % WARP).astype(np.uint32)
            np.bitwise_or.at(bits, self.warp_of, self.alive.astype(np.uint32) << lane)
            self._alive_bits = bits
        return self._alive_bits

    def spread(self, values: np.ndarray) -> np.ndarray:
        """One value for each active lane, also when all hold the same."""
        return values if len(values) == self.count() else np.broadcast_to(values, (self.count(),))

    def special(self, name: str) -> np.ndarray:
        """A special register (PTX ISA, "Special Registers") for all lanes, or one value if it is the same for all."""
        found = self._specials.get(name)
        if found is None:
            found = self._specials[name] = special(self, name)
        return found

    def params(self, at: int) -> np.ndarray:
        """The parameters of the launch of one of the active lanes, as bytes."""
        return self.launch.params[self.launch_of[self.block_of[self.active()[at]]]]

    def parameters_at(self, places: np.ndarray, size: int) -> np.ndarray:
        """`size` bytes of the parameters from each of these places on: (places, bytes)."""
        if len(self.launch.params) == 1:
            return self.launch.params[0, places[:, None] + np.arange(size)]
        rows = self.launch_of[self.block_of[self.active()]]
        return self.launch.params[rows[:, None], self.spread(places)[:, None] + np.arange(size)]

    def parameter(self, first: int, size: int) -> np.ndarray:
        """Bytes of the parameters: a unit of `size` bytes for each active lane, or one if all have the same."""
        each = np.ascontiguousarray(self.launch.params[:, first : first + size]).view(UNIT[size]).reshape(-1)
        if len(each) == 1 or not differs(each[1:], each[:-1]).any():
            return each[:1]
        return each[self.launch_of[self.block_of[self.active()]]]

    def clock(self, pc: int) -> np.ndarray:
        """What clock64() and %globaltimer read at `pc`: instructions of the launch so far, each once for all threads
        that were at it together."""
        return np.array([self.issued + pc + self.launch.skipped], np.uint64)

    def describe_thread(self, lane: int) -> str:
        """A lane of this machine: "thread (3, 0) of block 5"."""
        return self.describe_lane(lane + self.orders.first_lane)

    def describe_lane(self, lane: int) -> str:
        """A lane of the grid."""
        block, thread = divmod(lane, self.launch.threads)
        grid = self.launch.grids[self.launch.launch_of[block]]
        place = np.unravel_index(int(self.launch.blocks[block]), grid[::-1])[::-1]
        return f"{self._thread(thread)} of block {_triple(place, grid)}"

    def describe_other(self, lane: int) -> str:
        """A lane of this machine, when the block was named already."""
        return self._thread(int(self.thread_of[lane]))

    def _thread(self, thread: int) -> str:
        place = np.unravel_index(thread, self.launch.block[::-1])[::-1]
        return f"thread {_triple(place, self.launch.block)}"

    # ------------------------------------------------------------------ waiting

    def arrive(self, ident: int, pc: int, count: int, resume: Callable | None) -> None:
        """The active lanes reach barrier `ident`. `resume(machine, lanes)` runs for those it lets go.

        It completes when `count` threads of the block are there (whole warps are counted), with ALL when all threads of
        the block are that have not exited. Without `resume` the lanes do not wait (bar.arrive).
        """
        come = events.Barrier if resume else events.Arrive
        self.recorder.event(pc, come(ident, None if count == ALL else count))
        barrier = self.barrier(ident)
        if self.idx is None and count == ALL and resume and not barrier.expected.any():
            barrier.everyone_votes()
            self.orders.meet(None)
            resume(self, None)
        else:
            barrier.arrive(pc, self.active(), count, resume)

    def barrier(self, ident: int) -> Barrier:
        """The barrier of this number, in every resident block."""
        if ident not in self.barriers:
            self.barriers[ident] = Barrier(self, ident)
        return self.barriers[ident]

    def fence_proxies(self, spaces: frozenset[str]) -> None:
        """The active lanes make a fence.proxy.async for these spaces."""
        self.proxy_fences.make(self.orders, self.active(), spaces)

    def is_async(self, pcs: np.ndarray) -> np.ndarray:
        """Which of these instructions reach memory through the async proxy (PTX ISA, "Async proxy")."""
        return self.launch.code.in_async_proxy[pcs]

    def mbarrier(self, offset: int) -> Mbarrier:
        """The mbarrier at this byte of shared memory, in every resident block."""
        if offset not in self.mbarriers:
            self.mbarriers[offset] = Mbarrier(self, offset)
        return self.mbarriers[offset]

    def _gather(self, pc: int, idx: np.ndarray | None, masks_of: Callable) -> bool:
        """Before an instruction of several lanes: go on with those whose mates are all here; the others wait."""
        if self.given_up is not None:
            self.idx, self.given_up = self.given_up, None
            return True
        waiting = self.gatherings.get(pc)
        if waiting is None or not waiting.waiting:
            if idx is None:
                self.idx = None
                return True
            if waiting is None:
                waiting = self.gatherings[pc] = Gathering(self, pc)
        self.idx = idx
        lanes = waiting.come(self.active(), self.spread(masks_of(self)))
        self.idx = lanes if len(lanes) < self.lanes else None
        return len(lanes) > 0

    def _go_on_without(self) -> bool:
        """Nobody can go on. Lanes that gather for a barrier of the block come to it without the rest of their warp,
        as on a GPU; whether there are any."""
        stuck = [
            each for pc, each in self.gatherings.items() if each.waiting and self.launch.code.is_barrier(pc)
        ]
        for gathering in stuck:
            self.given_up = gathering.give_up()
            self.execute(gathering.pc, None)
        return bool(stuck)

    def rendezvous(self) -> list:
        return [
            self.registers,
            self.tensor,
            *self.barriers.values(),
            self.warp_barrier,
            *self.gatherings.values(),
            *self.mbarriers.values(),
            self.clusters.barrier,
        ]

    def places(self) -> Iterator[tuple[int, np.ndarray]]:
        """Where lanes are that do not run at the moment: the instruction at which each of them goes on, or waits."""
        for pc, lanes in self.turns.ready.items():
            yield pc, self.all_lanes(lanes)
        for rendezvous in self.rendezvous():
            yield from ((entry.pc, entry.lanes) for entry in rendezvous.waiting)

    def _stop(self, fault: Fault, pc: int) -> None:
        self.log_fault(fault, pc)
        raise fault

    def _standstill(self, pc: int, lanes: np.ndarray | None) -> None:
        """These lanes and all that are ready go round for ever."""
        groups = [
            (pc, self.all_lanes(lanes)),
            *((at, self.all_lanes(each)) for at, each in self.turns.ready.items()),
        ]
        rounds, flow = self.watch.rounds, self.launch.code.flow
        for group in groups:
            if not any(rounds.looks_from(flow, flow.block_of(group[0]))):
                self._stop(endless(self, group), group[0])
        self._stop(*deadlock(self, groups, rounds))

    def blocks_to_come(self) -> int:
        """Of the grid, which begin when some of these have ended."""
        return len(self.launch.blocks) - self.orders.first_lane // self.launch.threads - self.begun

    # ------------------------------------------------------------------ memory, findings

    def shadow_of(self, memory: SharedMemory | Buffer) -> Shadow | None:
        """What watches this memory; None for a buffer that the kernel only reads, and where nobody watches."""
        if not self.judged:
            return None
        if isinstance(memory, SharedMemory):
            return self.shadow
        shadow = self.launch.shadows.get(memory)
        if shadow is None and memory in self.launch.granules:
            shadow = Shadow(memory.size, self.launch.granules[memory], self.launch.budget, memory)
            self.launch.shadows[memory] = shadow
        return shadow

    def check_written(self, access: Access, memory: LocalMemory | Buffer, unit: np.ndarray) -> None:
        """A read of memory in which somebody should have written."""
        if memory.written is None or not self.judged:
            return
        missing = not_written(memory.written, unit, access.size)
        if missing is None:
            return
        whole = missing.all(axis=1)
        if access.pc in self.launch.code.of_structs:
            whole &= ~beside_written(memory.written, unit, access.size)
        if memory is not self.local and access.pc in self.launch.code.plain_loads:
            self.holes |= bool((missing.any(axis=1) & ~whole).any())
        never = np.flatnonzero(whole)
        if not len(never) or (memory is self.local and access.pc in self.launch.code.speculated):
            return
        thread = self.describe_thread(int(self.active()[never[0]]))
        if isinstance(memory, LocalMemory):
            text = (
                f"{thread} reads a part of a local array that it never wrote. Every thread has its own local array; "
                "one for all threads of the block is declared __shared__"
            )
        else:
            place = memory.element(int(unit[never[0]]) * access.size)
            text = f"{thread} reads {place}, which nobody has written: no copy, no fill and no kernel"
        cause = "local-array" if memory is self.local else "never-written"
        instruction = self.launch.code.instructions[access.pc]
        self.log.add("uninitialised-read", instruction, text, len(never), cause)

    def check_own_mask(self, pc: int, masks: np.ndarray) -> None:
        """Each active lane must be in the mask that it gives (PTX ISA: undefined otherwise)."""
        lane = (self.thread_of[self.active()] % WARP).astype(np.uint32)
        outside = np.flatnonzero(~(masks >> lane) & 1)
        if len(outside):
            at = int(outside[0])
            self.log.add(
                "warp-mask",
                self.launch.code.instructions[pc],
                f"{self.describe_thread(int(self.active()[at]))} is lane {lane[at]} of its warp, and gives the mask "
                f"{int(masks[at]):#010x}, in which it is not. A thread may only call this with a mask that names it",
                len(outside),
                "not-in-own-mask",
            )

    def missed(self, miss: Miss, pc: int) -> None:
        """Report accesses of active lanes that cannot be made."""
        instruction, count = self.launch.code.instructions[pc], int(np.count_nonzero(miss.bad))
        if not self.log.again(miss.kind, instruction, count):
            text = f"{self.describe_thread(int(self.active()[miss.lane]))}: {miss.words()}"
            self.log.add(miss.kind, instruction, text, count, miss.cause)

    def log_fault(self, fault: Fault, pc: int) -> None:
        text = fault.message
        if fault.lane is not None:
            text = f"{self.describe_thread(int(self.active()[fault.lane]))}: {text}"
        if fault.kind == "step-limit" and self.launch.room and (later := self.blocks_to_come()):
            text += f". {not_begun(later, self.launch.room)}"
        self.log.add(fault.kind, self.launch.code.instructions[pc], text, cause=fault.cause)


def plain_name(mangled: str) -> str:
    """The name of a __shared__ array as the learner wrote it: _ZZ4gemmE2As and _ZZ4gemmPfE2As_0 give As."""
    if not mangled.startswith("_ZZ"):
        return mangled
    digits = [i for i in range(len(mangled) - 1) if mangled[i] == "E" and mangled[i + 1].isdigit()]
    for start in reversed(digits):
        end = start + 1
        while mangled[end].isdigit():
            end += 1
        length = int(mangled[start + 1 : end])
        if len(mangled[end:]) >= length:
            return mangled[end : end + length]
    return mangled


def _triple(index: tuple, shape: tuple) -> str:
    """An index as the learner thinks of it: 5 in one dimension, (5, 2) in two."""
    dims = 3 if shape[2] > 1 else 2 if shape[1] > 1 else 1
    numbers = [str(int(i)) for i in index[:dims]]
    return numbers[0] if dims == 1 else f"({', '.join(numbers)})"
