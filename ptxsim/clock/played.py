"""What a play of one block's events leaves behind, and how far each of its warps is meanwhile."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from ..gpus import Rates
from ..observe.events import (
    BulkCopy,
    BulkStore,
    BulkWait,
    Copy,
    Event,
    Load,
    Store,
    UseLoads,
    Wait,
    Wgmma,
    WgmmaWait,
    Work,
)

Phase = Literal["copy", "wait", "barrier", "math", "wgmma", "load", "store"]
"""What a warp is busy with, or waits for."""


@dataclass
class Segment:
    """A warp is in `phase` from begin to end, in cycles. `k_tile`: of a warp that waits at mbarriers, the one that it
    is at, counted through all tiles; -1 before, and of others."""

    warp: int
    phase: Phase
    begin: float
    end: float
    k_tile: int = -1


PHASES: dict[type[Event], Phase] = {
    Copy: "copy",
    Wait: "wait",
    Store: "store",
    Load: "load",
    UseLoads: "load",
    BulkCopy: "copy",
    BulkStore: "store",
    BulkWait: "store",
    Wgmma: "wgmma",
    WgmmaWait: "wgmma",
}


def phase_of(event: Event) -> Phase | None:
    """What a warp is busy with until this event lets it go on; None: with nothing that is shown, or whoever wakes the
    warp notes it."""
    if isinstance(event, Work):
        return "math" if event.math or event.wavefronts else None
    return PHASES.get(type(event))


@dataclass(frozen=True)
class Stretch:
    """How many times longer than alone a block's service takes: in the sub-cores, the shared-memory port, on the way
    from L2, and in the tensor cores, where they work on their own (wgmma)."""

    core: float = 1.0
    shared: float = 1.0
    l2: float = 1.0
    tensor: float = 1.0


ALONE = Stretch()


@dataclass
class Played:
    """Cycles from the block's start to its end, how long it kept each resource busy, what its warps did, and the cycle
    of each warp's clock reads. `stuck`: warps that wait for ever,
    because the other blocks of the cluster do not do at each moment what this one does."""

    cycles: float = 0.0
    busy: Stretch = Stretch(0.0, 0.0, 0.0, 0.0)
    segments: list[Segment] = field(default_factory=list)
    clocks: list[list[float]] = field(default_factory=list)
    stuck: int = 0


@dataclass
class Warp:
    """Of the block that is played: how far it is, and what it waits for."""

    index: int
    at: int = 0
    copies: float = 0.0  # when the copies since the last commit have landed
    groups: list[float] = field(default_factory=list)  # when each committed group has landed
    loads: float = 0.0  # when the values loaded so far have arrived
    k_tile: int = -1
    segment: Segment | None = None


Handler = Callable[[float, Warp, Any], float | None]
"""Plays an event of one class, at a time, for a warp; gives the time when the warp goes on. None: something else wakes
it."""


class Server(Protocol):
    """A resource that serves one after the other (`_Server`, block.py)."""

    busy: float

    def serve(self, time: float, cycles: float) -> float:
        """When a request made at `time` is done."""


class Player(Protocol):
    """What the engines ask of the block that is played."""

    events: list[list[Event]]
    rates: Rates

    @property
    def l2(self) -> Server: ...

    @property
    def shared(self) -> Server: ...

    @property
    def stores(self) -> Server: ...

    def push(self, time: float, warp: Warp) -> None: ...

    def at(self, time: float, action: Callable[[float], None]) -> None: ...

    def note(self, warp: Warp, phase: Phase, begin: float, end: float) -> None: ...
