"""Global, shared and local memory: bounds, alignment, and the bytes themselves.

Addresses are plain integers. Each launch argument gets a range of its own, a terabyte away from the next one
(`SPACING`), so that an index that runs out of one array never lands in another. Shared and local addresses
are offsets; `cvta` adds a window base to make them generic (PTX ISA 5.2 and 9.7.9.20).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

SPACING = 1 << 40
SHARED_WINDOW = 1 << 60
LOCAL_WINDOW = 1 << 61
LOST = {
    "freed-array": "which was freed before",
    "host-memory": "which is memory of the host: a kernel needs an address that cudaMalloc gave, or its kin",
}
"""Causes of hazards at memory that a kernel may not touch at all, in words."""
FAR = 2**30, 2**36
"""Elements: no array of a simulation has so many as the first number; further away is no index that lost bits."""
UNIT: dict[int, np.dtype] = {n: np.dtype(f"u{n}") for n in (1, 2, 4, 8)} | {16: np.dtype("c16")}
"""The dtype that moves 1 to 16 bytes in one NumPy operation; complex128 is only a 16-byte parcel here."""


ALL_WRITTEN = {size: np.full(size, 1, np.uint8).view(UNIT[size])[0] for size in (1, 2, 4, 8)}
"""Marks of a unit of which all bytes are written."""


def in_bytes(size: int) -> str:
    """ "1 byte", "4,096 bytes" """
    return f"{size:,} byte{'s' * (size != 1)}"


class Fault(Exception):
    """The kernel cannot go on. `lane` indexes the lanes that were active, if one of them is to blame. `cause`: see
    `Hazard`; "" where the kind is not divided."""

    def __init__(self, kind: str, message: str, lane: int | None = None, cause: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.cause = cause
        self.message = message
        self.lane = lane


class Miss(Fault):
    """Accesses that cannot be made: of the lanes that are `bad`, a bool for each active one. They have no effect, and
    the launch goes on. `words` makes the message: a loop may miss often, and words take time."""

    def __init__(self, kind: str, bad: np.ndarray, words: Callable[[], str], cause: str = "") -> None:
        super().__init__(kind, "", int(bad.argmax()), cause)
        self.bad = bad
        self.words = words


class Bytes:
    """A flat run of bytes, seen as units of 1, 2, 4, 8 or 16 bytes."""

    def __init__(self, data: np.ndarray) -> None:
        self.data = data
        self._views: dict[int, np.ndarray] = {1: data}

    def units(self, size: int) -> np.ndarray:
        view = self._views.get(size)
        if view is None:
            whole = len(self.data) // size * size
            view = self._views[size] = self.data[:whole].view(UNIT[size])
        return view


GRAIN = 4
"""Bytes that Seen keeps together."""


class Seen:
    """Which parts of a buffer a launch "reads", "writes", and "changes" by atomics: an entry for what it does."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.parts: dict[str, np.ndarray] = {}

    def note(self, kind: str, unit: np.ndarray, size: int) -> None:
        """It does that to these units of `size` bytes."""
        act = self.parts.get(kind)
        if act is None:
            act = self.parts[kind] = np.zeros(-(-self.size // GRAIN), bool)
        if size > GRAIN:
            act[(unit[:, None] * (size // GRAIN) + np.arange(size // GRAIN)).ravel()] = True
        else:
            act[unit * size // GRAIN] = True


@dataclass(eq=False)
class Buffer:
    """One allocation in global memory. `label` is how messages call the array in it: "C (float32, shape (64, 64))";
    `first` is where that array begins, in bytes, and `elements` how many it has. `written`: which bytes anybody wrote;
    None where all count as written. `lost`: a cause of a hazard, where nobody may touch it; then it has no bytes.
    `seen`: what a launch touches, if anybody wants to know. `numbers`: its elements are known to be numbers, and not
    structs, which have bytes between their members."""

    base: int
    memory: Bytes
    label: str
    itemsize: int
    first: int = 0
    elements: int = 0
    written: Bytes | None = None
    lost: str = ""
    seen: Seen | None = None
    numbers: bool = False

    @property
    def size(self) -> int:
        return len(self.memory.data)

    def element(self, offset: int) -> str:
        """The place of a byte in words: "element 7 of C (float32, shape (64, 64))"."""
        return f"element {(offset - self.first) // self.itemsize} of {self.label}"

    def byte(self, offset: int) -> str:
        """The same of one of its bytes."""
        inside = (offset - self.first) % self.itemsize
        return f"byte {inside} of " * (self.itemsize > 1) + self.element(offset)


class GlobalMemory:
    """The arrays of one launch, and the module's own __device__ and __constant__ variables."""

    def __init__(self, buffers: list[Buffer], reachable: dict[int, list[Buffer]]) -> None:
        """`reachable`: for an instruction the only buffers that its addresses may name, where that is known."""
        self.buffers = buffers
        self.reachable = reachable
        self._last: dict[int, Buffer] = {}  # by instruction: the buffer it touched last

    def find(self, address: int, among: list[Buffer] | None = None) -> Buffer | None:
        among = self.buffers if among is None else among
        return next((b for b in among if b.base <= address < b.base + b.size), None)

    def locate(
        self, addresses: np.ndarray, size: int, pc: int, writes: bool = False
    ) -> tuple[Buffer, np.ndarray] | None:
        """The buffer that holds all these accesses (uint64), and their unit indices in it; None: they touch several.

        Raises Miss for bad accesses; `writes` is for its words.
        """
        buffer = self._last.get(pc)
        offsets = None if buffer is None else self._inside(buffer, addresses, size)
        if buffer is None or offsets is None:
            among = self.reachable.get(pc, self.buffers)
            buffer = self.find(int(addresses[0]), among)
            offsets = None if buffer is None else self._inside(buffer, addresses, size)
            if buffer is None or offsets is None:
                meant = among[0] if pc in self.reachable and len(among) == 1 else None
                self._explain(addresses, size, among, meant, writes)
                return None
            self._last[pc] = buffer
        return buffer, self._aligned(offsets, size, addresses)

    def parts(self, addresses: np.ndarray, pc: int) -> list[np.ndarray]:
        """Positions of the addresses in each buffer."""
        among = self.reachable.get(pc, self.buffers)
        inside = (addresses - np.uint64(b.base) < np.uint64(b.size) for b in among)
        return [at for at in map(np.flatnonzero, inside) if len(at)]

    def _inside(self, buffer: Buffer, addresses: np.ndarray, size: int) -> np.ndarray | None:
        """How far behind its begin they lie, if all lie in it."""
        offsets = addresses - np.uint64(buffer.base)
        return offsets if buffer.size >= size and offsets.max() <= buffer.size - size else None

    def _aligned(self, offsets: np.ndarray, size: int, addresses: np.ndarray) -> np.ndarray:
        """The units, in the place of these offsets."""
        if size == 1:
            return offsets.view(np.int64)
        if int(np.bitwise_or.reduce(addresses)) & (size - 1):
            bad = (addresses & np.uint64(size - 1)) != 0
            raise Miss("misaligned", bad, lambda: self._misaligned(int(addresses[bad.argmax()]), size))
        offsets >>= np.uint64(size.bit_length() - 1)
        return offsets.view(np.int64)

    def _misaligned(self, address: int, size: int) -> str:
        buffer = self.find(address)
        place = (
            f"byte {address - buffer.base - buffer.first} of {buffer.label}"
            if buffer
            else f"address {address:#x}"
        )
        return f"an access of {in_bytes(size)} at {place}; the address must be a multiple of {size}"

    def _explain(
        self, addresses: np.ndarray, size: int, among: list[Buffer], meant: Buffer | None, writes: bool
    ) -> None:
        """Raise Miss for accesses that lie in no array they may reach; return if there are none. `meant`: the array in
        which they should lie, where that is known."""
        inside = np.zeros(addresses.shape, bool)
        for buffer in among:
            if buffer.size >= size:
                inside |= addresses - np.uint64(buffer.base) <= np.uint64(buffer.size - size)
        if inside.all():
            return
        address = int(addresses[inside.argmin()])
        near = meant or self._nearest(address, among)
        if near is None or address < 4096:
            where = "a null pointer" if address < 4096 else f"address {address:#x}, which is in no array"
            raise Miss(
                "out-of-bounds", ~inside, lambda: f"an access of {in_bytes(size)} through {where}", "no-array"
            )
        has = LOST.get(near.lost) or f"which has {near.elements} elements{_overflow(near, address)}"
        raise Miss(
            "out-of-bounds",
            ~inside,
            lambda: f"an access of {in_bytes(size)} at {near.element(address - near.base)}, {has}",
            near.lost or ("write-beyond-array" if writes else "read-beyond-array"),
        )

    def _nearest(self, address: int, among: list[Buffer]) -> Buffer | None:
        def distance(buffer: Buffer) -> int:
            return max(buffer.base - address, address - buffer.base - buffer.size)

        nearest = min(among, key=distance, default=None)
        return nearest if nearest and distance(nearest) <= SPACING // 2 else None


def _overflow(near: Buffer, address: int) -> str:
    """Of an element so far from its array that an index lost its upper bits: what that index was meant to be."""
    number = (address - near.base - near.first) // near.itemsize
    if abs(number) > FAR[1]:
        return ""
    times = round(number / 2**32)
    meant = number - times * 2**32
    if times and 0 <= meant < near.elements:
        words = f"That is element {meant}, {abs(times)} * 2^32 too {'high' if times > 0 else 'low'}: 32 bits overflowed"
    elif times == 1 and -near.elements <= meant < 0:
        words = f"That is {meant} + 2^32: an unsigned index in 32 bits went below 0"
    elif abs(number) > FAR[0]:
        words = "So far from its array an index has lost its upper bits: 32 bits overflowed"
    else:
        return ""
    return f". {words}. Compute the index in 64 bits, such as size_t(row) * columns, and signed if it may be below 0"


class Array(Protocol):
    """Where a shared array is (`Variable`, ptx/program.py); one of 0 bytes is dynamic."""

    @property
    def offset(self) -> int: ...

    @property
    def size(self) -> int: ...


class Indexed(Protocol):
    """The shape of an array (`Shape`, compiler/shared_arrays.py)."""

    @property
    def element(self) -> int:
        """Bytes of an element."""

    def index(self, offset: int) -> str:
        """`[1][5]` for a byte of the array."""


class SharedMemory:
    """The shared memory of all resident blocks, block after block; it starts as NaN bits."""

    written = seen = None  # its shadow knows

    def __init__(
        self,
        blocks: int,
        size: int,
        names: list[tuple[int, int, str]],
        shapes: Callable[[], Mapping[str, Indexed]] = dict,
        reserved: int = 0,
    ) -> None:
        """`names`: where each array begins, its bytes and its name. `shapes()`: of those whose shape is known.
        `reserved`: how many of the bytes, the first ones, are the system's; messages leave them out."""
        self.size, self.reserved = size, reserved
        self.stride = -(-max(size, 1) // 16) * 16
        self.memory = Bytes(np.full(blocks * self.stride, 0xFF, np.uint8))
        self.names, self.shapes = names, shapes
        self.mbarriers: np.ndarray | None = None  # which 8 bytes are an mbarrier, once there is one

    def hold(self, unit: np.ndarray, mbarrier: bool) -> None:
        """From now on these units of 8 bytes are mbarriers, or no longer."""
        if self.mbarriers is None:
            self.mbarriers = np.zeros(len(self.memory.data) // 8, bool)
        self.mbarriers[unit] = mbarrier

    def check_data(self, unit: np.ndarray, size: int, lane: int | None = None) -> None:
        """Raises Fault where one of these units of `size` bytes lies on an mbarrier. `lane`: whose they are, if all are
        one lane's."""
        if self.mbarriers is None:
            return
        first = unit * size // 8
        held = self.mbarriers[first] | self.mbarriers[first + max(size // 8, 1) - 1]
        if held.any():
            at = int(np.flatnonzero(held)[0])
            text = (
                f"an access of {in_bytes(size)} at {self.describe(int(unit[at]) * size % self.stride)}, where an "
                "mbarrier lies. Only mbarrier instructions may use that place until mbarrier.inval: what a store "
                "leaves of the phase, and what a load reads, is undefined"
            )
            raise Fault("mbarrier", text, at if lane is None else lane, "mbarrier-as-data")

    def locate(
        self, addresses: np.ndarray, size: int, block_base: np.ndarray, array: Array | None = None
    ) -> np.ndarray:
        """Unit indices of accesses at these offsets (int64) within each lane's block. `array`: the only one that they
        may reach, where that is known. Raises Miss."""
        low, high = (0, self.size) if array is None else (array.offset, array.offset + array.size)
        high = high if high > low else self.size  # dynamic shared memory has what is left
        if addresses.max() > high - size or addresses.min() < low:
            bad = (addresses > high - size) | (addresses < low)
            address = int(addresses[bad.argmax()])
            if array and 0 <= address <= self.size - size:
                words = partial(self._in_another, array, address, size)
                raise Miss("out-of-bounds", bad, words, "beyond-shared-array")
            raise Miss("out-of-bounds", bad, lambda: self._outside(address, size), "beyond-shared-memory")
        if size > 1 and int(np.bitwise_or.reduce(addresses)) & (size - 1):
            bad = (addresses & (size - 1)) != 0
            raise Miss(
                "misaligned",
                bad,
                lambda: (
                    f"an access of {in_bytes(size)} at {self._both(int(addresses[bad.argmax()]))}; "
                    f"the address must be a multiple of {size}"
                ),
            )
        return (block_base + addresses) >> (size.bit_length() - 1)

    def _outside(self, address: int, size: int) -> str:
        offset = (address + 2**31) % 2**32 - 2**31  # addresses have 32 bits: -4 reads as 2**32 - 4
        return (
            f"an access of {in_bytes(size)} at byte {offset - self.reserved} of shared memory{self._near(offset)}, "
            f"of which the block has {in_bytes(self.size - self.reserved)}"
        )

    def _in_another(self, array: Array, offset: int, size: int) -> str:
        """Of an access that runs out of its array."""
        name = next(
            name for start, length, name in self.names if (start, length) == (array.offset, array.size)
        )
        end = "before the beginning" if offset < array.offset else "past the end"
        return (
            f"an access of {size} bytes at {self._within(name, offset - array.offset)}, {end} of {name} "
            f"({array.size or self.size - array.offset} bytes), where {self.describe(offset)} lies"
        )

    def describe(self, offset: int) -> str:
        """A byte of shared memory in words: "tile[4]", "byte 2 of tile[4]", "byte 18 of shared memory"."""
        for start, size, name in self.names:
            if start <= offset and (offset < start + size or not size):
                return self._within(name, offset - start)
        if offset < self.reserved:
            return "the memory that cooperative groups work with"
        return f"byte {offset - self.reserved} of shared memory"

    def _both(self, offset: int) -> str:
        """The same, and which byte of shared memory that is."""
        place, byte = self.describe(offset), f"byte {offset - self.reserved} of shared memory"
        return place if place == byte else f"{place}, {byte}"

    def _within(self, name: str, offset: int) -> str:
        shape = self.shapes().get(name)
        if shape is None:
            return f"byte {offset} of shared array {name}"
        inside = offset % shape.element
        return f"byte {inside} of " * bool(inside) + name + shape.index(offset)

    def _near(self, offset: int) -> str:
        if not self.size:
            return " (the launch gave none: shared_mem=..., in bytes)"
        before = [entry for entry in self.names if entry[0] <= offset]
        if not before or offset < self.size:
            return ""
        start, _, name = max(before)
        place = f"{self._within(name, offset - start)}, " if name in self.shapes() else ""
        return f" ({place}past the end of {name})"


class LocalMemory:
    """Each lane's private memory: local arrays, and parameters of device functions."""

    seen = None  # nobody else can touch it

    def __init__(self, lanes: int, size: int) -> None:
        self.size = size
        self.stride = -(-max(size, 1) // 16) * 16
        self.memory = Bytes(np.full(lanes * self.stride, 0xFF, np.uint8))
        self.written = Bytes(np.zeros(lanes * self.stride if size else 0, np.uint8))

    def locate(self, addresses: np.ndarray, size: int, lanes: np.ndarray) -> np.ndarray:
        """Unit indices of accesses at these offsets (int64) within each lane's local memory. Raises Miss."""
        outside = (addresses > self.size - size) | (addresses < 0)
        if outside.any():
            raise Miss(
                "out-of-bounds",
                outside,
                lambda: (
                    f"an access of {in_bytes(size)} at byte {int(addresses[outside.argmax()])} of a thread's local "
                    f"arrays, which have {in_bytes(self.size)}"
                ),
                "beyond-local-array",
            )
        if (bad := (addresses & (size - 1)) != 0).any():
            raise Miss(
                "misaligned",
                bad,
                lambda: (
                    f"an access of {in_bytes(size)} at byte {int(addresses[bad.argmax()])} of a local array; "
                    f"the address must be a multiple of {size}"
                ),
            )
        return (lanes * self.stride + addresses) >> (size.bit_length() - 1)

    def write(self, unit: np.ndarray, size: int, values: np.ndarray) -> None:
        self.memory.units(size)[unit] = values
        note_written(self.written, unit, size)


def not_written(written: Bytes, unit: np.ndarray, size: int) -> np.ndarray | None:
    """Which bytes of these units nobody has written: (units, size). None: all are written."""
    flags = written.units(size)[unit]
    words = flags.view(np.uint64) if size == 16 else flags
    if (words == ALL_WRITTEN[words.itemsize]).all():
        return None
    return flags.view(np.uint8).reshape(-1, size) == 0


def beside_written(written: Bytes, unit: np.ndarray, size: int) -> np.ndarray:
    """Which of these units lie in 8 bytes of which some were written, as what is between two members of a struct."""
    words = written.units(8)
    return (
        words[np.minimum(unit * size // 8, len(words) - 1)] != 0 if len(words) else np.zeros(len(unit), bool)
    )


def note_written(written: Bytes, unit: np.ndarray, size: int) -> None:
    """From now on these units are written."""
    written.units(size)[unit] = np.full(1, 1, np.uint8).repeat(size).view(UNIT[size])[0]
