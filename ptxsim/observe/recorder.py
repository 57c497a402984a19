"""Notes what the warps of one block do: the events of each, in the order of PTX."""

from collections.abc import Callable
from itertools import accumulate

import numpy as np

from ..lanes import Lanes
from ..ptx.program import Instruction
from .events import MOST_EVENTS, Event, MbarrierWait, UseLoads, Work


class Costs:
    """Running totals of a program's instructions, to price any stretch of it at once."""

    def __init__(self, instructions: tuple[Instruction, ...]) -> None:
        fma = [float(i.opcode.root == "fma" and i.opcode.types[-1] == "f32") for i in instructions]
        mma = [i.opcode.facts.mma(i.opcode.text) for i in instructions]
        self.totals = [list(accumulate(costs, initial=0.0)) for costs in (fma, mma)]

    def stretch(self, first: int, end: int) -> list[float]:
        """FMAs and mma (in m16n8k16) of the instructions first .. end - 1."""
        return [total[end] - total[first] for total in self.totals]


class Recorder:
    """Notes the events of the warps of one block, `block` of the machine's; of none if it has no such block."""

    def __init__(self, machine: Lanes, costs: Costs, block: int) -> None:
        self.machine = machine
        self.costs = costs
        self.events: list[list[Event]] = [[] for _ in range(machine.warps_per_block)]
        self.since = 0  # the first instruction of the running stretch
        self.wavefronts = 0.0
        self.on = 0 <= block < len(machine.blocks)
        self.lanes = block * machine.launch.threads, (block + 1) * machine.launch.threads
        self.first_warp = block * machine.warps_per_block
        self._last: tuple = (None, range(machine.warps_per_block))
        self._waits: dict[tuple[int, int], int] = {}  # (warp, mbarrier): waits that have ended

    def warps(self) -> list[int] | range:
        """The warps of the block that are active."""
        machine = self.machine
        if machine.idx is not self._last[0]:
            first, end = np.searchsorted(machine.idx, self.lanes) if machine.idx is not None else (0, 0)
            warps: list[int] | range = range(machine.warps_per_block)
            if machine.idx is not None:
                warps = sorted(set((machine.warp_of[machine.idx[first:end]] - self.first_warp).tolist()))
            self._last = (machine.idx, warps)
        return self._last[1]

    def begin(self, pc: int) -> None:
        self.since = pc
        self.wavefronts = 0.0

    def work(self, pc: int) -> None:
        """Price what ran since the last event up to `pc`, that instruction not included."""
        if self.on:
            fma, mma = self.costs.stretch(self.since, pc)
            if fma or mma or self.wavefronts:
                self._add_work(Work(fma, mma, self.wavefronts))
        self.since = pc
        self.wavefronts = 0.0

    def event(self, pc: int, event: Event) -> None:
        """Something happens at `pc`, after the work before it."""
        self.work(pc)
        self._add(event)
        self.since = pc + 1

    def use_loads(self, pc: int) -> None:
        """A loaded value is needed at `pc`; that instruction belongs to the work after it."""
        self.work(pc)
        self._add(UseLoads())

    # ---- Hopper

    def at_mbarrier(
        self,
        pc: int,
        event_of: Callable[[int, int], Event],
        mbarrier: int,
        lanes: np.ndarray,
        numbers: np.ndarray,
    ) -> None:
        """Of some of the active lanes, each with a number, at an mbarrier: `event_of(mbarrier, number)` for each warp,
        with the numbers of its lanes added up."""
        self.work(pc)
        for warp, mine in self._by_warp(lanes):
            self._add_to(warp, event_of(mbarrier, int(numbers[mine].sum())))
        self.since = pc + 1

    def of_lane(self, pc: int, lane: int, event: Event) -> None:
        """One of the active lanes does something at `pc`, which others may do as well."""
        self.work(pc)
        for warp, _ in self._by_warp(np.array([lane])):
            self._add_to(warp, event)
        self.since = pc + 1

    def waited(self, mbarrier: int, lanes: np.ndarray, phases: np.ndarray) -> None:
        """These lanes hear that these phases of an mbarrier are complete."""
        for warp, mine in self._by_warp(lanes):
            before = self._waits.get((warp, mbarrier), 0)
            self._waits[warp, mbarrier] = before + 1
            self._add_to(warp, MbarrierWait(mbarrier, int(phases[mine].max()) - before))

    def _by_warp(self, lanes: np.ndarray) -> list[tuple[int, np.ndarray]]:
        """The warps of the block that these lanes are of, and which of the lanes."""
        if not self.on:
            return []
        first, end = self.lanes
        warps = np.where((lanes >= first) & (lanes < end), self.machine.warp_of[lanes] - self.first_warp, -1)
        return [(warp, warps == warp) for warp in np.unique(warps).tolist() if warp >= 0]

    # ---- helpers

    def _add(self, event: Event) -> None:
        if not self.on:
            return
        for warp in self.warps():
            self._add_to(warp, event)

    def _add_work(self, more: Work) -> None:
        """Work after work is one event. Warps that did the same so far share it, and its sum."""
        old, total = None, more
        for warp in self.warps():
            events = self.events[warp]
            if not events or not isinstance(events[-1], Work):
                self._add_to(warp, more)
                continue
            if events[-1] is not old:
                old = events[-1]
                total = old + more
            events[-1] = total

    def _add_to(self, warp: int, event: Event) -> None:
        if len(self.events[warp]) < MOST_EVENTS:
            self.events[warp].append(event)
