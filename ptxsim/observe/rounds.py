"""Barriers that more warps can come to than a round counts, in some order of the warps: `bar.arrive` does not wait, and
who comes early for the next round is counted in this one.

One order shows them all: a warp may come again only when something has told it that the others of the round before
have come. Who waited at the barrier knows; who only arrived must have heard it at another barrier.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..gpus import WARP
from .events import Arrive, Barrier, ClusterWait, Event, MbarrierWait

Known = dict[int, int]
"""Warp -> how many of its events are known to be over."""


@dataclass(frozen=True)
class CountedTwice:
    """`again` may come to the barrier a second time before `late` has come once."""

    barrier: int
    again: int
    late: int

    def __str__(self) -> str:
        return (
            f"Barrier {self.barrier} may open too early: warp {self.again} comes to it again, and nothing has told it "
            f"that warp {self.late} came the last time. Where warp {self.late} is slow, warp {self.again} counts twice."
        )


@dataclass
class _Round:
    """Of one barrier."""

    here: Known = field(default_factory=dict)  # who has come, and with which of its events
    waiting: set[int] = field(default_factory=set)
    told: Known = field(default_factory=dict)  # what those who came knew
    before: Known = field(default_factory=dict)  # who came to the round before


def counted_twice(events: Sequence[Sequence[Event]]) -> CountedTwice | None:
    """The first such barrier of a block whose warps did this. None also where they meet in other ways as well, at
    mbarriers or with other blocks: these tell them more."""
    others = any(isinstance(event, MbarrierWait | ClusterWait) for mine in events for event in mine)
    return None if others else _Rounds(events).run()


class _Rounds:
    def __init__(self, events: Sequence[Sequence[Event]]) -> None:
        self.meetings = [[one for one in mine if isinstance(one, Barrier | Arrive)] for mine in events]
        self.at = [0] * len(events)
        self.knows: list[Known] = [{} for _ in events]
        self.rounds: dict[int, _Round] = {}
        self.held: set[int] = set()  # warps that wait

    def run(self) -> CountedTwice | None:
        """Until a barrier is found, or no warp can go on."""
        going = True
        while going:
            going = False
            for warp, mine in enumerate(self.meetings):
                while warp not in self.held and self.at[warp] < len(mine):
                    going = True
                    if found := self._comes(warp, mine[self.at[warp]]):
                        return found
        return None

    def _comes(self, warp: int, event: Barrier | Arrive) -> CountedTwice | None:
        this = self.rounds.setdefault(event.id, _Round())
        late = self._unheard(warp, event, this)
        if late is not None:
            return CountedTwice(event.id, warp, late)
        self.at[warp] += 1
        self.knows[warp][warp] = this.here[warp] = self.at[warp]
        _learn(this.told, self.knows[warp])
        if isinstance(event, Barrier):
            this.waiting.add(warp)
            self.held.add(warp)
        if len(this.here) >= self._enough(event):
            for waiting in this.waiting:
                _learn(self.knows[waiting], this.told)
            self.held -= this.waiting
            self.rounds[event.id] = _Round(before=this.here)
        return None

    def _unheard(self, warp: int, event: Barrier | Arrive, this: _Round) -> int | None:
        """A warp of which this one does not know that it has come to the round before; where this one is there
        already, one that this round lacks."""
        if warp in this.here:
            return next((one for one in range(len(self.at)) if self._comes_later(one, event.id)), None)
        knows = self.knows[warp]
        return next((one for one, came in this.before.items() if knows.get(one, 0) < came), None)

    def _comes_later(self, warp: int, barrier: int) -> bool:
        here, left = self.rounds[barrier].here, self.meetings[warp][self.at[warp] :]
        return warp not in here and any(event.id == barrier for event in left)

    def _enough(self, event: Barrier | Arrive) -> int:
        running = (warp in self.held or at < len(self.meetings[warp]) for warp, at in enumerate(self.at))
        return event.count // WARP if event.count else sum(running)


def _learn(known: Known, more: Known) -> None:
    for warp, events in more.items():
        known[warp] = max(known.get(warp, 0), events)
