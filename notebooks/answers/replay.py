"""How far the warps of a block come, by what a launch has recorded of each: an untimed replay of their events.

What a copy brings is there at once, and a barrier keeps a warp until the others have come. So the question is not when
something happens, but whether it may.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ptxsim.observe.events import (
    Arrive,
    Barrier,
    BulkCopy,
    ClusterWait,
    Event,
    MbarrierArrive,
    MbarrierArriveAfterCopies,
    MbarrierExpect,
    MbarrierInit,
    MbarrierWait,
)

WARP = 32
CLUSTER = -1
"""Stands for the number of the cluster's barrier: the other blocks come when this one comes."""


@dataclass
class _Mbarrier:
    """What its phase lacks: arrivals, and bytes. Blocks of a cluster do to each other's what they do to their own."""

    arrivals: int = 0
    pending: int = 0
    bytes: int = 0
    phase: int = 0

    def come(self, arrivals: int = 0, size: int = 0) -> None:
        self.pending -= arrivals
        self.bytes -= size
        if not (self.pending or self.bytes):
            self.phase, self.pending = self.phase + 1, self.arrivals


class _Replay:
    def __init__(self, events: Sequence[Sequence[Event]]) -> None:
        self.events = events
        self.at = [0] * len(events)
        self.copies = 0
        self.mbarriers: defaultdict[int, _Mbarrier] = defaultdict(_Mbarrier)
        self.waits: defaultdict[tuple[int, int], int] = defaultdict(
            int
        )  # of a warp at an mbarrier, that have ended
        self.there: defaultdict[int, int] = defaultdict(int)  # warps at a barrier
        self.rounds: defaultdict[int, int] = defaultdict(int)  # how often its warps have met
        self.since: dict[int, int] = {}  # a warp at a barrier: the rounds when it came

    def run(self) -> None:
        """Until no warp can go on."""
        while any([self._goes(warp) for warp in range(len(self.events))]):
            pass

    def _goes(self, warp: int) -> bool:
        """On, as far as it may; whether that is at all."""
        before, mine = self.at[warp], self.events[warp]
        while self.at[warp] < len(mine) and self._may(warp, mine[self.at[warp]]):
            self.at[warp] += 1
        return self.at[warp] > before

    def _may(self, warp: int, event: Event) -> bool:
        """Whether the warp gets past this event; what others see of it has happened then."""
        match event:
            case MbarrierInit():
                self.mbarriers[event.mbarrier] = _Mbarrier(event.arrivals, event.arrivals)
            case MbarrierExpect():
                self.mbarriers[event.mbarrier].bytes += event.bytes
            case MbarrierArrive():
                self.mbarriers[event.mbarrier].come(event.arrivals)
            case MbarrierArriveAfterCopies():
                own = 0 if event.noinc else event.arrivals
                self.mbarriers[event.mbarrier].pending += own
                self.mbarriers[event.mbarrier].come(event.arrivals)
            case BulkCopy():
                self.copies += 1
                self.mbarriers[event.mbarrier].come(size=event.bytes * event.blocks)
            case MbarrierWait():
                before = self.waits[warp, event.mbarrier]
                if before + event.ahead >= self.mbarriers[event.mbarrier].phase:
                    return False
                self.waits[warp, event.mbarrier] += 1
            case Arrive():
                self.there[event.id] += 1
                self._meet(event.id, event.count)
            case Barrier():
                return self._waited(warp, event.id, event.count)
            case ClusterWait():
                return self._waited(warp, CLUSTER, None)
        return True

    def _waited(self, warp: int, barrier: int, threads: int | None) -> bool:
        if warp not in self.since:
            self.since[warp] = self.rounds[barrier]
            self.there[barrier] += 1
        self._meet(barrier, threads)
        if self.rounds[barrier] == self.since[warp]:
            return False
        del self.since[warp]
        return True

    def _meet(self, barrier: int, threads: int | None) -> None:
        """Let the warps of a barrier go, if all have come: so many threads, or all that have not ended."""
        running = sum(at < len(mine) for at, mine in zip(self.at, self.events, strict=True))
        if self.there[barrier] >= (threads // WARP if threads else running):
            self.rounds[barrier] += 1
            self.there[barrier] = 0


def flights(events: Sequence[Sequence[Event]]) -> int:
    """How many copies the copy engine is asked for when a block's warps do just this."""
    replay = _Replay(events)
    replay.run()
    return replay.copies
