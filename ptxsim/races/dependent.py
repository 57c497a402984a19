"""Values that another order changes: strong reads and writes that no race rule forbids, and nothing orders.

Two strong accesses (volatile, relaxed, acquire, release) never race (PTX ISA, "Memory Consistency Model": morally
strong). But where nothing orders a read and a write of another value, the read brings the old value or the new one, as
chance has it; and of two such writes chance says which one stays. That is told, but for places where it is meant to be
so: those that an atomic changes, or that a loop waits for (ptx/waits.py).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..ground.work import Budget
from .orders import Orders
from .touches import Found, Touch, Touches, granules_of

MOST_KEPT = 64
"""Places of two instructions: the place of the first ones may turn out to be meant so."""


@dataclass(frozen=True)
class Doubt:
    """The instruction at `pc`, of a lane of the machine, met one of another lane of the grid at `time`, unordered."""

    pc: int
    granule: int
    lane: int
    other: int
    time: int
    count: int


class Dependent:
    """Of one memory: its plain strong accesses, by granule (see shadow.py), and what of them is in doubt."""

    def __init__(self, granules: int, of_block: int, budget: Budget) -> None:
        self.reads = Touches(granules, of_block, budget)
        self.changes = Touches(granules, of_block, budget)
        self.meant = np.zeros(granules, bool)
        """Granules that an atomic changed, or that a loop waits for."""
        self.doubts: dict[tuple[int, int], list[Doubt]] = {}  # by the two instructions

    def mean(self, granules: np.ndarray) -> None:
        """It is meant to be so here."""
        self.meant[granules] = True

    def read(self, orders: Orders, touch: Touch, low: int, pc: int, races: Callable | None) -> None:
        """These lanes read with an instruction that does not wait. `races(lanes, others, times)`: which pairs are a
        race all the same; None: none."""
        self._meet(orders, self.changes, touch, low, pc, races)
        self.reads.note(touch, low)

    def change(self, orders: Orders, touch: Touch, low: int, pc: int, races: Callable | None) -> None:
        """These lanes write other values than are there."""
        self._meet(orders, self.reads, touch, low, pc, races)
        self._meet(orders, self.changes, touch, low, pc, races)
        self.changes.note(touch, low)

    def settled(self) -> list[Doubt]:
        """The first of each two instructions at a place where it is not meant to be so; they are forgotten then."""
        kept = [
            next((d for d in doubts if not self.meant[d.granule]), None) for doubts in self.doubts.values()
        ]
        self.doubts.clear()
        return [doubt for doubt in kept if doubt is not None]

    def _meet(
        self, orders: Orders, before: Touches, touch: Touch, low: int, pc: int, races: Callable | None
    ) -> None:
        if not before.latest:
            return

        def chance(*pairs: np.ndarray) -> np.ndarray:
            unheard = orders.messages.not_heard(*pairs)
            return unheard if races is None else unheard & ~races(*pairs)

        granules, lanes = granules_of(touch.unit, touch.count), np.repeat(touch.lanes, touch.count)
        found = before.found(orders, lanes, granules, low, chance)
        if found is not None:
            self._doubt(orders, found, lanes, granules, pc)

    def _doubt(self, orders: Orders, found: Found, lanes: np.ndarray, granules: np.ndarray, pc: int) -> None:
        at = np.flatnonzero(found.bad & ~self.meant[granules])
        pcs = orders.trail.pcs(found.times[at])
        for other in np.unique(pcs).tolist():
            these = at[pcs == other]
            first = int(these[0])
            doubt = Doubt(pc, int(granules[first]), int(lanes[first]), int(found.lanes[first]),
                          int(found.times[first]), len(np.unique(lanes[these])))  # fmt: skip
            self.doubt(doubt, other)

    def doubt(self, doubt: Doubt, other: int) -> None:
        """`other`: the instruction that it met."""
        known = self.doubts.setdefault((doubt.pc, other), [])
        if len(known) < MOST_KEPT and all(doubt.granule != one.granule for one in known):
            known.append(doubt)
