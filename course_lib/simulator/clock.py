"""A cost model of coarse events: when a kernel copies, waits and computes on one SM. A model, not a measurement.

While a launch runs, a `Recorder` notes for each warp of one block what it does: work (instructions, FMAs, mma,
shared-memory wavefronts), copies, waits, barriers, loads, stores. `play` then plays these events against the rates of
a GPU: four sub-cores, the port of shared memory, the way from L2.

Other blocks on the same SM are not played. They are taken to do the same at other, random times: what they keep busy
on average makes this block's requests take longer (`settle`). That is mean value analysis of a closed queueing
network with processor sharing. Playing all blocks in step was tried: they fall into a perfect rhythm, in which one
computes exactly while the other copies, and which no GPU keeps.

Assumptions. Events keep their PTX order, but ptxas moves arithmetic that needs no memory above barriers and copies
(only memory operations are held in order): `hoist_math` does so too. A stretch of work between two events takes as
long as the busiest resource it needs. All operands come from L2.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import astuple, dataclass, field, replace
from functools import partial

import numpy as np

from .counters import SECTOR
from .engines import Engines
from .gpus import GPUS, SUB_CORES, Rates, find_gpu
from .occupancy import launch_resources
from .recorder import Event

STEADY = 2  # parts of the main loop over which its time is taken, after as many to get going
CLOCK_READ = 2  # cycles
CLUSTER = -1  # stands for the number of the cluster's barrier
NEXT_READ = 20  # cycles from a read of the clock to the next, where the model knows nothing of them


def hoist_math(events: list[Event]) -> list[Event]:
    """Arithmetic that reads no memory moves up behind the work that loaded its operands, as ptxas moves it."""
    result: list[Event] = []
    loaded = None  # where the last work with wavefronts stands
    for event in events:
        if event[0] == "work" and event[4] == 0 and (event[2] or event[3]) and loaded is not None:
            result[loaded] = ("work", *(a + b for a, b in zip(result[loaded][1:], event[1:], strict=True)))
            continue
        if event[0] == "work" and event[4]:
            loaded = len(result)
        result.append(event)
    return result


# --------------------------------------------------------------------------- one block on an SM


@dataclass
class Segment:
    """A warp is in `phase` (copy, wait, barrier, math, wgmma, load, store) from begin to end, in cycles. `k_tile`: of a
    warp that waits at mbarriers, the one that it is at, counted through all tiles; -1 before, and of others."""

    warp: int
    phase: str
    begin: float
    end: float
    k_tile: int = -1


PHASES = {
    "copy": "copy",
    "wait": "wait",
    "barrier": "barrier",
    "store": "store",
    "load": "load",
    "join": "load",
    "bulk": "copy",
    "bulk_store": "store",
    "bulk_wait": "store",
    "wgmma": "wgmma",
    "wgmma_wait": "wgmma",
}


RESOURCES = ("arithmetic", "shared memory", "L2")
"""Of which `Played.spans` tells when they serve this block: the first sub-core, the port of shared memory, the way from
L2. Of a kernel that uses Hopper's engines also "tensor cores" (the first sub-core's), "copy engine" (bytes are on their
way to shared memory) and "stores" (whoever stores: bytes are on their way to L2)."""


@dataclass(frozen=True)
class Stretch:
    """How many times longer than alone a block's service takes: in the sub-cores, the shared-memory port, on the way
    from L2, and in the tensor cores, where they work on their own (wgmma)."""

    core: float = 1.0
    shared: float = 1.0
    l2: float = 1.0
    tensor: float = 1.0


@dataclass
class Played:
    """Cycles from the block's start to its end, how long it kept each resource busy, what its warps did, when it kept
    the resources of RESOURCES busy, and the cycle of each warp's clock reads. `stuck`: warps that wait for ever,
    because the other blocks of the cluster do not do at each moment what this one does."""

    cycles: float = 0.0
    busy: Stretch = Stretch(0.0, 0.0, 0.0, 0.0)
    segments: list[Segment] = field(default_factory=list)
    spans: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    clocks: list[list[float]] = field(default_factory=list)
    stuck: int = 0


@dataclass
class Warp:
    """Of the block that is played: how far it is, and what it waits for."""

    index: int
    at: int = 0
    copies: float = 0.0  # when the copies since the last commit have landed
    groups: list[float] = field(default_factory=list)  # when each committed group has landed
    loads: float = 0.0  # when the values loaded so far have arrived
    k_tile: int = -1
    segment: Segment | None = None


class _Server:
    """A resource that serves one after the other, in the order in which they ask."""

    def __init__(self, stretch: float) -> None:
        self.stretch, self.free, self.busy = stretch, 0.0, 0.0
        self.spans: list[tuple[float, float]] = []  # when it served, without gaps between neighbours

    def serve(self, time: float, cycles: float, seen: bool = True) -> float:
        """When a request made at `time` is done; `seen`: it shows in the spans."""
        self.busy += cycles * self.stretch
        begin = max(time, self.free)
        self.free = begin + cycles * self.stretch
        if seen and self.spans and begin <= self.spans[-1][1]:
            begin = self.spans.pop()[0]
        if seen and self.free > begin:
            self.spans.append((begin, self.free))
        return self.free

    def slip_in(self, time: float, cycles: float) -> float:
        """When a few instructions are done, of which every other one comes between those of the request served now."""
        turns = 2 if self.free > time else 1
        self.serve(time, cycles, seen=False)
        return time + turns * cycles * self.stretch


class _Block:
    """Plays the events of a block's warps, in the order of their times."""

    def __init__(self, events: list[list[Event]], rates: Rates, stretch: Stretch) -> None:
        self.events, self.rates = events, rates
        self.cores = [_Server(stretch.core) for _ in range(SUB_CORES)]
        self.shared, self.l2 = _Server(stretch.shared), _Server(stretch.l2)
        self.stores = _Server(1.0)  # they go the other way
        self.engines = Engines(self, [_Server(stretch.tensor) for _ in range(SUB_CORES)])
        self.queue: list[tuple[float, int, Callable[[float], None]]] = []
        self.order = 0
        self.alive = len(events)
        self.barriers: dict[int, list] = {}
        self.played = Played(clocks=[[] for _ in events])

    def run(self) -> Played:
        for index in range(len(self.events)):
            self.push(self.rates.block_start, Warp(index))
        while self.queue:
            time, _, action = heapq.heappop(self.queue)
            action(time)
        self.played.stuck = self.alive
        core = sum(core.busy for core in self.cores) / SUB_CORES
        self.played.busy = Stretch(core, self.shared.busy, self.l2.busy, self.engines.busy())
        servers = self.cores[0], self.shared, self.l2
        spans = {name: server.spans for name, server in zip(RESOURCES, servers)}
        self.played.spans = spans | self.engines.spans()
        return self.played

    def step(self, warp: Warp, time: float) -> None:
        """The next event of a warp."""
        if warp.at == len(self.events[warp.index]):
            self.alive -= 1
            return
        event = self.events[warp.index][warp.at]
        warp.at += 1
        name = "do_" + event[0]
        end = getattr(self if hasattr(self, name) else self.engines, name)(time, warp, *event[1:])
        if end is not None:
            math = event[0] == "work" and any(event[2:])
            self.note(warp, "math" if math else PHASES.get(event[0], ""), time, end)
            self.push(end, warp)

    def push(self, time: float, warp: Warp) -> None:
        """The warp goes on at that time."""
        self.at(time, partial(self.step, warp))

    def at(self, time: float, action: Callable[[float], None]) -> None:
        self.order += 1
        self.played.cycles = max(self.played.cycles, time)
        heapq.heappush(self.queue, (time, self.order, action))

    def note(self, warp: Warp, phase: str, begin: float, end: float) -> None:
        """Make a segment of it, or the last segment longer if that has the same phase and k-tile."""
        if not phase or end <= begin:
            return
        last = warp.segment
        if last is not None and (last.phase, last.k_tile) == (phase, warp.k_tile):
            last.end = end
        else:
            warp.segment = Segment(warp.index, phase, begin, end, warp.k_tile)
            self.played.segments.append(warp.segment)

    # ---- one method an event: returns when the warp goes on, or None if something else wakes it

    def do_work(
        self, time: float, warp: Warp, issue: float, fma: float, mma: float, wavefronts: float
    ) -> float:
        rates = self.rates
        busy = max(issue, fma * rates.fma, mma * rates.mma)
        core = self.cores[warp.index % SUB_CORES]
        if not (fma or mma or wavefronts):
            return core.slip_in(time, busy)
        end = core.serve(time, busy, seen=bool(fma or mma))
        if wavefronts:
            end = max(end, self.shared.serve(time, wavefronts * rates.wavefront)) + rates.shared_latency
        return end + (rates.mma_latency if mma else 0.0)

    def do_copy(self, time: float, warp: Warp, size: float, wavefronts: float) -> float:
        self.shared.serve(time, wavefronts * self.rates.wavefront)
        warp.copies = max(warp.copies, self.fetch(time, size))
        return time + self.rates.copy_issue

    def fetch(self, time: float, size: float) -> float:
        return self.l2.serve(time, size / self.rates.l2_bytes) + self.rates.l2_latency

    def do_commit(self, time: float, warp: Warp) -> float:
        warp.groups.append(max([warp.copies, *warp.groups[-1:]]))  # groups complete in order
        warp.copies = 0.0
        return time

    def do_wait(self, time: float, warp: Warp, keep: int | None) -> float:
        if keep is None:
            return max([time, warp.copies, *warp.groups])
        return max([time, *warp.groups[: len(warp.groups) - keep]])

    def do_load(self, time: float, warp: Warp, size: float) -> float:
        warp.loads = max(warp.loads, self.fetch(time, size))
        return time + self.rates.copy_issue

    def do_join(self, time: float, warp: Warp) -> float:
        return max(time, warp.loads)

    def do_store(self, time: float, warp: Warp, size: float, sectors: float) -> float:
        """Nobody waits for a store to arrive, but the next one waits for its turn on the way to L2."""
        moved = sectors * SECTOR
        if size < moved:  # L2 reads the sectors that it writes in part, and then writes them whole
            moved *= 2
        return max(time + self.rates.copy_issue, self.stores.serve(time, moved / self.rates.l2_bytes))

    def do_clock(self, time: float, warp: Warp) -> float:
        self.played.clocks[warp.index].append(time)
        return time + CLOCK_READ

    def do_arrive(self, time: float, warp: Warp, ident: int, count: int | None) -> float:
        self.meet(time, warp, ident, count, waits=False)
        return time

    def do_barrier(self, time: float, warp: Warp, ident: int, count: int | None) -> None:
        self.meet(time, warp, ident, count, waits=True)

    def do_cluster(self, time: float, warp: Warp) -> None:
        """The cluster's barrier: the other blocks come when this one comes."""
        self.meet(time, warp, CLUSTER, None, waits=True)

    def meet(self, time: float, warp: Warp, ident: int, count: int | None, waits: bool) -> None:
        there = self.barriers.setdefault(ident, [])
        there.append((time, warp, waits))
        if len(there) < (count // 32 if count else self.alive):
            return
        end = max(t for t, _, _ in there) + self.rates.barrier + self.rates.barrier_warp * len(there)
        for t, other, waited in there:
            if waited:
                self.note(other, "barrier", t, end)
                self.push(end, other)
        there.clear()


def play(events: list[list[Event]], rates: Rates, stretch: Stretch = Stretch()) -> Played:
    """Play the events of a block, one list a warp."""
    return _Block([hoist_math(e) for e in events], rates, stretch).run()


def settle(events: list[list[Event]], rates: Rates, resident: int) -> tuple[Played, Stretch]:
    """Play a block beside `resident` - 1 others like it, which it meets at random times.

    A resource that each block keeps busy for a share `u` of its time serves 1 + (resident - 1) * u of them at
    once, so that everything there takes as many times longer; and that changes `u`. Iterate until it does not.
    """
    return _settle(lambda stretch: play(events, rates, stretch), resident)


def _settle(played_with: Callable[[Stretch], Played], resident: int) -> tuple[Played, Stretch]:
    stretch = Stretch()
    for _ in range(60):
        played = played_with(stretch)
        others = (resident - 1) / max(played.cycles, 1.0)
        wanted = [1 + others * busy for busy in astuple(played.busy)]
        moved = [(old + new) / 2 for old, new in zip(astuple(stretch), wanted, strict=True)]
        close = (
            max(abs(new - old) for old, new in zip(astuple(stretch), wanted, strict=True)) < 0.004 * resident
        )
        stretch = Stretch(*moved)
        if close:
            break
    return played, stretch


def extend(shorter: list[list[Event]], longer: list[list[Event]], times: int) -> list[list[Event]]:
    """The events of `shorter`, with what `longer` has more of them `times` times."""
    result = []
    for a, b in zip(shorter, longer, strict=True):
        if a == b and shorter != longer:  # a warp that has no part in the main loop
            result.append(a)
            continue
        same = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))
        more = b[same : same + len(b) - len(a)]
        if len(b) <= len(a) or b[same + len(more) :] != a[same:]:
            raise ValueError("the k-tiles of this kernel are not alike, so its time cannot be extrapolated")
        result.append(a[:same] + more * times + a[same:])
    return result


def alike(shorter: list[list[Event]], longer: list[list[Event]]) -> bool:
    """Whether `longer` is `shorter` with more of the same."""
    try:
        return bool(extend(shorter, longer, 1))
    except ValueError:
        return False


def steady(
    shorter: list[list[Event]], longer: list[list[Event]], rates: Rates, resident: int
) -> tuple[float, float, Stretch]:
    """Cycles of a block with `shorter`'s events, cycles of what `longer` has more, and the stretch, with `resident`
    blocks in the middle of long main loops."""
    few, many = (extend(shorter, longer, times) for times in (STEADY, 2 * STEADY))
    ends = []

    def in_the_middle(stretch: Stretch) -> Played:
        a, b = play(few, rates, stretch), play(many, rates, stretch)
        ends[:] = [a.cycles, (b.cycles - a.cycles) / STEADY]
        busy = Stretch(*(y - x for x, y in zip(astuple(a.busy), astuple(b.busy), strict=True)))
        return Played(b.cycles - a.cycles, busy)

    _, stretch = _settle(in_the_middle, resident)
    return ends[0] - STEADY * ends[1], ends[1], stretch


# --------------------------------------------------------------------------- what clock64() says


class Clock:
    """Gives a warp's reads of the clock the times that the model has for the same warp of the watched block.

    `played`: the watched block. Blocks beyond the first `at_once` begin when those before them end. A warp that reads
    more often than the watched block's goes on in equal steps.
    """

    def __init__(self, played: Played, at_once: int, mhz: int) -> None:
        self.played, self.cycles, self.at_once, self.mhz = played, played.cycles, at_once, mhz
        reads = max(len(times) for times in played.clocks)
        self.table = np.empty((len(played.clocks), reads + 1))
        for row, times in zip(self.table, played.clocks, strict=True):
            last = times[-1] if times else played.cycles
            row[: len(times)] = times
            row[len(times) :] = last + NEXT_READ * np.arange(1, reads + 2 - len(times))

    def read(self, blocks: np.ndarray, warps: np.ndarray, reads: np.ndarray, unit: str) -> np.ndarray:
        """The clock at read number `reads` of these warps of these blocks, in "cycles" or "ns" (uint64)."""
        last = self.table.shape[1] - 1
        later = NEXT_READ * np.maximum(reads - last, 0)
        cycles = blocks // self.at_once * self.cycles + self.table[warps, np.minimum(reads, last)] + later
        return (cycles if unit == "cycles" else cycles * 1000 / self.mhz).astype(np.uint64)


def model_launch(
    kernel, grid: tuple, block: tuple, shared_mem: int, events: list[list[Event]], gpu: str = "H100"
) -> Clock:
    """The model of one launch on a GPU, from the events of one of its blocks."""
    target = find_gpu(gpu)
    blocks = grid[0] * grid[1] * grid[2]
    resident = 1
    if blocks > target.sms:
        fit = launch_resources(gpu, kernel, block[0] * block[1] * block[2], shared_mem).occupancy
        resident = max(1, min(fit.blocks, -(-blocks // target.sms)))
    rates = rates_of(gpu, blocks, kernel)
    played, _ = settle(events, rates, resident)
    return Clock(played, resident * target.sms, rates.clock_mhz)


def rates_of(gpu: str, blocks: int, kernel) -> Rates:
    """The rates of a GPU while it runs that many blocks of a kernel: few SMs have more of L2's bandwidth each.

    Raises ValueError where the clock knows no rates of this GPU, or none of what the kernel uses.
    """
    target = find_gpu(gpu)
    if not target.rates:
        known = ", ".join(gpu.name for gpu in GPUS.values() if gpu.rates)
        raise ValueError(f"the clock knows no rates of a {target.name}; it knows {known}")
    used = _of_hopper(kernel)
    if used and not target.rates.wgmma:
        known = [gpu.name for gpu in GPUS.values() if gpu.rates and gpu.rates.wgmma]
        raise ValueError(
            f"{kernel.name} uses {' and '.join(used)}, for which the clock has no rates of the {target.name}; it has "
            f'them of: {", ".join(known)}. Pass gpu="{known[0]}"'
        )
    rates, share = target.rates, target.sms / min(blocks, target.sms)
    l2_bytes, l2_bulk = (min(rates.l2_alone, each * share) for each in (rates.l2_bytes, rates.l2_bulk))
    return replace(rates, l2_bytes=l2_bytes, l2_bulk=l2_bulk)


def _of_hopper(kernel) -> list[str]:
    """What the kernel uses of which only some GPUs have rates, in words."""
    opcodes = {instruction.opcode for instruction in kernel.code.program.instructions}
    used = {
        "wgmma": any(opcode.root == "wgmma" for opcode in opcodes),
        "the copy engine (cp.async.bulk)": any(opcode.has("bulk") for opcode in opcodes),
    }
    return [name for name, is_used in used.items() if is_used]
