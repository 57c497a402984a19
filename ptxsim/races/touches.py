"""Which lanes touched each granule of a memory, and when: the reads, or the strong accesses, that a `Shadow` keeps.

A write is a hazard when any read of another thread is unordered with it, so of reads more than the last one counts:
every lane's last one does. Accesses are only noted at first, and entered when somebody asks; those that are ordered
before everything by then never are: with full barriers between reads and writes, none is.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..ground.work import Budget
from .orders import Orders

SORT = 0.01  # steps of work (work.py) for each access that is sorted
MOST_NOTED = 1 << 24  # accesses that wait to be entered
MOST_LATER = 256  # instructions whose accesses wait while others are asked for
MOST_KEPT = 1 << 23  # accesses of further lanes; of more the oldest are forgotten
MOST_PAIRS = 1 << 22  # of a lane and an access of another one that are looked at for each lane on its own


class Found(NamedTuple):
    """For each of some accesses: is an unordered one of another lane known? That lane in the grid, and its time."""

    bad: np.ndarray
    lanes: np.ndarray
    times: np.ndarray


@dataclass(slots=True)
class Touch:
    """What the lanes of one instruction touch: a unit of `count` granules each. `lanes`: of the machine, whose first
    one is `first_lane` of the grid."""

    lanes: np.ndarray
    first_lane: int
    unit: np.ndarray
    count: int
    time: int

    def spread(self) -> tuple[np.ndarray, np.ndarray]:
        """The lane of the grid at each granule, and the granules."""
        return np.repeat(self.lanes + self.first_lane, self.count), granules_of(self.unit, self.count)


def granules_of(unit: np.ndarray, count: int) -> np.ndarray:
    """The granules of units of `count` granules each, one unit after the other."""
    return unit if count == 1 else (unit[:, None] * count + np.arange(count)).ravel()


class Touches:
    """`lane` and `time` of the last touch of each granule; what other lanes touched before it is in `further`."""

    def __init__(self, granules: int, of_block: int, budget: Budget) -> None:
        """`of_block`: so many of the granules are a block's; all, if blocks share them."""
        self.time = np.zeros(granules, np.int32)
        self.lane = np.zeros(granules, np.int32)  # in the grid
        self.several = np.zeros(granules, bool)  # `further` has some of this granule
        self.further = _Further(budget)
        self.of_block = of_block
        self.noted: list[Touch] = []
        self.bounds: dict[int, tuple[int, int]] = {}  # of those that were asked for, by their time
        self.kept: list[np.ndarray] = []  # what goes to `further` once all that is entered together was
        self.left_by: np.ndarray | None = None  # `lows` by which the last ones were left out
        self.waiting = 0
        self.latest = 0  # the time of the last touch; 0: nothing was touched

    def note(self, touch: Touch, low: int = 0) -> None:
        """Something was touched. What was before `low` is ordered before everything; the first time is 1."""
        self.latest = max(self.latest, touch.time)
        self.noted.append(touch)
        self.waiting += len(touch.unit) * touch.count
        if self.waiting > MOST_NOTED:
            self.enter(low)

    def forget(self, granules: np.ndarray, time: int) -> None:
        """Touches of these granules before that time do not matter any more."""
        self.time[granules] = 0
        self.several[granules] = False
        self.further.forget(granules, time, len(self.time))

    def enter(
        self, low: int = 0, near: np.ndarray | None = None, seen: int = 0, lows: np.ndarray | None = None
    ) -> None:
        """Enter what was noted, at least what may lie at these granules and was not before the time `seen`. `lows`: by
        block, where a block's granules are its own."""
        if not self.noted:
            return
        if lows is not None and lows is not self.left_by and (newest := lows.max()) > low:
            unseen = (each if each.time >= newest else self._unseen(each, lows) for each in self.noted)
            self.noted, self.left_by = [touch for touch in unseen if touch], lows
        bounds = None if near is None else self._bounds(near)
        due: list[Touch] = []
        later: list[Touch] = []
        for touch in self.noted:
            if touch.time >= low:
                wait = touch.time < seen or (bounds and self._apart(touch, bounds))
                (later if wait else due).append(touch)
        if len(later) > MOST_LATER:  # looking at each again and again would take longer
            due, later = due + later, []
        if len(later) == len(self.noted):
            return
        for touch in due:
            lanes, granules = touch.spread()
            self._enter(lanes, granules, touch.time, low)
        self._add_kept(low)
        self.noted = later
        if not later:
            self.bounds.clear()
        self.waiting = sum(len(touch.unit) * touch.count for touch in later)

    def _unseen(self, touch: Touch, lows: np.ndarray) -> Touch | None:
        """What of it is not ordered before all of its block."""
        left = touch.time >= lows[touch.unit * touch.count // self.of_block]
        if not left.any():
            self.bounds.pop(touch.time, None)
            return None
        return touch if left.all() else replace(touch, lanes=touch.lanes[left], unit=touch.unit[left])

    def _bounds(self, granules: np.ndarray) -> tuple[int, int]:
        """The first and the last of them, counted from the start of a block's memory."""
        places = granules if self.of_block == len(self.time) else granules % self.of_block
        return int(places.min()), int(places.max())

    def _apart(self, touch: Touch, bounds: tuple[int, int]) -> bool:
        """Whether it lies before or behind these granules, in every block: one buffer is read, another one filled."""
        if touch.time not in self.bounds:
            first, last = self._bounds(touch.unit * touch.count)
            self.bounds[touch.time] = first, last + touch.count - 1
        first, last = self.bounds[touch.time]
        return last < bounds[0] or bounds[1] < first

    def found(
        self,
        orders: Orders,
        lanes: np.ndarray,
        granules: np.ndarray,
        low: int,
        matters: Callable | None = None,
    ) -> Found | None:
        """What is unordered with an access that these resident lanes make now; None: nothing.

        `matters(lanes, others, times)`: which of those touches count; None: all.
        """

        def bad(lanes: np.ndarray, others: np.ndarray, times: np.ndarray) -> np.ndarray:
            unseen = orders.unseen(lanes, others, times)
            return unseen if matters is None else unseen & matters(lanes, others, times)

        if self.latest < max(low, 1):
            return None
        # What all these lanes have seen need not be entered for them; of other blocks (low is 0) they saw nothing.
        seen = int(np.min(orders.floor_of(lanes))) if low else 0
        self.enter(low, granules, seen, orders.lows if low else None)
        return self._search(bad, lanes, granules, low, orders)

    def since(self, lanes: np.ndarray, granules: np.ndarray, time: int) -> Found | None:
        """Touches since that time, by anybody; None: none."""
        if self.latest < time:
            return None
        self.enter()
        return self._search(lambda lanes, others, times: times >= time, lanes, granules, time)

    def meeting(
        self, bad: Callable, lanes: np.ndarray, granules: np.ndarray, lows: np.ndarray
    ) -> Found | None:
        """For each lane a touch of its granule for which `bad(lanes, others, times)`; None: there is none. What was
        before `lows`, by block, does not matter. The granules are of one block."""
        self.enter(int(lows.min()), granules, 0, lows)
        return self._search(bad, lanes, granules, int(lows[granules[0] // self.of_block]))

    def own_since(self, lanes: np.ndarray, granules: np.ndarray, time: int) -> Found | None:
        """Touches since that time by each lane itself, a lane of the grid; None: none."""
        if self.latest < time:
            return None
        self.enter()
        return self._search(
            lambda mine, others, times: (times >= time) & (others == mine), lanes, granules, time
        )

    def of_lane(self, lane: int) -> tuple[np.ndarray, np.ndarray]:
        """The granules that a lane of the grid touched, and when: of each the last time, as far as it is kept."""
        if not self.latest:
            return np.zeros(0, np.int64), np.zeros(0, np.int32)
        self.enter()
        here = np.flatnonzero((self.lane == lane) & (self.time > 0))
        granules, times = [here], [self.time[here]]
        for run in self.further.runs:
            mine = run[1] == lane
            granules.append(run[0][mine])
            times.append(run[2][mine].astype(np.int32))
        return np.concatenate(granules), np.concatenate(times)

    def _search(
        self, bad: Callable, lanes: np.ndarray, granules: np.ndarray, low: int, orders: Orders | None = None
    ) -> Found | None:
        """For each lane a touch of its granule, since the time `low`, for which `bad(lanes, others, times)`. With
        `orders` it is the same for all lanes that know the same."""
        times = self.time[granules]
        known = times >= max(low, 1)
        if not known.any():
            return None
        result = Found(known.copy(), self.lane[granules].astype(np.int64), times)
        result.bad[known] = bad(lanes[known], result.lanes[known], times[known])
        at = np.flatnonzero(known & ~result.bad & self.several[granules])
        if len(at):
            one, of = at, None
            if orders and self.further.count(granules[at]) > MOST_PAIRS:
                one, of = self._one_for_all(orders, at, lanes[at], granules[at])
            which, others, when = self.further.of(granules[one])
            wrong = bad(lanes[one[which]], others, when) & (when >= low)
            first = one[which[wrong]]
            result.bad[first], result.lanes[first], result.times[first] = True, others[wrong], when[wrong]
            if of is not None:
                for each in result:
                    each[at] = each[of]
        return result if result.bad.any() else None

    def _one_for_all(
        self, orders: Orders, at: np.ndarray, lanes: np.ndarray, granules: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Of accesses one for those of the same granule whose lanes know the same; and for each which one that is. Who
        touched one of the granules before stands for itself."""
        _, others, _ = self.further.of(np.unique(granules))
        mine = lanes + orders.first_lane
        own = np.where(np.isin(mine, others), mine, -1)
        same = np.stack([orders.known_of(lanes), granules, own])
        _, first, of = np.unique(same, axis=1, return_index=True, return_inverse=True)
        return at[first], at[first][of.reshape(-1)]

    def _enter(self, lanes: np.ndarray, granules: np.ndarray, time: int, low: int) -> None:
        before, who = self.time[granules], self.lane[granules]
        if (late := before > time).any():  # entered after a newer one
            kept = late & (who != lanes)
            self._keep(granules[kept], lanes[kept], np.full(np.count_nonzero(kept), time, np.int32))
            lanes, granules, before, who = lanes[~late], granules[~late], before[~late], who[~late]
        other = (before >= max(low, 1)) & (who != lanes)
        if other.any():
            self._keep(granules[other], who[other], before[other])
        self.time[granules] = time
        self.lane[granules] = lanes
        beaten = self.lane[granules] != lanes  # by another lane of the same instruction
        if beaten.any():
            self._keep(granules[beaten], lanes[beaten], np.full(np.count_nonzero(beaten), time, np.int32))

    def _keep(self, granules: np.ndarray, lanes: np.ndarray, times: np.ndarray) -> None:
        self.several[granules] = True
        self.kept.append(np.stack([granules, lanes, times]).astype(np.int64))

    def _add_kept(self, low: int) -> None:
        if self.kept:
            self.further.add(np.hstack(self.kept), low)
            self.kept = []


class _Further:
    """Touches by granule, lane and time, in runs that are sorted by granule and of growing length."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.runs: list[np.ndarray] = []  # each (3, n): granules, lanes, times
        self.since: np.ndarray | None = None  # by granule, the time before which nothing matters

    def forget(self, granules: np.ndarray, time: int, of: int) -> None:
        if self.since is None:
            self.since = np.zeros(of, np.int32)
        self.since[granules] = time

    def add(self, run: np.ndarray, low: int) -> None:
        """`run`: (3, n), unsorted."""
        self.runs.append(self._sorted(run, low))
        while len(self.runs) > 1 and self.runs[-2].shape[1] < 2 * self.runs[-1].shape[1]:
            last = self.runs.pop()
            self.runs[-1] = self._sorted(np.hstack([self.runs[-1], last]), low)
        while sum(run.shape[1] for run in self.runs) > MOST_KEPT:
            self.runs[0] = self.runs[0][:, np.argsort(self.runs[0][2])[self.runs[0].shape[1] // 2 :]]
            self.runs[0] = self._sorted(self.runs[0], low)

    def count(self, granules: np.ndarray) -> int:
        """How many touches of these granules there are."""
        return sum(
            int((np.searchsorted(run[0], granules, "right") - np.searchsorted(run[0], granules)).sum())
            for run in self.runs
        )

    def of(self, granules: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All touches of these granules: which of the granules, the lane, the time."""
        found = []
        for run in self.runs:
            first, end = (np.searchsorted(run[0], granules, side) for side in ("left", "right"))
            which = np.repeat(np.arange(len(granules)), end - first)
            place = np.arange(len(which)) - np.repeat(np.cumsum(end - first) - (end - first), end - first)
            at = np.repeat(first, end - first) + place
            if self.since is not None:
                left = run[2, at] >= self.since[run[0, at]]
                which, at = which[left], at[left]
            found.append((which, run[1, at], run[2, at].astype(np.int32)))
        which, lane, time = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return which, lane, time

    def _sorted(self, run: np.ndarray, low: int) -> np.ndarray:
        """By granule; of each lane only the last touch, and none from before `low`."""
        self.budget.spend(run.shape[1] * SORT)
        run = run[:, run[2] >= (low if self.since is None else np.maximum(low, self.since[run[0]]))]
        if not run.shape[1]:
            return run
        keys = run[0] << 32 | run[1]
        order = np.argsort(keys, kind="stable")  # which merges runs that are sorted already
        keys = keys[order]
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        last = np.maximum.reduceat(run[2][order], starts)
        return np.stack([keys[starts] >> 32, keys[starts] & 0xFFFFFFFF, last])
