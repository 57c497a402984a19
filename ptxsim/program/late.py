"""When the host sees what streams wrote: not before it waits for them.

A launch, a copy or a fill is done when it is asked for, and then taken back from memory that the host reads, too
(pinned, managed, registered): until a wait of the host covers it, other work of the device sees it, and the host does
not. CUDA allows that, and so a program that reads too early gets wrong numbers each time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from ..ground.memory import Bytes, Seen, note_written
from .arena import PAGE, Allocation
from .orders import Clock, Piece

MOST = 8 << 20
"""Bytes that are held back. With more, the oldest are shown: each launch has to put them back and take them away."""
MOST_PARTS = 256
"""The same for parts: a launch or a copy has one for each place where it wrote without a gap."""


@dataclass
class Part:
    """What a piece of work wrote in these bytes; `mask`: which of them, None for all. While it is held back `kept` has
    the new bytes, and memory those before; while the device works, the other way round."""

    work: Piece
    data: np.ndarray
    kept: np.ndarray
    mask: np.ndarray | None = None

    def swap(self) -> None:
        now = self.data.copy()
        if self.mask is None:
            self.data[:] = self.kept
        else:
            np.copyto(self.data, self.kept, where=self.mask)
        self.kept = now

    def is_covered(self, clock: Clock) -> bool:
        return self.work.place <= clock.get(self.work.stream, 0)


class Late:
    """Of one program: what its streams wrote, and no wait of the host has covered, oldest first. With `at_once` the
    host need not wait."""

    def __init__(self, at_once: bool = False) -> None:
        self._at_once = at_once
        self._parts: list[Part] = []

    @contextmanager
    def device(self) -> Iterator[None]:
        """Work of the device, which sees all that was done before."""
        for part in self._parts:
            part.swap()
        try:
            yield
        finally:
            for part in reversed(self._parts):
                part.swap()
            self._limit()

    def writes(self, work: Piece, found: Allocation, address: int, size: int) -> None:
        """It is about to write these bytes. While the device works."""
        if found.shared and not self._at_once:
            data = found.at(address, size)
            self._parts.append(Part(work, data, data.copy()))

    def wrote(self, work: Piece, overwritten: Overwritten) -> None:
        """It has written that. While the device works."""
        if not self._at_once:
            self._parts += [Part(work, *part) for part in overwritten.written()]

    def show(self, clock: Clock) -> list[Piece]:
        """What is over by this clock becomes visible: that work."""
        shown = [part for part in self._parts if part.is_covered(clock)]
        for part in shown:
            part.swap()
        self._parts = [part for part in self._parts if not part.is_covered(clock)]
        return _works(shown)

    def show_all(self) -> list[Piece]:
        shown, self._parts = self._parts, []
        for part in shown:
            part.swap()
        return _works(shown)

    def _limit(self) -> None:
        """The newest piece of work is held back, whatever its size."""
        held, size = self._parts, sum(len(part.data) for part in self._parts)
        while (size > MOST or len(held) > MOST_PARTS) and held[0].work is not held[-1].work:
            held[0].swap()
            size -= len(held[0].data)
            del held[0]


class Before(Seen):
    """What a launch touches of a buffer, if `all_touches`; and what was there before it wrote, page by page."""

    def __init__(self, memory: Bytes, all_touches: bool) -> None:
        super().__init__(len(memory.data))
        self._data, self._all = memory.data, all_touches
        self._before: dict[int, np.ndarray] = {}
        self.touched = False

    def note(self, kind: str, unit: np.ndarray, size: int) -> None:
        self.touched = True
        if self._all:
            super().note(kind, unit, size)
        if kind != "reads" and len(unit):
            self._note_writing(unit, size)

    def _note_writing(self, unit: np.ndarray, size: int) -> None:
        first = int(unit.min()) * size // PAGE
        last = int(unit.max()) * size // PAGE
        pages = [first] if first == last else np.unique(unit * size // PAGE).tolist()
        for page in pages:
            if page not in self._before:
                self._before[page] = self._data[page * PAGE : (page + 1) * PAGE].copy()

    def is_same(self) -> bool:
        """Whether all bytes are as they were."""
        return all(
            np.array_equal(self._data[page * PAGE :][: len(before)], before)
            for page, before in self._before.items()
        )


class Overwritten(Before):
    """It tells which bytes the launch wrote, too."""

    def __init__(self, memory: Bytes, all_touches: bool) -> None:
        super().__init__(memory, all_touches)
        self._marks: Bytes | None = None

    def _note_writing(self, unit: np.ndarray, size: int) -> None:
        super()._note_writing(unit, size)
        if self._marks is None:
            self._marks = Bytes(np.zeros(self.size, np.uint8))
        note_written(self._marks, unit, size)

    def written(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
        """Of each run of pages: its bytes, those before, and which were written."""
        return [self._part(run) for run in _runs(sorted(self._before))]

    def _part(self, pages: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        assert self._marks is not None
        at = slice(pages[0] * PAGE, (pages[-1] + 1) * PAGE)
        mask = self._marks.data[at].view(bool)
        before = np.concatenate([self._before[page] for page in pages])
        return self._data[at], before, None if mask.all() else mask


def _runs(pages: list[int]) -> list[list[int]]:
    """Those that follow each other, together."""
    runs: list[list[int]] = []
    for page in pages:
        if runs and runs[-1][-1] + 1 == page:
            runs[-1].append(page)
        else:
            runs.append([page])
    return runs


def _works(parts: list[Part]) -> list[Piece]:
    return list({part.work.number: part.work for part in parts}.values())
