"""Device memory: a range of addresses that the program and this process share, and the allocations in it.

The program's pointers are the addresses that kernels see. So a pointer in a struct, or in device memory, means the same
everywhere. Between two allocations lies a gap, so that an index that runs out of one lands in no other; an address is
given again only when no new ones are left.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref
from bisect import bisect_right, insort
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from ..ground.memory import Bytes

BASE, SIZE = 1 << 44, 1 << 45
"""Addresses that no program's own code, heap or libraries have on Linux."""
GAP, PAGE = 1 << 30, 4096

DEVICE, HOST, MANAGED, REGISTERED, VARIABLE, OF_KERNELS = range(6)
"""Kinds of allocations, the first three as shim/memory.cpp numbers them; the last one: for malloc in kernels."""
FOLLOWED = (DEVICE, OF_KERNELS)
"""Of which it is known who has written what."""
OF_HOST = (HOST, REGISTERED)
OF_DEVICE = (DEVICE, MANAGED)
SEEN_BY_HOST = (HOST, MANAGED, REGISTERED)
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(3 * [ctypes.c_int]), ctypes.c_long)
_LIBC.munmap.argtypes = ctypes.c_void_p, ctypes.c_size_t
_FAILED = ctypes.c_void_p(-1).value


@dataclass(eq=False)
class Allocation:
    """`site` is where it was made, `freed` where it was freed, if it was. `written`: which bytes anybody wrote; None
    where the host may write without being seen. `managed`: a variable that is (__managed__)."""

    address: int
    memory: Bytes
    kind: int
    site: int
    name: str = ""
    written: Bytes | None = None
    freed: int | None = None
    managed: bool = False

    @property
    def shared(self) -> bool:
        """Whether the host reads and writes it, too."""
        return self.managed or self.kind in SEEN_BY_HOST

    @property
    def size(self) -> int:
        return len(self.memory.data)

    def has(self, address: int, size: int = 1) -> bool:
        return self.address <= address and address + size <= self.address + self.size

    def at(self, address: int, size: int) -> np.ndarray:
        """These bytes."""
        return self.memory.data[address - self.address :][:size]

    def note_written(self, address: int, size: int) -> None:
        if self.written is not None:
            self.written.data[address - self.address :][:size] = 1

    def same_written(self, to: int, other: Allocation | None, source: int, size: int) -> None:
        """A copy brings along which bytes were written."""
        if self.written is None:
            return
        first = to - self.address
        if other is None or other.written is None:
            self.written.data[first : first + size] = 1
        else:
            self.written.data[first : first + size] = other.written.data[source - other.address :][:size]


@dataclass
class Arena:
    """`file`: the memory that is shared; byte n of it has the address BASE + n in the program, but for pages of the
    host that it registers. `marks`: of each byte whether it was written; no memory is taken for what nobody touches."""

    file: int = field(default_factory=lambda: os.memfd_create("ptxsim"))
    marks: int = field(default_factory=lambda: os.memfd_create("ptxsim-written"))
    live: list[Allocation] = field(default_factory=list)
    gone: deque[Allocation] = field(default_factory=lambda: deque(maxlen=1000))

    def __post_init__(self) -> None:
        os.ftruncate(self.file, SIZE)
        os.ftruncate(self.marks, SIZE)
        self._next = GAP
        self._again: deque[tuple[int, int]] = deque()  # addresses that were given back, and their bytes
        self.used = self.of_device = self.most_of_device = 0

    def close(self) -> None:
        os.close(self.file)
        os.close(self.marks)

    def bytes_at(self, offset: int, size: int) -> np.ndarray:
        """These bytes of the shared memory, from the begin of a page on."""
        return _mapped(self.file, offset, size)

    def allocate(self, size: int, kind: int, site: int = 0, name: str = "") -> Allocation | None:
        """None where there is no room."""
        at = self._room(size)
        if at is None:
            return None
        made = Allocation(BASE + at, Bytes(self.bytes_at(at, size)), kind, site, name)
        if kind in FOLLOWED:
            made.written = Bytes(_mapped(self.marks, at, size))
        return self._add(made)

    def register(
        self, address: int, size: int, first: int, pages: int, site: int
    ) -> tuple[Allocation, int] | None:
        """Memory of the host: `size` bytes at its `address`, in `pages` bytes of whole pages that begin at `first`.
        Besides the allocation, where these begin in the shared memory."""
        at = self._room(pages)
        if at is None:
            return None
        here = self.bytes_at(at, pages)[address - first :][:size]
        return self._add(Allocation(address, Bytes(here), REGISTERED, site)), at

    def release(self, allocation: Allocation, site: int = 0) -> None:
        self.live.remove(allocation)
        self.used -= allocation.size
        self.of_device -= allocation.size * (allocation.kind in OF_DEVICE)
        allocation.freed = site
        self.gone.append(allocation)
        if allocation.kind != REGISTERED:
            self._again.append((allocation.address - BASE, allocation.size))

    def find(self, address: int, size: int = 1) -> Allocation | None:
        """The allocation that has all these bytes."""
        at = bisect_right(self.live, address, key=_address) - 1
        return self.live[at] if at >= 0 and self.live[at].has(address, size) else None

    def near(self, address: int) -> Allocation | None:
        """The allocation to which a pointer belongs that may point just behind its end, or into what is gone."""
        if found := self.find(address) or self.find(address - 1):
            return found
        return next((each for each in reversed(self.gone) if each.has(address)), None)

    def _add(self, made: Allocation) -> Allocation:
        insort(self.live, made, key=_address)
        self.used += made.size
        self.of_device += made.size * (made.kind in OF_DEVICE)
        self.most_of_device = max(self.most_of_device, self.of_device)
        return made

    def _room(self, size: int) -> int | None:
        at = self._next
        room = -(-size // GAP) * GAP + GAP
        if at + room <= SIZE:
            self._next += room
            return at
        found = next((each for each in self._again if each[1] >= size), None)
        if found is None:
            return None
        self._again.remove(found)
        _mapped(self.marks, found[0], size)[:] = 0
        return found[0]


def _mapped(file: int, offset: int, size: int) -> np.ndarray:
    """Until nobody has it any more. Python's mmap would hold a file open for each, and a process has a thousand."""
    at = _LIBC.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, file, offset)
    if at == _FAILED:
        raise OSError(ctypes.get_errno(), f"no memory for {size:,} bytes of the device")
    held = (ctypes.c_uint8 * size).from_address(at)
    weakref.finalize(held, _LIBC.munmap, at, size).atexit = False
    return np.frombuffer(memoryview(held), np.uint8)


def _address(allocation: Allocation) -> int:
    return allocation.address
