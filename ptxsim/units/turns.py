"""Which lanes can go on, and which of them run next.

Lanes that stand at the same instruction form a group and run a basic block together; a branch splits a group, and
groups that meet join again. The group with the lowest pc runs first, so that lanes of a divergent branch meet behind
it; every now and then the group that has waited longest runs instead, so that nobody starves when warps loop in
different places. A group that looks at a flag again and again lets the others go first.
"""

import numpy as np

from ..lanes import Lanes

LOWEST_FIRST, OLDEST_FIRST = 2000, 100
"""Turns of each rule."""


class Turns:
    """Of one machine. With `random` any other legal order: whatever group, and often only some of its warps."""

    def __init__(self, machine: Lanes, random: np.random.Generator | None) -> None:
        self.machine, self.random = machine, random
        self.ready: dict[int, np.ndarray | None] = {}
        """The lanes that can go on (None: all), by pc."""
        self.stirred = False
        """Something has changed that others may look at."""
        self.taken = 0
        self.since: dict[int, int] = {}  # when the first of a group became ready, in turns
        self.idle: set[int] = (
            set()
        )  # where groups are ready that look for something, and have found nothing new
        self.idling = False  # whether the group that runs is one
        self.found: dict[
            int, tuple[np.ndarray, np.ndarray]
        ] = {}  # by the pc of a strong access: where, and what

    def add(self, pc: int, lanes: np.ndarray | None) -> None:
        """These lanes can go on at `pc`, together with those already there."""
        if not self.idling:
            self.idle.discard(pc)
        elif pc not in self.ready:
            self.idle.add(pc)
        if pc not in self.ready:
            self.ready[pc] = lanes
            self.since[pc] = self.taken
        else:
            joined = np.concatenate([self.ready[pc], lanes])
            # Both are sorted, and a stable sort takes that into account.
            self.ready[pc] = np.sort(joined, kind="stable") if len(joined) < self.machine.lanes else None

    def next(self) -> tuple[int, np.ndarray | None]:
        """The group that runs now, of those that are ready: where it is, and its lanes."""
        self.taken += 1
        if self.random is not None:
            return self._by_chance(self.random)
        busy = self.ready.keys() - self.idle if self.idle else self.ready
        if len(self.ready) == 1:
            pc = next(iter(self.ready))
        elif busy and self.taken % (LOWEST_FIRST + OLDEST_FIRST) < LOWEST_FIRST:
            pc = min(busy)
        else:
            pc = min(self.ready, key=self.since.__getitem__)
        self.idling = pc in self.idle
        self.idle.discard(pc)
        return pc, self.ready.pop(pc)

    def looked(self, pc: int, unit: np.ndarray, values: np.ndarray) -> None:
        """A strong access found this. A loop that finds the same again waits for others: they go first."""
        before = self.found.get(pc)
        self.idling = (
            before is not None and np.array_equal(before[0], unit) and np.array_equal(before[1], values)
        )
        if not self.idling:
            self.found[pc] = unit, values

    def by_chance(self) -> bool:
        """Of what may come early or late: whether it comes early, which it never does unless the order is drawn."""
        return self.random is not None and bool(self.random.random() < 0.5)

    def changed(self) -> None:
        """The group that runs has changed what others may look at."""
        self.idling, self.stirred = False, True

    def _by_chance(self, random: np.random.Generator) -> tuple[int, np.ndarray | None]:
        pc = list(self.ready)[random.integers(len(self.ready))]
        lanes = self.machine.all_lanes(self.ready.pop(pc))
        if random.random() < 0.5 or self.machine.launch.code.order_matters:
            chosen = ~self._late(random, pc, lanes)
            if chosen.any() and not chosen.all():
                self.ready[pc] = lanes[~chosen]
                lanes = lanes[chosen]
        return pc, lanes if len(lanes) < self.machine.lanes else None

    def _late(self, random: np.random.Generator, pc: int, lanes: np.ndarray) -> np.ndarray:
        """Which of these lanes of a group come later: those of some warps, always if that may matter; and where a mask
        is made by chance, some lanes of warps of which others are elsewhere anyway."""
        machine, code = self.machine, self.machine.launch.code
        of = machine.warp_of[lanes]
        late = random.random(machine.warps) < random.random()
        if code.order_matters and len(set(late[of].tolist())) == 1:
            late = np.arange(machine.warps) == of[random.integers(len(of))]
            late ^= random.random() < 0.5
        if pc not in code.masks_by_chance:
            return late[of]
        here = np.bincount(of, minlength=machine.warps)
        alive = np.bincount(machine.warp_of[machine.alive], minlength=machine.warps)
        return late[of] | ((random.random(len(lanes)) < 0.5) & (here < alive)[of])
