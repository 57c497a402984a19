"""cp.async in flight: copies wait in a queue and reach shared memory as late as the rules allow.

Groups are counted per thread and complete in the order of their commits; `wait_group n` lets the executing
thread's groups but the last n land, and makes them visible to that thread only (PTX ISA 9.7.9.25).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

NEVER = np.iinfo(np.int32).max


@dataclass
class _Copy:
    """One cp.async of some lanes: what goes where, and the number of each lane's group it belongs to."""

    lanes: np.ndarray
    group: np.ndarray
    unit: np.ndarray
    data: np.ndarray
    size: int
    pc: int

    def split(self, mask: np.ndarray) -> tuple[_Copy, _Copy]:
        return self._take(mask), self._take(~mask)

    def _take(self, mask: np.ndarray) -> _Copy:
        return _Copy(self.lanes[mask], self.group[mask], self.unit[mask], self.data[mask], self.size, self.pc)


class CopyQueue:
    """The copies of one machine that are still in flight, oldest first."""

    def __init__(self, machine) -> None:
        self.machine = machine
        self.committed = np.zeros(machine.lanes, np.int32)  # groups that each lane has committed
        self.queue: list[_Copy] = []

    def issue(self, unit: np.ndarray, data: np.ndarray, size: int, pc: int) -> None:
        lanes = self.machine.active()
        self.queue.append(_Copy(lanes, self.committed[lanes], unit, data, size, pc))
        recorder = self.machine.recorder
        wavefronts, recorder.wavefronts = recorder.wavefronts, 0.0
        recorder.event(pc, "copy", size * len(lanes) / self.machine.active_warps(), wavefronts)

    def uncommitted(self, pc: int) -> bool:
        """Whether a copy of this instruction is in no committed group yet."""
        return any((copy.group == self.committed[copy.lanes]).any() for copy in self.queue if copy.pc == pc)

    def commit(self, pc: int) -> None:
        self.committed[self.machine.active()] += 1
        self.machine.recorder.event(pc, "commit")

    def wait(self, keep: int | None, pc: int) -> None:
        """The active lanes wait until at most `keep` of their groups are in flight; None: for every copy."""
        self.machine.recorder.event(pc, "wait", keep)
        lanes = self.machine.active()
        limit = np.full(self.machine.lanes, -1, np.int32)
        limit[lanes] = NEVER if keep is None else self.committed[lanes] - keep
        left = []
        for copy in self.queue:
            lands = copy.group < limit[copy.lanes]
            if lands.all():
                self._land(copy)
            elif lands.any():
                landed, rest = copy.split(lands)
                self._land(landed)
                left.append(rest)
            else:
                left.append(copy)
        self.queue = left

    def _land(self, copy: _Copy) -> None:
        self.machine.shared.memory.units(copy.size)[copy.unit] = copy.data
        self.machine.shadow.on_land(copy.lanes, copy.unit, copy.size, copy.pc)
