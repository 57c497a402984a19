"""Memory that kernels ask for themselves, by malloc and new (CUDA C++ Programming Guide, "Dynamic Global Memory
Allocation and Operations").

What was given back is given again in a later launch alone: so what one thread did there stays apart from what the next
one does.
"""

from dataclasses import dataclass, field

from .memory import Buffer

SIZE = 8 << 20
"""Bytes that may be taken at once: a GPU's own default."""
ROOM = 8 * SIZE
"""Bytes of addresses."""
ALIGN = 16
"""Of what is given; so much is left free behind it."""


@dataclass(eq=False)
class Heap:
    """`buffer` is where it lies; `taken`: bytes of each piece, by its first byte."""

    buffer: Buffer
    most: int = SIZE
    taken: dict[int, int] = field(default_factory=dict)
    _end: int = 0
    _used: int = 0

    def settle(self) -> None:
        """A launch begins: what lies behind all that is taken is free."""
        self._end = max(
            (first + -(-size // ALIGN) * ALIGN + ALIGN for first, size in self.taken.items()), default=0
        )

    def take(self, size: int) -> int:
        """The address of so many bytes, which hold nothing; 0 where no room is left."""
        first, behind = self._end, self._end + -(-size // ALIGN) * ALIGN + ALIGN
        if not size or self._used + size > self.most or behind > self.buffer.size:
            return 0
        self._end, self._used = behind, self._used + size
        self.taken[first] = size
        if self.buffer.written is not None:
            self.buffer.written.data[first:behind] = 0
        return self.buffer.base + first

    def give(self, address: int) -> bool:
        """Whether it was one of them."""
        size = self.taken.pop(address - self.buffer.base, None)
        self._used -= size or 0
        return size is not None
