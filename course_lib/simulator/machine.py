"""Grids, blocks, warps and lanes: the state of a launch, who runs next, barriers, deadlock.

One lane is one thread; lanes are numbered block after block. A register is a NumPy array with one value for
each lane, or with a single value when all lanes hold the same. Register arrays are never changed in place.

Lanes that stand at the same instruction form a group and run a basic block together; a branch splits a group,
and groups that meet join again. The group with the lowest pc runs first, so that lanes of a divergent branch
meet behind it; every now and then the group that has waited longest runs instead, so that nobody starves when
warps loop in different places. Lanes at a barrier are blocked until it completes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .clock import Clock
from .copies import CopyQueue
from .counters import Counters
from .decode import Code
from .hazards import GlobalShadow, HazardLog, SharedShadow
from .memory import Fault, GlobalMemory, LocalMemory, SharedMemory
from .recorder import Recorder

WARP = 32
LOWEST_FIRST, OLDEST_FIRST = 2000, 100  # turns of each scheduling rule


@dataclass
class Launch:
    """What a launch is: one for all batches of its blocks."""

    code: Code
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    params: np.ndarray
    memory: GlobalMemory
    shared_bytes: int
    log: HazardLog
    counters: Counters
    max_steps: int
    seed: int | None = None
    watched: int = 0  # the block whose events the clock's recorder notes
    clock: Clock | None = None  # the model's, once it is known
    reader: int | None = None  # the first block that reads the clock
    steps: int = 0
    output: list[str] = field(default_factory=list)

    @property
    def threads(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]


@dataclass(eq=False)
class _Waiting:
    """Lanes blocked at one barrier instruction, and what they do when it completes."""

    pc: int
    lanes: np.ndarray
    resume: Callable[[Machine, np.ndarray], None]


class _Barrier:
    """One barrier id of every block: which lanes have arrived, and which of them wait."""

    def __init__(self, lanes: int) -> None:
        self.here = np.zeros(lanes, bool)
        self.count: int | None = None  # threads that complete it; None: all of the block that have not exited
        self.waiting: list[_Waiting] = []
        self.marks: dict[int, np.ndarray] = {}  # block -> what bar.arrive has brought


class Machine:
    """Runs one batch of blocks to the end."""

    def __init__(self, launch: Launch, blocks: np.ndarray) -> None:
        threads = launch.threads
        self.launch = launch
        self.log = launch.log
        self.blocks = blocks
        self.lanes = len(blocks) * threads
        self.warps_per_block = -(-threads // WARP)
        self.thread_of = np.tile(np.arange(threads), len(blocks))
        self.block_of = np.repeat(np.arange(len(blocks)), threads)
        self.warp_of = self.block_of * self.warps_per_block + self.thread_of // WARP
        self.every_lane = np.arange(self.lanes)

        program = launch.code.program
        self.R = [np.zeros(1, _register_dtype(bits)) for bits in launch.code.register_bits]
        self.clean = [False] * len(self.R)  # known to hold no subnormal float32
        self.idx: np.ndarray | None = None  # the active lanes; None means all

        names = [(v.offset, v.size, plain_name(v.name)) for v in program.shared]
        self.memory = launch.memory
        self.shared = SharedMemory(len(blocks), launch.shared_bytes, names)
        self.local = LocalMemory(self.lanes, program.local_bytes)
        self.block_base = self.block_of * self.shared.stride
        self.shadow = SharedShadow(
            len(self.shared.memory.data),
            self.shared.stride,
            launch.code.shared_granule,
            self.warp_of,
            self.thread_of,
            self.block_of,
            self.warps_per_block,
            self.report_shared,
            self.shared.describe,
        )
        self.global_shadow = GlobalShadow(launch.code.global_granule)
        self.fenced = np.zeros(
            len(blocks), bool
        )  # blocks that ran a __threadfence(): they order things on purpose
        self.copies = CopyQueue(self)
        self.counters = launch.counters
        self.recorder = Recorder(self, launch.watched - int(blocks[0]))

        self.ready: dict[int, np.ndarray | None] = {}
        self.since: dict[int, int] = {}
        self.parked: dict[int, np.ndarray] = {}
        self.turn = 0
        self.random = None if launch.seed is None else np.random.default_rng(launch.seed)
        self.alive = np.ones(self.lanes, bool)
        self.barriers: dict[int, _Barrier] = {}
        self._specials: dict[str, np.ndarray] = {}
        self.reads = 0  # of the clock
        self.clock_reads = np.zeros(len(blocks) * self.warps_per_block, int)  # the same, by warp

    # ------------------------------------------------------------------ running

    def run(self) -> None:
        """Run to the end, or to a Fault, which is entered into the log and raised again."""
        self.jump(0, None)
        while self.alive.any():
            while self.ready:
                self.turn += 1
                self.execute(*self.pick())
            if self.parked:
                self._release_parked()
            elif self.alive.any():
                self._deadlock()

    def execute(self, pc: int, idx: np.ndarray | None) -> None:
        block = self.launch.code.block(pc)
        at = pc
        try:
            if block.convergent and not self._converge(pc, idx):
                return
            if not block.convergent:
                self.idx = idx
            self.launch.steps += block.length
            self.counters.executed(pc, block.pcs, self.active_warps())
            self.recorder.begin(pc)
            for at, step in block.steps:  # noqa: B007 - a Fault is logged at `at`
                step(self)
            at = block.end_pc
            self.recorder.work(block.work_end)
            block.end(self)
        except Fault as fault:
            self._log_fault(fault, at)
            raise
        if self.launch.steps > self.launch.max_steps:
            fault = Fault(
                "step-limit",
                f"the kernel ran {self.launch.steps} instructions and had not ended (limit {self.launch.max_steps}); "
                "is there a loop that never ends? A longer run is allowed with simulate(..., max_steps=...)",
            )
            self._log_fault(fault, at)
            raise fault

    def pick(self) -> tuple[int, np.ndarray | None]:
        if len(self.ready) == 1:
            pc = next(iter(self.ready))
        elif self.random is not None:
            return self._pick_at_random()
        elif self.turn % (LOWEST_FIRST + OLDEST_FIRST) < LOWEST_FIRST:
            pc = min(self.ready)
        else:
            pc = min(self.ready, key=self.since.__getitem__)
        return pc, self.ready.pop(pc)

    def _pick_at_random(self) -> tuple[int, np.ndarray]:
        """Another legal order: any group, and only some of its warps."""
        pc = list(self.ready)[self.random.integers(len(self.ready))]
        lanes = self.all_lanes(self.ready.pop(pc))
        warps = np.unique(self.warp_of[lanes])
        chosen = np.isin(self.warp_of[lanes], warps[self.random.random(len(warps)) < 0.5])
        if chosen.any() and not chosen.all():
            self.ready[pc] = lanes[~chosen]
            lanes = lanes[chosen]
        return pc, lanes if len(lanes) < self.lanes else None

    def jump(self, pc: int, lanes: np.ndarray | None) -> None:
        """These lanes go on at `pc`, together with those already there."""
        if pc not in self.ready:
            self.ready[pc] = lanes
            self.since[pc] = self.turn
        else:
            joined = np.sort(np.concatenate([self.ready[pc], lanes]))
            self.ready[pc] = joined if len(joined) < self.lanes else None

    def exit(self, lanes: np.ndarray | None) -> None:
        """These lanes are done. Barriers of the whole block no longer wait for them."""
        if lanes is None:
            self.alive[:] = False
            return
        self.alive[lanes] = False
        for barrier in list(self.barriers.values()):
            if barrier.waiting:
                self._complete(barrier, np.unique(self.block_of[lanes]))

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
            return len(self.blocks) * self.warps_per_block
        return int(np.count_nonzero(np.diff(self.warp_of[self.idx]))) + 1

    def spread(self, values: np.ndarray) -> np.ndarray:
        """One value for each active lane, also when all hold the same."""
        return values if len(values) == self.count() else np.broadcast_to(values, (self.count(),))

    def special(self, name: str) -> np.ndarray:
        """A special register (PTX ISA 10) for all lanes, or one value if it is the same for all."""
        found = self._specials.get(name)
        if found is None:
            found = self._specials[name] = _special(self, name)
        return found

    def clock(self, pc: int, unit: str) -> np.ndarray:
        """The clock of the active lanes, in "cycles" or "ns": the model's, or steps so far until it is known."""
        self.recorder.event(pc, "clock")
        lanes = self.active()
        if self.launch.reader is None:
            self.launch.reader = int(self.blocks[self.block_of[lanes[0]]])
        if self.launch.clock is None:
            self.reads += 1
            return np.array([self.launch.steps + self.reads], np.uint64)
        warps = self.warp_of[lanes]
        reads = self.clock_reads[warps]
        self.clock_reads[np.unique(warps)] += 1
        return self.launch.clock.read(
            self.blocks[self.block_of[lanes]], warps % self.warps_per_block, reads, unit
        )

    def describe_thread(self, lane: int) -> str:
        block = np.unravel_index(int(self.blocks[self.block_of[lane]]), self.launch.grid[::-1])[::-1]
        return f"thread {self._thread(int(self.thread_of[lane]))} of block {_triple(block, self.launch.grid)}"

    def _thread(self, thread: int) -> str:
        return _triple(np.unravel_index(thread, self.launch.block[::-1])[::-1], self.launch.block)

    # ------------------------------------------------------------------ barriers

    def arrive(self, ident: int, pc: int, count: int | None, resume: Callable | None) -> None:
        """The active lanes reach barrier `ident`. `resume(machine, lanes)` runs for those it lets go.

        With `count` the barrier completes when that many threads of the block are there (whole warps are
        counted), otherwise when all of the block's threads that have not exited are. Without `resume` the
        lanes do not wait (bar.arrive).
        """
        self.recorder.event(pc, "barrier" if resume else "arrive", ident, count)
        barrier = self.barriers.get(ident)
        if barrier is None:
            barrier = self.barriers[ident] = _Barrier(self.lanes)
        lanes = self.active()
        if self.idx is None and count is None and resume and not barrier.waiting:
            self.shadow.on_barrier_of_all()
            resume(self, None)
            return
        barrier.count = count
        if count is not None and self._more_than(count, barrier, lanes):
            for warp in np.unique(
                self.warp_of[lanes]
            ):  # one after the other: the next round may begin in between
                self._arrive(barrier, pc, lanes[self.warp_of[lanes] == warp], resume)
        else:
            self._arrive(barrier, pc, lanes, resume)

    def _more_than(self, count: int, barrier: _Barrier, lanes: np.ndarray) -> bool:
        """Whether some block's barrier would get more threads than the `count` that complete it."""
        threads = np.bincount(self.block_of[barrier.here], minlength=len(self.blocks))
        return bool((threads + np.bincount(self.block_of[lanes], minlength=len(self.blocks)) > count).any())

    def _arrive(self, barrier: _Barrier, pc: int, lanes: np.ndarray, resume: Callable | None) -> None:
        barrier.here[lanes] = True
        if resume:
            barrier.waiting.append(_Waiting(pc, lanes, resume))
        else:
            for block in np.unique(self.block_of[lanes]):
                marks = self.shadow.mark(np.unique(self.warp_of[lanes[self.block_of[lanes] == block]]))
                barrier.marks[block] = np.maximum(barrier.marks.get(block, 0), marks)
        self._complete(barrier, np.unique(self.block_of[lanes]))

    def _complete(self, barrier: _Barrier, blocks: np.ndarray) -> None:
        """Let go the lanes of those blocks whose barrier is complete."""
        if barrier.count is None:
            missing = np.bincount(
                self.block_of, weights=self.alive & ~barrier.here, minlength=len(self.blocks)
            )
            waiting = np.bincount(self.block_of, weights=barrier.here, minlength=len(self.blocks))
            done = blocks[(missing[blocks] == 0) & (waiting[blocks] > 0)]
        else:
            missing = np.bincount(self.warp_of, weights=self.alive & ~barrier.here)
            present = np.bincount(self.warp_of, weights=barrier.here)
            whole = ((missing == 0) & (present > 0)).reshape(-1, self.warps_per_block).sum(axis=1) * WARP
            done = blocks[whole[blocks] >= barrier.count]
        for block in done:
            self._let_go(barrier, block, aligned=barrier.count is None)

    def _let_go(self, barrier: _Barrier, block: int, aligned: bool) -> None:
        released = []
        for entry in list(barrier.waiting):
            mine = self.block_of[entry.lanes] == block
            if mine.any():
                released.append((entry, entry.lanes[mine]))
                entry.lanes = entry.lanes[~mine]
            if not len(entry.lanes):
                barrier.waiting.remove(entry)
        barrier.here[self.block_of == block] = False
        if aligned:
            self._check_same_barrier(released)
        lanes = np.concatenate([lanes for _, lanes in released]) if released else np.array([], int)
        self.shadow.on_barrier(np.unique(self.warp_of[lanes]), barrier.marks.pop(block, None))
        for entry, lanes in released:
            entry.resume(self, np.sort(lanes))

    def _check_same_barrier(self, released: list) -> None:
        instructions = self.launch.code.program.instructions
        places = {instructions[entry.pc].where: int(lanes[0]) for entry, lanes in released}
        if len(places) > 1:
            (first, lane), (second, other) = list(places.items())[:2]
            raise Fault(
                "barrier-divergence",
                f"threads of one block wait at different __syncthreads(): {self.describe_thread(lane)} at {first}, "
                f"thread {self._thread(int(self.thread_of[other]))} at {second}; every thread of the block must reach "
                "the same one",
            )

    def _converge(self, pc: int, idx: np.ndarray | None) -> bool:
        """Before a `.sync` instruction: go on with the warps whose lanes are all here, park the others."""
        if pc in self.parked:
            idx = np.sort(np.concatenate([self.parked.pop(pc), self.all_lanes(idx)]))
        if idx is None or len(idx) == self.lanes:
            self.idx = None
            return True
        here = np.bincount(self.warp_of[idx], minlength=int(self.warp_of[-1]) + 1)
        self.idx = idx
        needed = self.launch.code.members(pc)(self, idx)
        missing = needed & self.alive
        missing[idx] = False
        waits = np.bincount(self.warp_of, weights=missing, minlength=len(here))[self.warp_of[idx]] > 0
        if waits.any():
            self.parked[pc] = idx[waits]
            self.idx = idx[~waits]
        return len(self.idx) > 0

    def _release_parked(self) -> None:
        """Nothing else can run: parked lanes try again, since others have exited; if none can go, it is over."""
        before = {pc: len(lanes) for pc, lanes in self.parked.items()}
        for pc in list(self.parked):
            self.execute(pc, self.parked.pop(pc))
        if not self.ready and {pc: len(lanes) for pc, lanes in self.parked.items()} == before:
            self._deadlock()

    def _deadlock(self) -> None:
        instructions = self.launch.code.program.instructions
        places = [(w.pc, w.lanes) for b in self.barriers.values() for w in b.waiting] + list(
            self.parked.items()
        )
        waits = [
            f"{len(lanes)} threads, {self.describe_thread(int(lanes[0]))} among them, at line "
            f"{instructions[pc].where.line} ({instructions[pc].opcode.text})"
            for pc, lanes in places
        ]
        text = "no thread can go on: " + "; ".join(waits[:4]) + ". They wait for threads that never come"
        fault = Fault("deadlock", text)
        self._log_fault(fault, places[0][0] if places else 0)
        raise fault

    # ------------------------------------------------------------------ findings

    def _log_fault(self, fault: Fault, pc: int) -> None:
        text = fault.message
        if fault.lane is not None:
            text = f"{self.describe_thread(int(self.active()[fault.lane]))}: {text}"
        self.log.add(fault.kind, self.launch.code.program.instructions[pc], text)

    def report_shared(
        self, kind: str, pc: int, lane: int, place: str, other: int, other_pc: int, count: int
    ) -> None:
        """A finding of the shared-memory shadow, in words that say what is missing."""
        instructions = self.launch.code.program.instructions
        line = instructions[other_pc].where.line
        thread = self.describe_thread(lane)
        them = "atomic operations" if other < 0 else f"thread {self._thread(other)}"
        wait = "Wait for its group (cp.async.wait_group), then __syncthreads()"
        if self.copies.uncommitted(other_pc):
            wait = f"No cp.async.commit_group follows line {line}, so no wait covers the copy"
        text = {
            "unwaited-copy": f"{thread} reads {place} before the asynchronous copy into it is known to have arrived; "
            f"{them} issued the copy at line {line}. {wait}",
            "read-after-write": f"{thread} reads {place}, which {them} wrote at line {line}, with no barrier in "
            "between. A __syncthreads() is missing between that write and this read",
            "write-after-read": f"{thread} writes {place}, which {them} reads at line {line}, with no barrier in "
            "between. A __syncthreads() is missing between that read and this write",
            "write-after-write": f"{thread} writes {place}, to which {them} writes another value at line {line}, with "
            "no barrier in between. Only one thread should write it, or a __syncthreads() is missing",
            "uninitialised-read": f"{thread} reads {place}, which no thread has written",
        }[kind]
        self.log.add(kind, instructions[pc], text, count)


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


def _register_dtype(bits: int) -> np.dtype:
    return np.dtype(bool) if bits == 1 else np.dtype(f"u{max(bits, 8) // 8}")


def _triple(index: tuple, shape: tuple) -> str:
    """An index as the learner thinks of it: 5 in one dimension, (5, 2) in two."""
    dims = 3 if shape[2] > 1 else 2 if shape[1] > 1 else 1
    numbers = [str(int(i)) for i in index[:dims]]
    return numbers[0] if dims == 1 else f"({', '.join(numbers)})"


def _special(m: Machine, name: str) -> np.ndarray:
    launch = m.launch
    axis = "xyz".find(name[-1])
    kind = name[1:].split(".")[0]
    if kind in ("ntid", "nctaid"):
        return np.array([(launch.block if kind == "ntid" else launch.grid)[axis]], np.uint32)
    if kind == "tid":
        return _index(m.thread_of, launch.block, axis)
    if kind == "ctaid":
        return _index(m.blocks[m.block_of], launch.grid, axis)
    lane = (m.thread_of % WARP).astype(np.uint32)
    one = np.uint32(1)
    masks = {
        "lanemask_eq": one << lane,
        "lanemask_lt": (one << lane) - one,
        "lanemask_le": (one << lane) * np.uint32(2) - one,
        "lanemask_gt": ~((one << lane) * np.uint32(2) - one),
        "lanemask_ge": ~((one << lane) - one),
    }
    if kind in masks:
        return masks[kind]
    simple = {
        "laneid": lane,
        "warpid": (m.thread_of // WARP).astype(np.uint32),
        "nwarpid": np.array([m.warps_per_block], np.uint32),
        "smid": m.block_of.astype(np.uint32),
        "nsmid": np.array([len(m.blocks)], np.uint32),
        "gridid": np.array([1], np.uint64),
        "dynamic_smem_size": np.array([launch.shared_bytes - launch.code.program.static_shared], np.uint32),
        "total_smem_size": np.array([launch.shared_bytes], np.uint32),
    }
    if name == "WARP_SZ":
        return np.array([WARP], np.uint32)
    if kind not in simple:
        raise Fault("unsupported-instruction", f"the special register {name} is not simulated")
    return simple[kind]


def _index(linear: np.ndarray, shape: tuple[int, int, int], axis: int) -> np.ndarray:
    if shape[axis] == 1:
        return np.zeros(1, np.uint32)
    stride = int(np.prod(shape[:axis]))
    return (linear // stride % shape[axis]).astype(np.uint32)
