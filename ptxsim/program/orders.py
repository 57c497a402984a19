"""What orders the work of streams: races between launches and copies, whatever order they were run in.

Each piece of work has a clock, the number of the last piece of each stream that is surely over when it begins: what
came before it in its stream, what the host waited for, and what an event brought along. Two pieces that touch the same
four bytes race when one of them writes and neither knows the other. The default stream waits for all others, and they
for it, but for those that were made with cudaStreamNonBlocking.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ..ground.memory import GRAIN, Seen, in_bytes
from .arena import Allocation
from .sites import mark

DEFAULT = 0
"""The number of the default stream."""
STREAM, EVENT, DEVICE = range(3)
"""What the host waits for."""
AGAINST = {
    "writes": ("writes", "reads", "changes"),
    "reads": ("writes", "changes"),
    "changes": ("writes", "reads"),  # atomically
}
"""With which kinds of other touches each kind races."""
LAUNCH, TO_DEVICE, OTHER = "launch", "copy to the device", ""
"""What a piece of work is."""
WORDS = {"writes": "writes", "reads": "reads", "changes": "changes atomically"}

Clock = dict[int, int]


@dataclass(frozen=True)
class Piece:
    """Of work: its stream, its place there, its clock, and what it is in words."""

    number: int
    stream: int
    place: int
    known: Clock
    words: str
    site: int
    kind: str = OTHER
    host: Clock = field(default_factory=dict)
    """Of its clock, what the host had waited for."""

    def is_behind(self, other: Piece) -> bool:
        """Whether the other one is surely over when this one begins."""
        return other.place <= self.known.get(other.stream, 0)

    @property
    def done(self) -> Clock:
        """What is over when it is."""
        return {**self.known, self.stream: self.place}

    def waited_in_host(self, other: Piece) -> bool:
        """Whether the host asked for this one only when the other was over."""
        return other.place <= self.host.get(other.stream, 0)


class Race(NamedTuple):
    """A finding in words, the site of the later piece, and what is alike in all races of these two calls."""

    message: str
    site: int
    pair: tuple


@dataclass
class Touched:
    """Of an allocation: by kind and stream, the last piece of work that touched each four bytes."""

    last: dict[tuple[str, int], np.ndarray] = field(default_factory=dict)

    def of(self, kind: str, stream: int, size: int) -> np.ndarray:
        key = kind, stream
        if key not in self.last:
            self.last[key] = np.zeros(-(-size // GRAIN), np.int32)
        return self.last[key]


class Orders:
    """Of one program. `tell` hears of races, of each pair of calls several times."""

    def __init__(self, tell: Callable[[Race], None]) -> None:
        self.tell = tell
        self._numbers = {0: DEFAULT, 1: DEFAULT, 2: DEFAULT}  # of streams, by their handles
        self._streams = 1
        self._alone: set[int] = set()  # those that do not wait for the default stream
        self._clocks: dict[int, Clock] = {DEFAULT: {}}  # by stream, what is over when its next piece begins
        self._host: Clock = {}
        self._events: dict[int, Clock] = {}
        self.pieces: list[Piece] = []
        self._touched: WeakKeyDictionary[Allocation, Touched] = WeakKeyDictionary()

    @property
    def needed(self) -> bool:
        """Whether there is more than one stream."""
        return self._streams > 1

    # ---- what the program does

    def stream(self, handle: int, alone: int) -> None:
        """A new one."""
        self._numbers[handle] = number = self._streams
        self._streams += 1
        self._clocks[number] = {}
        self._alone |= {number} if alone else set()

    def record(self, event: int, handle: int) -> None:
        self._events[event] = self._known(self._number(handle))

    def wait_event(self, handle: int, event: int) -> None:
        number = self._number(handle)
        self._clocks[number] = _both(self._clocks[number], self._events.get(event, {}))

    def host_waits(self, what: int, handle: int) -> Clock:
        """All that the host has waited for, from now on."""
        self._host = self.awaited(what, handle)
        return self._host

    def awaited(self, what: int, handle: int) -> Clock:
        """What would be over if the host waited for that."""
        if what == EVENT:
            known = self._events.get(handle, {})
        elif what == STREAM:
            known = self._known(self._number(handle))
        else:
            known = _both(*self._clocks.values())
        return _both(self._host, known)

    def host_knows(self, clock: Clock) -> bool:
        return all(place <= self._host.get(stream, 0) for stream, place in clock.items())

    def begin(self, handle: int, words: str, site: int, kind: str = OTHER) -> Piece:
        """A piece of work in this stream."""
        number = self._number(handle)
        known = self._known(number)
        place = self._clocks[number].get(number, 0) + 1
        name = f"stream {number}" if number else "the default stream"
        piece = Piece(
            len(self.pieces) + 1, number, place, known, f"{words} in {name}", site, kind, self._host
        )
        self.pieces.append(piece)
        self._clocks[number] = piece.done
        return piece

    # ---- what it touches

    def range(self, piece: Piece, kind: str, found: Allocation | None, address: int, size: int) -> None:
        """Of a copy or a fill."""
        if found is not None and size:
            first = address - found.address
            self._touch(piece, kind, found, slice(first // GRAIN, -(-(first + size) // GRAIN)))

    def seen(self, piece: Piece, found: Allocation, seen: Seen) -> None:
        """Of a launch."""
        for kind in ("writes", "changes", "reads"):
            if kind in seen.parts:
                self._touch(piece, kind, found, np.flatnonzero(seen.parts[kind]))

    def _touch(self, piece: Piece, kind: str, found: Allocation, at: slice | np.ndarray) -> None:
        touched = self._touched.setdefault(found, Touched())
        for other_kind in AGAINST[kind]:
            for (of_kind, stream), last in touched.last.items():
                if of_kind == other_kind and stream != piece.stream:
                    self._compare(piece, kind, other_kind, found, at, last[at])
        touched.of(kind, piece.stream, found.size)[at] = piece.number

    def _compare(
        self,
        piece: Piece,
        kind: str,
        other: str,
        found: Allocation,
        at: slice | np.ndarray,
        numbers: np.ndarray,
    ) -> None:
        for number in np.unique(numbers):
            if number and not piece.is_behind(self.pieces[number - 1]):
                first = int(np.flatnonzero(numbers == number)[0])
                byte = GRAIN * (at.start + first if isinstance(at, slice) else int(at[first]))
                self._race(piece, kind, self.pieces[number - 1], other, found, byte)
                return

    def _race(
        self, piece: Piece, kind: str, other: Piece, other_kind: str, found: Allocation, byte: int
    ) -> None:
        made = f", allocated at {mark(found.site)}" if found.site else ""
        there = f" (at {mark(other.site)})" if other.site else ""
        name = found.name or "an allocation"
        message = (
            f"{piece.words} {WORDS[kind]} byte {byte:,} of {name} of {in_bytes(found.size)}{made}, which {other.words}"
            f"{there} {WORDS[other_kind]}, and nothing orders the two. cudaStreamWaitEvent, or a wait of the host, is "
            "missing between them"
        )
        self.tell(Race(message, piece.site, (piece.words, piece.site, other.words, other.site)))

    def _number(self, handle: int) -> int:
        return self._numbers.get(handle, DEFAULT)

    def _known(self, number: int) -> Clock:
        """What is over when the next piece of a stream begins."""
        if number in self._alone:
            return _both(self._host, self._clocks[number])
        others = [DEFAULT] if number else [each for each in self._clocks if each not in self._alone]
        return _both(self._host, self._clocks[number], *(self._clocks[each] for each in others))


def _both(*clocks: Clock) -> Clock:
    """What one of them knows, or another."""
    found: Clock = {}
    for clock in clocks:
        for stream, place in clock.items():
            found[stream] = max(place, found.get(stream, 0))
    return found
