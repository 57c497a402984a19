"""Proxies: copy engine and tensor cores reach memory on a way of their own (PTX ISA, "Proxies").

What a thread wrote, they see where a fence.proxy.async lies between the two: a fence of any thread, that the write
happens before, and that happens before what the copy engine does. So the fence may be the writer's own, after its
write; or of the thread that starts the copy, once it knows of the write; or of a third one between them. A fence of one
thread before a barrier covers nothing of what others wrote before that barrier.
"""

from bisect import bisect_right
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from .messages import News
from .orders import Orders

GLOBAL, SHARED = "global", "shared"
ALL_SPACES = frozenset((GLOBAL, SHARED))


def map_space(address: int) -> str:
    """The tensor map at an address in global memory, which the copy engine reads through a proxy for maps alone."""
    return f"tensor map at {address:#x}"


@dataclass(frozen=True, eq=False)
class Fence:
    """Some lanes of the grid made it at one time. For each of them: what it had seen then, of its block (`seen`, by
    agent) and of others (`news`)."""

    time: int
    lanes: np.ndarray
    spaces: frozenset[str]
    seen: np.ndarray
    row_of: np.ndarray  # of each lane, in `seen`
    agent_of: np.ndarray  # of each thread of a block
    news: list[News]
    news_of: np.ndarray  # of each lane, in `news`

    def knew(self, at: int, others: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Whether its lane at this position knew what others had done at these times."""
        threads = len(self.agent_of)
        blocks, row = others // threads, self.seen[self.row_of[at]]
        here = blocks == int(self.lanes[at]) // threads
        known = here & (row[self.agent_of[others % threads]] > times)
        return known | self.news[self.news_of[at]].has(blocks, others % threads, times)


def fence_of(orders: Orders, lanes: np.ndarray, spaces: frozenset[str] = frozenset()) -> Fence:
    """One that these lanes of the machine make just now."""
    agents, row_of = np.unique(orders.agent_of_lane[lanes], return_inverse=True)
    known, news_of = np.unique(orders.messages.known[lanes], return_inverse=True)
    news = [orders.messages.book[each] for each in known.tolist()]
    return Fence(orders.trail.now - 1, lanes + orders.first_lane, spaces, orders.seen[agents], row_of,
                 orders.agent_of, news, news_of)  # fmt: skip


class ProxyFences:
    """Those of a launch, by time."""

    def __init__(self) -> None:
        self.made: list[Fence] = []
        self.recent: dict[str, np.ndarray] = {}
        """By space, when each lane of the machine made its last fence and the one before: (2, lanes)."""
        self.first_lane = 0  # of that machine, in the grid

    def make(self, orders: Orders, lanes: np.ndarray, spaces: frozenset[str]) -> None:
        """These lanes of the machine that these orders are of make a fence now."""
        orders.trail.now += 2
        if self.first_lane != orders.first_lane:
            self.first_lane = orders.first_lane
            self.recent = {}
        for space in spaces:
            self.recent.setdefault(space, np.zeros((2, len(orders.agent_of_lane)), np.int64))
            self.recent[space][:, lanes] = (
                np.full(len(lanes), orders.trail.now - 1),
                self.recent[space][0, lanes],
            )
        self.made.append(fence_of(orders, lanes, spaces))

    def uncovered(
        self, orders: Orders, space: str, lanes: np.ndarray, others: np.ndarray, times: np.ndarray
    ) -> np.ndarray:
        """Whether no fence lies between what `others`, lanes of the grid, wrote at these times, and what copy engine or
        tensor cores do now for `lanes`, lanes of the machine. Each of these knows of the write beside it."""
        made = [fence for fence in self.made if space in fence.spaces]
        left = np.zeros(len(lanes), bool)
        for lane in np.unique(lanes).tolist():
            mine = np.flatnonzero(lanes == lane)
            left[mine] = self._uncovered_for(made, orders, lane, others[mine], times[mine])
        return left

    def known_of(self, orders: Orders, space: str, lane: int, lanes: np.ndarray) -> np.ndarray:
        """When each of `lanes` made the newer of its last two fences that this lane knows of, all of the machine; 0:
        neither is known."""
        if space not in self.recent or self.first_lane != orders.first_lane:
            return np.zeros(len(lanes), np.int64)
        last, before = self.recent[space][:, lanes]
        mine, others = np.full(len(lanes), lane), lanes + self.first_lane
        older = np.where(orders.unseen(mine, others, before), 0, before)
        return np.where(orders.unseen(mine, others, last), older, last)

    def _uncovered_for(
        self, made: list[Fence], orders: Orders, lane: int, others: np.ndarray, times: np.ndarray
    ) -> np.ndarray:
        """The same for one lane."""
        _, first, which = np.unique(others << 32 | times, return_index=True, return_inverse=True)
        others, times = others[first], times[first].astype(np.int64)
        left = ~self._by_writers(made, orders, lane, others, times)
        if left.any():
            left[left] = ~self._by_anyone(made, orders, lane, others[left], times[left])
        return left[which]

    def _by_writers(
        self, made: list[Fence], orders: Orders, lane: int, others: np.ndarray, times: np.ndarray
    ) -> np.ndarray:
        """Which of them their writers have covered. Of a writer's fences the first one after the write is the first to
        be known."""
        first = np.zeros(len(others), np.int64)
        for fence in made[bisect_right(made, int(times.min()), key=attrgetter("time")) :]:
            at = np.flatnonzero((first == 0) & (times < fence.time))
            first[at[np.isin(others[at], fence.lanes)]] = fence.time
            if first.all():
                break
        return (first > 0) & ~orders.unseen(np.full(len(others), lane), others, first)

    def _by_anyone(
        self, made: list[Fence], orders: Orders, lane: int, others: np.ndarray, times: np.ndarray
    ) -> np.ndarray:
        """Which of them lie before a fence of any thread that this lane knows of; the newest first."""
        covered = np.zeros(len(others), bool)
        for fence in reversed(made):
            if covered.all() or fence.time < times[~covered].min():
                break
            mine, when = np.full(len(fence.lanes), lane), np.full(len(fence.lanes), fence.time)
            known = np.flatnonzero(~orders.unseen(mine, fence.lanes, when))
            kinds = fence.row_of[known] * len(fence.news) + fence.news_of[known]
            for at in known[np.unique(kinds, return_index=True)[1]].tolist():
                covered |= fence.knew(at, others, times)
        return covered
