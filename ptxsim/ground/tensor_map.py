"""Tensor maps: what the copy engine knows of an array before a launch (PTX ISA, "Tensors", "Swizzling Modes").

A GPU's driver makes 128 bytes that only its hardware can read. Here the map is made when the kernel is launched, in
bytes of our own, because only then the array has an address.
"""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import prod

import numpy as np

BYTES = 128
SWIZZLES = (0, 32, 64, 128)
MOST_DIMENSIONS, MOST_BOX = 5, 256
_FORM = np.dtype(
    {
        "names": ["magic", "address", "rank", "itemsize", "swizzle", "shape", "box", "strides", "kind"],
        "formats": ["S8", "u8", "u2", "u2", "u4", "5u4", "5u4", "5u8", "S2"],
        "itemsize": BYTES,
    }
)
_MAGIC = b"tensormp"


@dataclass(frozen=True)
class Layout:
    """An array as the copy engine sees it: its address, `shape` in elements and `strides` in bytes, the contiguous
    dimension first; the `box` that one copy takes, and the swizzle in shared memory (bytes of a row; 0: none).
    `kind`: of its elements, as NumPy calls it, for example "f2"."""

    address: int
    itemsize: int
    swizzle: int
    shape: tuple[int, ...]
    box: tuple[int, ...]
    strides: tuple[int, ...]
    kind: str

    @property
    def box_bytes(self) -> int:
        return prod(self.box) * self.itemsize

    def place(self, coordinates: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """The elements of the box that begins at these coordinates, in the order in which they lie in shared memory:
        their bytes from the array's address on, and which of them are in the array."""
        start, inside = 0, np.ones(1, bool)
        for first, size, box, stride in zip(coordinates, self.shape, self.box, self.strides, strict=True):
            start += first * stride
            index = first + np.arange(box)
            inside = (((index >= 0) & (index < size))[:, None] & inside).ravel()
        return start + _offsets(self.box, self.strides), inside

    def swizzled(self, chunks: np.ndarray) -> np.ndarray:
        """Where chunks of 16 bytes (numbers in shared memory) lie in truth: three, two or one bits of the chunk's place
        in its row of 128 bytes are changed by those of the row."""
        return chunks ^ (chunks >> 3 & (self.swizzle // 16 - 1 if self.swizzle else 0))

    def pack(self) -> np.ndarray:
        """As 128 bytes."""
        packed = np.zeros(1, _FORM)
        packed[0]["magic"] = _MAGIC
        for name in ("address", "itemsize", "swizzle"):
            packed[0][name] = getattr(self, name)
        packed[0]["kind"] = self.kind.encode()
        packed[0]["rank"] = rank = len(self.shape)
        for name in ("shape", "box", "strides"):
            packed[0][name][:rank] = getattr(self, name)
        return packed.view(np.uint8)

    @classmethod
    def unpack(cls, data: np.ndarray) -> "Layout | None":
        """From 128 bytes; None: this is no tensor map."""
        packed = data.view(_FORM)[0]
        if packed["magic"] != _MAGIC:
            return None
        rank = int(packed["rank"])
        address, itemsize, swizzle = (int(packed[name]) for name in ("address", "itemsize", "swizzle"))
        shape, box, strides = (tuple(packed[name][:rank].tolist()) for name in ("shape", "box", "strides"))
        return cls(address, itemsize, swizzle, shape, box, strides, packed["kind"].decode())


@cache
def _offsets(box: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """The bytes from a box's first element on."""
    offset = np.zeros(1, np.int64)
    for size, stride in zip(box, strides, strict=True):
        offset = ((np.arange(size) * stride)[:, None] + offset).ravel()
    return offset


def _order(array: np.ndarray) -> list[int]:
    """The dimensions of an array, the contiguous one first, if that is the last or the first one."""
    forward = list(range(array.ndim))
    return forward if array.strides[-1] != array.itemsize == array.strides[0] else forward[::-1]


class TensorMap:
    """An argument for a parameter of type `CUtensorMap`: an array, and the box that one copy takes of it.

    `box` has a number for each dimension of the array, in the array's order. A copy's coordinates begin with the
    contiguous one, which is the last dimension or the first, and go on from there. Raises ValueError for what
    a GPU refuses.
    """

    nbytes = BYTES

    def __init__(self, array: np.ndarray, box: Sequence[int], swizzle: int = 0) -> None:
        box = tuple(map(operator.index, box))
        if not 1 <= array.ndim <= MOST_DIMENSIONS or len(box) != array.ndim:
            raise ValueError(
                f"the array has {array.ndim} dimensions and the box {len(box)} numbers; a tensor map has 1 to "
                f"{MOST_DIMENSIONS} dimensions, and a number of the box for each"
            )
        order = _order(array)
        inner = order[0]
        if array.strides[inner] != array.itemsize:
            raise ValueError(f"one dimension must be contiguous; the strides are {array.strides} bytes")
        if wrong := [array.strides[i] for i in order[1:] if array.strides[i] % 16]:
            raise ValueError(f"rows must begin at multiples of 16 bytes; they are {wrong[0]} bytes apart")
        if wrong := [size for size in box if not 1 <= size <= MOST_BOX]:
            raise ValueError(f"the box has {wrong[0]} elements in one dimension; allowed are 1 to {MOST_BOX}")
        row = box[inner] * array.itemsize
        if row % 16:
            raise ValueError(f"a row of the box has {row} bytes; it must be a multiple of 16")
        if swizzle not in SWIZZLES or (swizzle and row > swizzle):
            raise ValueError(
                f"swizzle is {swizzle}, and a row of the box has {row} bytes; allowed are {SWIZZLES}, and rows of at "
                "most so many bytes"
            )
        self.array, self.box, self.swizzle = array, box, swizzle
        self._shape, self._box, self._strides = (
            tuple(each[i] for i in order) for each in (array.shape, box, array.strides)
        )

    def at(self, address: int) -> Layout:
        """The map of the array when it lies at this address."""
        itemsize, kind = self.array.itemsize, self.array.dtype.str[1:]
        return Layout(address, itemsize, self.swizzle, self._shape, self._box, self._strides, kind)
