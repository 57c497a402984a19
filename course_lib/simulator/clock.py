"""A cost model of coarse events: when a kernel copies, waits and computes on one SM. A model, not a measurement.

While a launch runs, a `Recorder` notes for each warp of the grid's first block what it does: work (instructions,
FMAs, mma, shared-memory wavefronts), copies, waits, barriers, loads, stores. `run_sm` then plays these events for
all blocks that share an SM, against that SM's resources: four sub-cores, the shared-memory port, the way to L2.

Assumptions. Events keep their PTX order, but ptxas moves arithmetic that needs no memory above barriers and copies
(only memory operations are held in order): `hoist_math` does so too. Work is served first come, first served, a
whole stretch between two events at a time. All operands come from L2.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import astuple, dataclass, field
from itertools import accumulate

import numpy as np

from .gpus import SUB_CORES, Rates
from .ptx import Instruction

MOST_EVENTS = 4000  # of one warp; what comes later is not recorded
STEADY = 6  # k-tiles over which the main loop's time is taken, after as many to get going
CLOCK_READ = 2  # cycles

Event = tuple
"""("work", issue slots, fma, mma, wavefronts) · ("copy", bytes, wavefronts) · ("commit",) · ("wait", keep) ·
("barrier", id, count) · ("arrive", id, count) · ("load", bytes) · ("join",) · ("store", bytes) · ("clock",)"""


# --------------------------------------------------------------------------- what a block does


class Costs:
    """Running totals of a program's instructions, to price any stretch of it at once."""

    def __init__(self, instructions: tuple[Instruction, ...]) -> None:
        issue = [float(_takes_a_slot(i)) for i in instructions]
        fma = [float(i.opcode.root == "fma" and i.opcode.types[-1] == "f32") for i in instructions]
        mma = [_mma_cost(i) for i in instructions]
        self.totals = [list(accumulate(costs, initial=0.0)) for costs in (issue, fma, mma)]

    def stretch(self, first: int, end: int) -> list[float]:
        """Issue slots, FMAs and mma (in m16n8k16) of the instructions first .. end - 1."""
        return [total[end] - total[first] for total in self.totals]


def _takes_a_slot(instruction: Instruction) -> bool:
    """Moves and conversions between address spaces mostly vanish in ptxas; of the rest each takes one slot."""
    return instruction.opcode.root not in ("mov", "cvta", "ret", "bra")


def _mma_cost(instruction: Instruction) -> float:
    if instruction.opcode.root != "mma":
        return 0.0
    return (
        1.0 if instruction.opcode.has("m16n8k16") else 0.67
    )  # k8 takes 4 cycles where k16 takes 6, on an H100


class Recorder:
    """Notes the events of the warps of one block, `block` of the machine's; of none if it has no such block."""

    def __init__(self, machine, block: int) -> None:
        self.machine = machine
        self.costs = machine.launch.code.costs
        self.events: list[list[Event]] = [[] for _ in range(machine.warps_per_block)]
        self.since = 0  # the first instruction of the running stretch
        self.wavefronts = 0.0
        self.on = 0 <= block < len(machine.blocks)
        self.lanes = block * machine.launch.threads, (block + 1) * machine.launch.threads
        self.first_warp = block * machine.warps_per_block
        self._last: tuple = (None, range(machine.warps_per_block))

    def warps(self) -> list[int] | range:
        """The warps of the block that are active."""
        m = self.machine
        if m.idx is not self._last[0]:
            first, end = np.searchsorted(m.idx, self.lanes) if m.idx is not None else (0, 0)
            warps = range(m.warps_per_block)
            if m.idx is not None:
                warps = sorted(set((m.warp_of[m.idx[first:end]] - self.first_warp).tolist()))
            self._last = (m.idx, warps)
        return self._last[1]

    def begin(self, pc: int) -> None:
        self.since = pc
        self.wavefronts = 0.0

    def work(self, pc: int) -> None:
        """Price what ran since the last event up to `pc`, that instruction not included."""
        if self.on:
            issue, fma, mma = self.costs.stretch(self.since, pc)
            if issue or self.wavefronts:
                self._add(("work", issue, fma, mma, self.wavefronts))
        self.since = pc
        self.wavefronts = 0.0

    def event(self, pc: int, *event) -> None:
        """Something happens at `pc`, after the work before it."""
        self.work(pc)
        self._add(event)
        self.since = pc + 1

    def join(self, pc: int) -> None:
        """A loaded value is needed at `pc`; that instruction belongs to the work after it."""
        self.work(pc)
        self._add(("join",))

    def _add(self, event: Event) -> None:
        if not self.on:
            return
        for warp in self.warps():
            events = self.events[warp]
            if event[0] == "work" and events and events[-1][0] == "work":
                events[-1] = ("work", *(a + b for a, b in zip(events[-1][1:], event[1:], strict=True)))
            elif len(events) < MOST_EVENTS:
                events.append(event)


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


@dataclass(frozen=True)
class Segment:
    """A warp is in `phase` (copy, wait, barrier, math, load, store) from begin to end, in cycles."""

    warp: int
    phase: str
    begin: float
    end: float


PHASES = {"work": "math", "join": "load"}  # events whose phase has another name


@dataclass(frozen=True)
class Stretch:
    """How many times longer than alone a block's service takes: in the sub-cores, the shared-memory port, and on
    the way from L2."""

    core: float = 1.0
    shared: float = 1.0
    l2: float = 1.0


@dataclass
class Played:
    """Cycles from the block's start to its end, how long it kept each resource busy, what its warps did, and the
    cycle of each warp's clock reads."""

    cycles: float = 0.0
    busy: Stretch = Stretch(0.0, 0.0, 0.0)
    segments: list[Segment] = field(default_factory=list)
    clocks: list[list[float]] = field(default_factory=list)


@dataclass
class _Warp:
    index: int
    at: int = 0
    copies: float = 0.0  # when the copies since the last commit have landed
    groups: list[float] = field(default_factory=list)  # when each committed group has landed
    loads: float = 0.0


class _Server:
    """A resource that serves one after the other, in the order in which they ask."""

    def __init__(self, stretch: float) -> None:
        self.stretch, self.free, self.busy = stretch, 0.0, 0.0

    def serve(self, time: float, cycles: float) -> float:
        """When a request made at `time` is done."""
        self.busy += cycles * self.stretch
        self.free = max(time, self.free) + cycles * self.stretch
        return self.free


class _Block:
    """Plays the events of a block's warps, in the order of their times."""

    def __init__(self, events: list[list[Event]], rates: Rates, stretch: Stretch) -> None:
        self.events, self.rates = events, rates
        self.cores = [_Server(stretch.core) for _ in range(SUB_CORES)]
        self.shared, self.l2 = _Server(stretch.shared), _Server(stretch.l2)
        self.queue: list[tuple[float, int, _Warp]] = []
        self.order = 0
        self.alive = len(events)
        self.barriers: dict[int, list] = {}
        self.played = Played(clocks=[[] for _ in events])

    def run(self) -> Played:
        for index in range(len(self.events)):
            self.push(self.rates.block_start, _Warp(index))
        while self.queue:
            time, _, warp = heapq.heappop(self.queue)
            if warp.at == len(self.events[warp.index]):
                self.alive -= 1
                continue
            event = self.events[warp.index][warp.at]
            warp.at += 1
            end = getattr(self, "do_" + event[0])(time, warp, *event[1:])
            if end is not None:
                self.note(warp, event[0], time, end)
                self.push(end, warp)
        core = sum(core.busy for core in self.cores) / SUB_CORES
        self.played.busy = Stretch(core, self.shared.busy, self.l2.busy)
        return self.played

    def push(self, time: float, warp: _Warp) -> None:
        self.order += 1
        self.played.cycles = max(self.played.cycles, time)
        heapq.heappush(self.queue, (time, self.order, warp))

    def note(self, warp: _Warp, event: str, begin: float, end: float) -> None:
        if end > begin:
            self.played.segments.append(Segment(warp.index, PHASES.get(event, event), begin, end))

    # ---- one method an event: returns when the warp goes on, or None if something else wakes it

    def do_work(
        self, time: float, warp: _Warp, issue: float, fma: float, mma: float, wavefronts: float
    ) -> float:
        rates = self.rates
        busy = max(issue, fma * rates.fma, mma * rates.mma)
        end = self.cores[warp.index % SUB_CORES].serve(time, busy)
        if wavefronts:
            end = max(end, self.shared.serve(time, wavefronts * rates.wavefront)) + rates.shared_latency
        return end + (rates.mma_latency if mma else 0.0)

    def do_copy(self, time: float, warp: _Warp, size: float, wavefronts: float) -> float:
        self.shared.serve(time, wavefronts * self.rates.wavefront)
        warp.copies = max(warp.copies, self.fetch(time, size))
        return time + self.rates.copy_issue

    def fetch(self, time: float, size: float) -> float:
        return self.l2.serve(time, size / self.rates.l2_bytes) + self.rates.l2_latency

    def do_commit(self, time: float, warp: _Warp) -> float:
        warp.groups.append(max([warp.copies, *warp.groups[-1:]]))  # groups complete in order
        warp.copies = 0.0
        return time

    def do_wait(self, time: float, warp: _Warp, keep: int | None) -> float:
        if keep is None:
            return max([time, warp.copies, *warp.groups])
        return max([time, *warp.groups[: len(warp.groups) - keep]])

    def do_load(self, time: float, warp: _Warp, size: float) -> float:
        warp.loads = max(warp.loads, self.fetch(time, size))
        return time + self.rates.copy_issue

    def do_join(self, time: float, warp: _Warp) -> float:
        return max(time, warp.loads)

    def do_store(self, time: float, warp: _Warp, size: float) -> float:
        """Stores are not waited for, but take turns on the way to L2."""
        return max(time + self.rates.copy_issue, self.l2.serve(time, size / self.rates.l2_bytes))

    def do_clock(self, time: float, warp: _Warp) -> float:
        self.played.clocks[warp.index].append(time)
        return time + CLOCK_READ

    def do_arrive(self, time: float, warp: _Warp, ident: int, count: int | None) -> float:
        self.meet(time, warp, ident, count, waits=False)
        return time

    def do_barrier(self, time: float, warp: _Warp, ident: int, count: int | None) -> None:
        self.meet(time, warp, ident, count, waits=True)

    def meet(self, time: float, warp: _Warp, ident: int, count: int | None, waits: bool) -> None:
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
    """Events of a block with `times` more k-tiles than `shorter`; `longer` has one k-tile more than `shorter`."""
    result = []
    for a, b in zip(shorter, longer, strict=True):
        same = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))
        k_tile = b[same : same + len(b) - len(a)]
        if len(b) <= len(a) or b[same + len(k_tile) :] != a[same:]:
            raise ValueError("the k-tiles of this kernel are not alike, so its time cannot be extrapolated")
        result.append(a[:same] + k_tile * times + a[same:])
    return result


def steady(
    shorter: list[list[Event]], longer: list[list[Event]], rates: Rates, resident: int
) -> tuple[float, float, Stretch]:
    """Cycles of a block with `shorter`'s k-tiles, cycles of each further k-tile, and the stretch, with `resident`
    blocks in the middle of long main loops."""
    few, many = (extend(shorter, longer, times) for times in (STEADY, 2 * STEADY))
    ends = []

    def k_tiles(stretch: Stretch) -> Played:
        a, b = play(few, rates, stretch), play(many, rates, stretch)
        ends[:] = [a.cycles, (b.cycles - a.cycles) / STEADY]
        busy = Stretch(*(y - x for x, y in zip(astuple(a.busy), astuple(b.busy), strict=True)))
        return Played(b.cycles - a.cycles, busy)

    _, stretch = _settle(k_tiles, resident)
    return ends[0] - STEADY * ends[1], ends[1], stretch
