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
from dataclasses import dataclass, field

import numpy as np

from .gpus import Rates
from .ptx import Instruction

MOST_EVENTS = 4000  # of one warp; what comes later is not recorded

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
        self.totals = np.concatenate([np.zeros((1, 3)), np.cumsum([issue, fma, mma], axis=1).T])

    def stretch(self, first: int, end: int) -> np.ndarray:
        """Issue slots, FMAs and mma (in m16n8k16) of the instructions first .. end - 1."""
        return self.totals[end] - self.totals[first]


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
    """Notes the events of the warps of the first block of a machine."""

    def __init__(self, machine) -> None:
        self.machine = machine
        self.costs = machine.launch.code.costs
        self.events: list[list[Event]] = [[] for _ in range(machine.warps_per_block)]
        self.since = 0  # the first instruction of the running stretch
        self.wavefronts = 0.0

    def warps(self) -> np.ndarray:
        """The warps of the first block that are active."""
        m = self.machine
        if m.idx is None:
            return np.arange(m.warps_per_block)
        first = m.idx[: np.searchsorted(m.idx, m.launch.threads)]
        return np.unique(m.warp_of[first])

    def begin(self, pc: int) -> None:
        self.since = pc
        self.wavefronts = 0.0

    def work(self, pc: int) -> None:
        """Price what ran since the last event up to `pc`, that instruction not included."""
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


# --------------------------------------------------------------------------- an SM


@dataclass
class Segment:
    """A warp of one block is in `phase` (copy, wait, barrier, math, load, store) from begin to end, in cycles."""

    warp: int
    phase: str
    begin: float
    end: float


@dataclass
class _Warp:
    block: int
    index: int
    at: int = 0
    open_copies: list[float] = field(default_factory=list)
    groups: list[float] = field(default_factory=list)  # when each committed group has landed
    loads: float = 0.0


@dataclass
class SmResult:
    """Cycles until all blocks are done; segments and clock readings of the first block's warps."""

    cycles: float
    segments: list[Segment]
    clocks: list[list[float]]


class _Sm:
    def __init__(self, events: list[list[Event]], rates: Rates, blocks: int, resident: int) -> None:
        self.events = events
        self.rates = rates
        self.waiting_blocks = blocks
        self.sub_core = [0.0] * rates.sub_cores
        self.shared = 0.0
        self.l2 = 0.0
        self.queue: list[tuple[float, int, _Warp]] = []
        self.order = 0
        self.left: dict[int, int] = {}
        self.barriers: dict[tuple[int, int], list] = {}
        self.segments: list[Segment] = []
        self.clocks: list[list[float]] = [[] for _ in events]
        self.started = 0
        self.end = 0.0
        for _ in range(min(resident, blocks)):
            self.start_block(0.0)

    def push(self, time: float, warp: _Warp) -> None:
        self.order += 1
        heapq.heappush(self.queue, (time, self.order, warp))

    def start_block(self, time: float) -> None:
        block, self.started = self.started, self.started + 1
        self.waiting_blocks -= 1
        self.left[block] = len(self.events)
        for index in range(len(self.events)):
            self.push(time + self.rates.block_start, _Warp(block, index))

    def run(self) -> SmResult:
        while self.queue:
            time, _, warp = heapq.heappop(self.queue)
            events = self.events[warp.index]
            if warp.at == len(events):
                self.finish(time, warp)
                continue
            event = events[warp.at]
            warp.at += 1
            end = getattr(self, "do_" + event[0])(time, warp, *event[1:])
            if end is not None:
                self.note(warp, event[0], time, end)
                self.push(end, warp)
        return SmResult(self.end, self.segments, self.clocks)

    def note(self, warp: _Warp, phase: str, begin: float, end: float) -> None:
        if warp.block == 0 and end > begin:
            self.segments.append(
                Segment(warp.index, {"work": "math", "join": "load"}.get(phase, phase), begin, end)
            )

    def finish(self, time: float, warp: _Warp) -> None:
        self.end = max(self.end, time)
        self.left[warp.block] -= 1
        if not self.left[warp.block] and self.waiting_blocks:
            self.start_block(time)

    # ---- one method an event: returns when the warp goes on, or None if something else wakes it

    def do_work(
        self, time: float, warp: _Warp, issue: float, fma: float, mma: float, wavefronts: float
    ) -> float:
        rates, core = self.rates, warp.index % self.rates.sub_cores
        busy = max(issue * rates.issue, fma * rates.fma, mma * rates.mma)
        self.sub_core[core] = max(time, self.sub_core[core]) + busy
        end = self.sub_core[core]
        if wavefronts:
            self.shared = max(time, self.shared) + wavefronts * rates.wavefront
            end = max(end, self.shared) + rates.shared_latency
        return end + (rates.mma_latency if mma else 0.0)

    def do_copy(self, time: float, warp: _Warp, size: float, wavefronts: float) -> float:
        self.shared = max(time, self.shared) + wavefronts * self.rates.wavefront
        warp.open_copies.append(self.fetch(time, size))
        return time + self.rates.copy_issue

    def fetch(self, time: float, size: float) -> float:
        self.l2 = max(time, self.l2) + size / self.rates.l2_bytes
        return self.l2 + self.rates.l2_latency

    def do_commit(self, time: float, warp: _Warp) -> float:
        warp.groups.append(max(warp.open_copies, default=0.0))
        warp.open_copies = []
        return time

    def do_wait(self, time: float, warp: _Warp, keep: int | None) -> float:
        if keep is None:
            return max([time, *warp.groups, *warp.open_copies])
        return max([time, *warp.groups[: len(warp.groups) - keep]])

    def do_load(self, time: float, warp: _Warp, size: float) -> float:
        warp.loads = max(warp.loads, self.fetch(time, size))
        return time + self.rates.copy_issue

    def do_join(self, time: float, warp: _Warp) -> float:
        return max(time, warp.loads)

    def do_store(self, time: float, warp: _Warp, size: float) -> float:
        self.l2 = max(time, self.l2) + size / self.rates.l2_bytes
        return time + self.rates.copy_issue

    def do_clock(self, time: float, warp: _Warp) -> float:
        if warp.block == 0:
            self.clocks[warp.index].append(time)
        return time

    def do_arrive(self, time: float, warp: _Warp, ident: int, count: int | None) -> float:
        self.meet(time, warp, ident, count, waits=False)
        return time

    def do_barrier(self, time: float, warp: _Warp, ident: int, count: int | None) -> None:
        self.meet(time, warp, ident, count, waits=True)

    def meet(self, time: float, warp: _Warp, ident: int, count: int | None, waits: bool) -> None:
        there = self.barriers.setdefault((warp.block, ident), [])
        there.append((time, warp, waits))
        if len(there) < (count // 32 if count else self.left[warp.block]):
            return
        end = max(t for t, _, _ in there) + self.rates.barrier
        for t, other, waited in there:
            if waited:
                self.note(other, "barrier", t, end)
                self.push(end, other)
        there.clear()


def run_sm(events: list[list[Event]], rates: Rates, blocks: int, resident: int) -> SmResult:
    """Play the events of a block (one list a warp) for `blocks` blocks on one SM, `resident` at a time."""
    return _Sm([hoist_math(e) for e in events], rates, blocks, resident).run()
