"""Tensor maps: what the copy engine of a Hopper GPU is told of a matrix before a launch."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from .simulator import TensorMap

ROW = 128
"""Bytes of a row of the boxes that a `Gemm` copies, and of their swizzle."""
ROWS = 64


def tensor_map(array: object, box: Sequence[int], swizzle: int = ROW) -> TensorMap | np.void:
    """The argument for a parameter `const __grid_constant__ TensorMap` (128 bytes).

    `array` is CuPy's or NumPy's, of 1 to 5 dimensions; a copy takes `box` elements of it, a number for each dimension
    (at most 256). In shared memory chunks of 16 bytes are exchanged in rows of `swizzle` bytes: 0, 32, 64 or 128 (PTX
    ISA, "Swizzling Modes"). Raises ValueError for what the copy engine cannot do.
    """
    made = TensorMap(array, box, swizzle)
    if isinstance(array, np.ndarray):
        return made
    from .backend.tensor_maps import encoded

    return encoded(made, array.data.ptr)


def box_of(dtype: str) -> tuple[int, int]:
    """Rows and columns of the boxes that a `Gemm` copies: 64 rows of 128 bytes."""
    return ROWS, ROW // np.dtype(dtype).itemsize


def mapped(kernel) -> list[str]:
    """The names of the parameters of a kernel that are tensor maps."""
    declared = re.search(rf"\b{re.escape(kernel.name)}\s*\(([^)]*)\)", kernel.code)
    return re.findall(r"\bTensorMap\s+(\w+)", declared[1]) if declared else []
