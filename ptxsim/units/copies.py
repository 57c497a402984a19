"""cp.async in flight: copies wait in a queue and reach shared memory as late as the rules allow.

Groups are counted per thread and complete in the order of their commits; `wait_group n` lets the executing
thread's groups but the last n land, and makes them visible to that thread only (PTX ISA, "cp.async.wait_group").
What is in flight belongs to the copy on both sides: until then nobody may touch the place it goes to, nor change the
place it comes from.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..ground.memory import Miss
from ..observe import events
from ..races.findings import Landing
from ..races.shadow import Reach
from .access import Memories, differs

NEVER = np.iinfo(np.int32).max
ISSUE, LAND = 30, 50
"""Steps of work (work.py) of one that is issued; and so many lanes take one step when it lands."""
QUEUE = 10_000
"""And each copy that is in flight takes one step more for so many lanes: a loop that issues for ever fills memory."""


@dataclass
class _Copy:
    """One cp.async of some lanes: what goes where, and the number of each lane's group it belongs to."""

    lanes: np.ndarray
    group: np.ndarray
    unit: np.ndarray
    source: np.ndarray
    data: np.ndarray
    read: np.ndarray  # how many bytes of the source; the rest is zeros
    size: int
    pc: int
    issued: int  # its time

    @property
    def target(self) -> Reach:
        return Reach(self.lanes, self.unit, self.size, self.pc)

    def take(self, mask: np.ndarray) -> "_Copy":
        of_lanes = ("lanes", "group", "unit", "source", "data", "read")
        return replace(self, **{name: getattr(self, name)[mask] for name in of_lanes})


class CopyQueue:
    """The copies of one machine that are still in flight, oldest first."""

    def __init__(self, machine: Memories) -> None:
        self.machine = machine
        self.committed = np.zeros(machine.lanes, np.int32)  # groups that each lane has committed
        self.queue: list[_Copy] = []

    def issue(
        self,
        unit: np.ndarray,
        source: np.ndarray,
        data: np.ndarray,
        size: int,
        pc: int,
        read: np.ndarray | None = None,
    ) -> None:
        """The active lanes start to copy `data` (units of `size` bytes, of which `read` came from `source`, or all)."""
        machine = self.machine
        lanes = machine.active()
        machine.work(ISSUE + len(self.queue) * len(lanes) / QUEUE)
        machine.bulk.overwrite(pc, lanes, unit, size)
        reach = Reach(lanes, unit, size, pc)
        machine.shadow.on_issue(machine, reach)
        beaten = differs(data, data[_last_of_each(unit)])
        if beaten.any():
            machine.shadow.on_clash(machine, reach, beaten)
        issued = machine.orders.trail.now
        read = np.full(len(lanes), size) if read is None else np.minimum(read, size)
        self.queue.append(_Copy(lanes, self.committed[lanes], unit, source, data, read, size, pc, issued))
        machine.recorder.wavefronts = 0.0  # those of the copy are no work of its warp
        machine.recorder.event(pc, events.Copy(size * len(lanes) / machine.active_warps()))

    def uncommitted(self, pc: int) -> bool:
        """Whether a copy of this instruction is in no committed group yet."""
        return any((copy.group == self.committed[copy.lanes]).any() for copy in self.queue if copy.pc == pc)

    def commit(self, pc: int) -> None:
        self.committed[self.machine.active()] += 1
        self.machine.recorder.event(pc, events.Commit())

    def wait(self, keep: int | None, pc: int) -> None:
        """The active lanes wait until at most `keep` of their groups are in flight; None: for every copy."""
        self.machine.recorder.event(pc, events.Wait(keep))
        lanes = self.machine.active()
        limit = np.full(self.machine.lanes, -1, np.int32)
        limit[lanes] = NEVER if keep is None else self.committed[lanes] - keep
        left = []
        for copy in self.queue:
            lands = copy.group < limit[copy.lanes]
            if lands.all():
                self._land(copy, pc)
            elif lands.any():
                landed, rest = copy.take(lands), copy.take(~lands)
                self._land(landed, pc)
                self._still_on_their_way(rest.take(np.isin(rest.unit, landed.unit)))
                left.append(rest)
            else:
                left.append(copy)
        self.queue = left

    def land(self, lanes: np.ndarray, time: int) -> int:
        """The copies that these lanes issued before that time arrive. Who acquires the phase of the mbarrier that waits
        for them is ordered behind them, and behind what these lanes did before that time, which it gives."""
        left = []
        for copy in self.queue:
            lands = np.isin(copy.lanes, lanes) if copy.issued <= time else np.zeros(len(copy.lanes), bool)
            if lands.any():
                landed = copy.take(lands)
                self._arrive(landed, landed.issued - 1)
            if not lands.all():
                left.append(copy.take(~lands))
        self.queue = left
        return time

    def finish(self) -> None:
        """The kernel ends; the copies that nobody waited for have read their sources."""
        for copy in self.queue:
            self._check_source(copy, self.machine.orders.trail.step(copy.pc))

    def _land(self, copy: _Copy, wait_pc: int) -> None:
        time = self.machine.orders.trail.step(copy.pc)
        self.machine.findings.landings[time] = Landing(wait_pc, copy.issued)
        self._arrive(copy, time)

    def _arrive(self, copy: _Copy, time: int) -> None:
        """It reaches shared memory, as if written at that time."""
        machine = self.machine
        machine.turns.stirred = True
        machine.work(len(copy.lanes) / LAND)
        machine.shared.memory.units(copy.size)[copy.unit] = copy.data
        machine.shadow.on_land(machine, copy.target, copy.issued - 1, time)
        self._check_source(copy, time)

    def _still_on_their_way(self, copy: _Copy) -> None:
        """Other lanes' copies to the same place have landed, these have not."""
        if len(copy.lanes):
            self.machine.shadow.on_flight(self.machine, copy.target, copy.issued - 1)

    def _check_source(self, copy: _Copy, time: int) -> None:
        """The copy may have read its source at any time up to now: nobody may have written there meanwhile. Who knows
        what its lanes did up to that time knows that it has read."""
        if not self.machine.launch.shadows:
            return
        self._check_read(copy.take(copy.read == copy.size), 0, copy.size, time)
        for byte in range(int(copy.read[copy.read < copy.size].max(initial=0))):
            self._check_read(copy.take((copy.read < copy.size) & (copy.read > byte)), byte, 1, time)

    def _check_read(self, copy: _Copy, first: int, size: int, time: int) -> None:
        """`size` bytes of its source, from byte `first` on."""
        if not len(copy.lanes):
            return
        machine, addresses = self.machine, copy.source + np.uint64(first)
        try:
            found = machine.memory.locate(addresses, size, copy.pc)
        except Miss as miss:  # it was reported when the copy was issued
            self._check_read(copy.take(~miss.bad), first, size, time)
            return
        if found is None:  # they come from several arrays
            for at in machine.memory.parts(addresses, copy.pc):
                self._check_read(copy.take(at), first, size, time)
        elif shadow := machine.shadow_of(found[0]):
            reach = Reach(copy.lanes, found[1], size, copy.pc)
            shadow.on_late_read(machine, reach, time)
            shadow.on_changed(machine, reach, copy.issued)


def _last_of_each(unit: np.ndarray) -> np.ndarray:
    """For each access the last one to the same place: the one that prevails."""
    order = np.argsort(unit, kind="stable")
    starts = np.flatnonzero(np.diff(unit[order], prepend=-1))
    counts = np.diff(np.append(starts, len(unit)))
    last = np.empty(len(unit), np.int64)
    last[order] = np.repeat(order[starts + counts - 1], counts)
    return last
