"""What a timeline is made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from typing import Literal, Protocol, get_args

Phase = Literal["copy", "wait", "barrier", "math", "epilogue"]
"""What a warp is in the middle of, in the order of the enum in timeline.cuh."""
PHASES: tuple[Phase, ...] = get_args(Phase)
Source = Literal["measured", "recorded", "model", ""]
"""Where the events of a timeline come from: a GPU now, a GPU once, the simulator's clock; "": there are none."""


@dataclass(frozen=True)
class Event:
    """One phase of one warp in one k-tile. Cycles count from the block's first event."""

    warp: int
    phase: Phase
    k_tile: int
    begin: int
    end: int


def to_rows(events: Iterable[Event]) -> list[list]:
    """As a record holds them: [warp, phase, k-tile, begin, end]."""
    return [list(astuple(event)) for event in events]


def from_rows(rows: Iterable[list]) -> tuple[Event, ...]:
    return tuple(Event(*row) for row in rows)


def in_order(events: Iterable[Event]) -> list[Event]:
    """Sorted by their begin."""
    return sorted(events, key=lambda event: (event.begin, event.warp))


class Drawn(Protocol):
    """A timeline as its picture takes it."""

    title: str
    origin: str
    phases: tuple[Phase, ...]
    source: Source
    events: tuple[Event, ...]
    spans: dict[str, list[list[int]]]

    def cycles(self, phase: Phase) -> int: ...
