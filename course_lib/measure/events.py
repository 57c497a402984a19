"""What a timeline is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Event:
    """One phase of one warp in one k-tile. Cycles count from the block's first event."""

    warp: int
    phase: str
    k_tile: int
    begin: int
    end: int


class Drawn(Protocol):
    """A timeline as its picture takes it."""

    title: str
    origin: str
    phases: tuple[str, ...]
    source: str
    events: tuple[Event, ...]
    spans: dict[str, list[list[int]]]

    def cycles(self, phase: str) -> int: ...
