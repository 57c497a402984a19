"""Tensor maps as the driver's cuTensorMapEncodeTiled makes them: what it refuses, and the map's 128 bytes."""

from __future__ import annotations

from itertools import pairwise

from ..ground.tensor_map import MOST_BOX, Layout

KINDS = ("u1", "u2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "b2", "f4", "f4", "f4")
"""Of elements, by the numbers of CUtensorMapDataType; b2 is bfloat16."""
SWIZZLES = (0, 32, 64, 128)
"""Bytes, by the numbers of CUtensorMapSwizzle."""


class Refused(ValueError):
    """The driver would not make this map."""


class NotSimulated(Refused):
    """It would, and the simulator cannot use it."""


def encode(
    kind: int, rank: int, address: int, interleave: int, swizzle: int, fill: int, lists: tuple[int, ...]
) -> bytes:
    """`lists`: five numbers each of the shape, the strides in bytes (the first is not used), the box, and the steps
    between elements. Raises Refused."""
    if kind >= len(KINDS):
        raise NotSimulated("elements of less than 8 bits")
    if interleave or swizzle >= len(SWIZZLES) or fill:
        raise NotSimulated("an interleaved layout, a swizzle of other atoms, or NaN beyond the array")
    shape, strides, box, steps = (lists[first : first + rank] for first in (0, 5, 10, 15))
    itemsize, row = int(KINDS[kind][1]), box[0] * int(KINDS[kind][1])
    if any(step != 1 for step in steps):
        raise NotSimulated("steps between elements other than 1")
    if address % 16 or any(stride % 16 or stride >= 2**40 for stride in strides[1:]):
        raise Refused("the address and the strides are multiples of 16 bytes")
    if not all(1 <= size <= 2**32 for size in shape) or not all(1 <= size <= MOST_BOX for size in box):
        raise Refused(f"a box has 1 to {MOST_BOX} elements in each dimension, an array 1 to 2^32")
    if row % 16 or (swizzle and row > SWIZZLES[swizzle]):
        raise Refused(f"a row of the box has {row} bytes: a multiple of 16, and no more than the swizzle")
    # nobody goes along a dimension of one element: CUTLASS gives 0 for a single batch
    gone = (stride for size, stride in zip(shape[1:], strides[1:], strict=True) if size > 1)
    if any(low > high for low, high in pairwise((shape[0] * itemsize, *gone))):
        raise Refused("each stride covers what the dimension before it needs")
    swizzled, apart = SWIZZLES[swizzle], (itemsize, *strides[1:])
    return Layout(address, itemsize, swizzled, shape, box, apart, KINDS[kind]).pack().tobytes()
