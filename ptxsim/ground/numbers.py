"""Types of numbers in C++ and in NumPy: which array a pointer can have, which number a parameter.

A GPU takes any bytes. An array of int64 that a kernel has as `int*` is read as other numbers, without a word; here it
is refused."""

import re

import numpy as np

_SIZES = {"char": 1, "short": 2, "int": 4, "long": 8}
_OF_C = {"float": "float32", "double": "float64", "half": "float16", "__half": "float16", "bool": "bool"}
_OF_C |= {"size_t": "uint64", "uchar": "uint8", "ushort": "uint16", "uint": "uint32"}
_FIXED = re.compile(r"u?int(?:8|16|32|64)_t")
RAW = ("char", "unsigned char", "uint8_t", "uchar")
"""Types that stand for bytes of anything."""


def number_of(written: str) -> np.dtype | None:
    """NumPy's type for a number of C++: `unsigned int` is uint32. None for what is no number."""
    if _FIXED.fullmatch(written):
        return np.dtype(written.removesuffix("_t"))
    if written in _OF_C:
        return np.dtype(_OF_C[written])
    words = written.split()
    if not words or not {*words} <= {"signed", "unsigned", *_SIZES}:
        return None
    size = next((_SIZES[word] for word in ("char", "short", "long") if word in words), 4)
    return np.dtype(f"{'u' * ('unsigned' in words)}int{8 * size}")


def misread(array: np.dtype, written: str) -> bool:
    """Whether a kernel with a pointer to this type of C++ would have other numbers than the array's.

    Bytes (`char*`) and words (`unsigned*`) may be of floats, and words of their size be floats; a sign makes no
    difference; of complex numbers each part may be read.
    """
    number = number_of(written)
    if number is None or written in RAW or array.kind == "V" or array == number:
        return False
    if array.kind == "f" and number.kind == "u":  # words of anything, too
        return False
    if array.kind == "u" and number.kind == "f":  # the bits of floats
        return array.itemsize != number.itemsize
    if array.kind in "iu" and number.kind in "iu":
        return array.itemsize != number.itemsize
    if array.kind == "c" and number.kind == "f":
        return array.itemsize != 2 * number.itemsize
    return not (array == np.bool_ and number.itemsize == 1) and not (
        number == np.bool_ and array.itemsize == 1
    )


def whole(kind: str) -> bool:
    """Whether a parameter of this type in PTX is a whole number; "b32" says nothing."""
    return kind[:1] in ("u", "s")


def floating(kind: str) -> bool:
    return kind[:1] == "f"


def may_be(number: np.dtype, kind: str) -> bool:
    """Whether a number may be for a parameter of this type in PTX."""
    return number.kind in "biu" if whole(kind) else number.kind == "f" if floating(kind) else True
