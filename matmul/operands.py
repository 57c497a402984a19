"""Operands as the kernels read them."""

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.lib.stride_tricks import as_strided

from cupy_or_sim import device
from cupy_or_sim.kernel import Array
from cupy_or_sim.tensor_maps import encoded
from ptxsim import TensorMap

from .places import begin, owner

TYPES = {"float16": "__half", "bfloat16": "__nv_bfloat16", "uint16": "__nv_bfloat16", "float32": "float"}
"""dtype of an array -> type in the kernel. NumPy has no bfloat16: it is ml_dtypes' type of that name where that is
installed (CuPy 14 takes it), or its bits as uint16."""
ACTIVATIONS = {None: 0, "relu": 1, "gelu": 2}
MOST_KNOWN = 256
"""Maps that are kept of each form."""
Box = tuple[int, int]
"""Rows and columns that the copy engine takes at once."""


@cache
def type_of(dtype: np.dtype) -> str | None:
    """Its type in the kernel, if it has one. Kept: NumPy takes microseconds to make up the name of a dtype."""
    return TYPES.get(dtype.name) if dtype.isnative else None


class Operand:
    """A, or B.T: `rows` x K, without gaps along K or along the rows. In memory these are `runs` of `width` elements,
    `apart` elements from one to the next. Of a batch there are `count`, `next` elements from one to the next: 0 where
    all are the same."""

    def __init__(self, array: Array) -> None:
        self.array, self.dtype, self.itemsize = array, array.dtype, array.itemsize
        (self.rows, self.K), self.count = array.shape[-2:], array.shape[0] if array.ndim == 3 else 1
        *batch, down, along = (stride // array.itemsize for stride in array.strides)
        self.next = batch[0] if self.count > 1 else 0
        self.along_k = along == 1 or (self.K <= 1 and down != 1)
        ways = ((self.K, self.rows, down), (self.rows, self.K, along))
        self.width, self.runs, self.apart = ways[not self.along_k]
        self.chunk = 16 // self.itemsize  # elements in 16 bytes
        if self.runs <= 1:  # to the next there is no way
            self.apart = -(-self.width // self.chunk) * self.chunk

    def in_place(self, boxes: bool) -> bool:
        """Whether a kernel reads it where it lies: its runs begin at multiples of 16 bytes. The copy engine (`boxes`)
        reads no runs that lie over each other; the threads, 16 bytes at a time, none that end within these."""
        if self.array.size == 0:
            return True
        fits = self.apart >= self.width if boxes else self.width % self.chunk == 0
        return fits and (self.apart | self.next) % self.chunk == 0 and begin(self.array) % 16 == 0

    def stride(self, boxes: bool) -> int:
        """From one run to the next in what the kernel reads; in a copy, whole lines of 128 bytes."""
        line = 8 * self.chunk
        return self.apart if self.in_place(boxes) else -(-self.width // line) * line

    @property
    def different(self) -> int:
        """Those of a batch that a copy has."""
        return self.count if self.next else 1

    def step(self, boxes: bool) -> int:
        """From one of a batch to the next in what the kernel reads."""
        return self.next if self.in_place(boxes) or not self.next else self.runs * self.stride(boxes)

    @property
    def word(self) -> int:
        """Bytes of the widest word at whose multiples all runs begin and end: 8, 4 or 2."""
        places = begin(self.array) | self.itemsize * (self.width | self.apart | self.next)
        return next(size for size in (8, 4, 2) if places % size == 0)


def boxer(rows: int, width: int, stride: int, box: Box) -> Callable[[Array], TensorMap | ctypes.Array]:
    """What makes maps of so many rows of 16-bit numbers, which begin `stride` of them apart in the memory of an array
    of `cp`, in such boxes; a box's row is the swizzle's, too."""
    if device.backend() == "cupy":
        return _kept(rows, width, stride, box)

    def simulated(array: Array) -> TensorMap:
        whole = owner(array)
        memory = whole if whole.flags.c_contiguous else whole.T
        form = np.ndarray((rows, width), np.uint16, memory, begin(array), (2 * stride, 2))
        return TensorMap(form, box, 2 * box[1])

    return simulated


def _kept(rows: int, width: int, stride: int, box: Box) -> Callable[[Array], ctypes.Array]:
    """A map holds an address and sizes: kept here, it keeps no array, and is right for whatever lies there later."""
    form = as_strided(np.zeros(1, np.uint16), (rows, width), (2 * stride, 2))  # is never read
    made, known = TensorMap(form, box, 2 * box[1]), dict[int, ctypes.Array]()

    def at(array: Array) -> ctypes.Array:
        place = array.data.ptr
        found = known.get(place)
        if found is None:
            if len(known) >= MOST_KNOWN:
                known.clear()
            found = known[place] = ctypes.create_string_buffer(encoded(made, place).tobytes())
        return found

    return at
