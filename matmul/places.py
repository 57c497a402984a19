"""Where an array lies: its address, how far it reaches, and whether kernels read it there."""

import numpy as np

from cupy_or_sim import device
from cupy_or_sim.kernel import Array

MOST_APART = 2**31 - 1
"""Elements from one run of an array to the next: kernels count those of C in 32 bits."""


def address(array: Array) -> int:
    """Of its first element."""
    return array.data.ptr if device.backend() == "cupy" else array.ctypes.data


def begin(array: Array) -> int:
    """Where its first element lies, in bytes. For the simulator, which puts an allocation where a GPU would, that is
    within the allocation: NumPy in a browser aligns to 8 bytes alone."""
    if device.backend() == "cupy":
        return address(array)
    return address(array) - address(owner(array))


def owner(array: np.ndarray) -> np.ndarray:
    """The array of which it is a view, or itself."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def straight(array: Array) -> bool:
    """Whether kernels read and write it where it lies: one of its last two dimensions (of a vector: its only one) has
    no gaps, the other dimensions may have any stride."""
    size, inner = array.itemsize, array.strides[-2:]
    if any(stride % size for stride in array.strides) or any(
        abs(stride) > MOST_APART * size for stride in inner
    ):
        return False
    gapless = (count <= 1 or stride == size for count, stride in zip(array.shape[-2:], inner, strict=True))
    return any(gapless) and _reached(array)


def _reached(array: Array) -> bool:
    """Whether the simulator takes a view: it writes back what it was given, and sees the memory of whole arrays."""
    if device.backend() == "cupy":
        return True
    flags = owner(array).flags
    return array.flags.writeable and (flags.c_contiguous or flags.f_contiguous)


def span(array: Array) -> tuple[int, int]:
    """The bytes that it reaches over, counted from its first element: the first, and the one behind the last."""
    if array is None or array.size == 0:
        return 0, 0
    ways = [(count - 1) * stride for count, stride in zip(array.shape, array.strides, strict=True)]
    return sum(min(way, 0) for way in ways), sum(max(way, 0) for way in ways) + array.itemsize


def folded(array: Array) -> bool:
    """Whether elements lie over each other: with a stride of 0, or one that is shorter than what lies within it."""
    within = array.itemsize
    for stride, count in sorted(
        (abs(stride), count) for count, stride in zip(array.shape, array.strides, strict=True) if count > 1
    ):
        if stride < within:
            return array.size > 0
        within = stride * count
    return False


def shared(one: Array, other: Array) -> bool:
    """Whether two arrays have an element in common. Slices of one array may lie within each other and have none."""
    (a, b), (low, high), (other_low, other_high) = (address(one), address(other)), span(one), span(other)
    if not (one.size and other.size) or a + low >= b + other_high or b + other_low >= a + high:
        return False
    return bool(np.shares_memory(_form(one), _form(other)))


class _Form:
    """What NumPy has to know of an array of `cp` to tell where it lies. Nobody reads its elements."""

    def __init__(self, array: Array) -> None:
        place = {"shape": array.shape, "strides": array.strides, "typestr": array.dtype.str}
        self.__array_interface__ = {**place, "data": (address(array), True), "version": 3}


def _form(array: Array) -> np.ndarray:
    return np.asarray(_Form(array))
