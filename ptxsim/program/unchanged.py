"""Launches that leave all memory as they found it: those of a benchmark's loop, from the second on.

The same launch does so again, as long as nobody has written anything since. So it need not run: every number is
right, and it has no finding that the one before had not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..ground.memory import Buffer, Seen
from .arena import Allocation
from .late import Before

Key = tuple
"""A kernel, how it is launched, and all bytes of its parameters."""
Touched = list[tuple[Allocation, Seen]]


class Unchanged:
    """Of one program: such launches since memory was last written, and what each touches."""

    def __init__(self) -> None:
        self._asked: Counter[int] = Counter()  # by a number of the key, which may have a thousand bytes
        self._found: dict[Key, Touched] = {}

    def get(self, key: Key) -> Touched | None:
        return self._found.get(key)

    def is_due(self, key: Key) -> bool:
        """Whether this launch is to be looked at: of those that are the same the second, the fourth, the eighth and so
        on, because to look takes time."""
        self._asked[hash(key)] += 1
        times = self._asked[hash(key)]
        return times > 1 and times.bit_count() == 1

    def note(self, key: Key, touched: Touched) -> None:
        self._found[key] = touched

    def forget(self) -> None:
        """Somebody may have written anywhere."""
        self._found.clear()

    def forget_all_with(self, allocation: Allocation | None) -> None:
        """Somebody may have written there; None for memory that is not CUDA's."""
        with_it = [
            key for key, touched in self._found.items() if any(each is allocation for each, _ in touched)
        ]
        for key in with_it:
            del self._found[key]


def watch(buffers: Iterable[tuple[Allocation, Buffer]], with_parts: bool) -> None:
    """Of these a launch that begins now is to tell what was there before it wrote, and `with_parts` which parts it
    touches."""
    for allocation, buffer in buffers:
        if not allocation.shared:
            buffer.seen = Before(buffer.memory, with_parts)


def touched_only(buffers: Iterable[tuple[Allocation, Buffer]]) -> Touched | None:
    """What a launch that was watched has touched; None where it changed a byte, or touched memory that the host may
    write unseen."""
    touched: Touched = []
    for allocation, buffer in buffers:
        seen = buffer.seen
        if not isinstance(seen, Before) or not seen.touched:
            continue
        if allocation.shared or not seen.is_same():
            return None
        kept = Seen(seen.size)
        kept.parts = seen.parts
        touched.append((allocation, kept))
    return touched
