"""Tensor maps: what the copy engine of a Hopper GPU is told of a matrix before a launch. On a GPU its driver makes them
(CUDA Driver API, "cuTensorMapEncodeTiled")."""

import ctypes
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ptxsim import TensorMap

from .kernel import Array, Kernel

ROW = 128
"""Bytes of a row of the boxes that a `Gemm` copies, and of their swizzle."""
ROWS = 64
_WHOLE = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")
KINDS = {name: name.upper() for name in (*_WHOLE, "float16", "float32", "float64")}
KINDS |= {"int8": "UINT8", "int16": "UINT16"}
"""Of an array's numbers the driver's name; a map has no narrow numbers with a sign."""


def tensor_map(array: Array, box: Sequence[int], swizzle: int = ROW) -> TensorMap | np.void:
    """The argument for a parameter `const __grid_constant__ TensorMap` (128 bytes).

    `array` is CuPy's or NumPy's, of 1 to 5 dimensions; a copy takes `box` elements of it, a number for each dimension
    (at most 256). In shared memory chunks of 16 bytes are exchanged in rows of `swizzle` bytes: 0, 32, 64 or 128 (PTX
    ISA, "Swizzling Modes"). Raises ValueError for what the copy engine cannot do.
    """
    made = TensorMap(array, box, swizzle)
    if isinstance(array, np.ndarray):
        return made
    return encoded(made, array.data.ptr)


def box_of(dtype: str) -> tuple[int, int]:
    """Rows and columns of the boxes that a `Gemm` copies: 64 rows of 128 bytes."""
    return ROWS, ROW // np.dtype(dtype).itemsize


def mapped(kernel: Kernel) -> list[str]:
    """The names of the parameters of a kernel that are tensor maps."""
    declared = re.search(rf"\b{re.escape(kernel.name)}\s*\(([^)]*)\)", kernel.code)
    return re.findall(r"\bTensorMap\s+(\w+)", declared[1]) if declared else []


def encoded(made: TensorMap, place: int) -> np.void:
    """The 128 bytes of a map of an array that lies at this address. Raises RuntimeError when the driver refuses."""
    from cuda.bindings import driver

    layout = made.at(place)
    kind = KINDS.get(made.array.dtype.name)
    if kind is None:
        raise ValueError(f"the array is {made.array.dtype}; a tensor map takes {', '.join(KINDS)}")
    rank = len(layout.shape)
    strides = layout.strides[1:] or (layout.itemsize,)  # of one dimension there is none, and the list has one
    arguments = (
        getattr(driver.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{kind}"),
        rank,
        place,
        [driver.cuuint64_t(size) for size in layout.shape],
        [driver.cuuint64_t(stride) for stride in strides],
        [driver.cuuint32_t(size) for size in layout.box],
        [driver.cuuint32_t(1)] * rank,
        driver.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
        getattr(
            driver.CUtensorMapSwizzle,
            f"CU_TENSOR_MAP_SWIZZLE_{f'{layout.swizzle}B' if layout.swizzle else 'NONE'}",
        ),
        # L2 fetches what all rows begin at multiples of: more of it would be of no use where they do not.
        getattr(
            driver.CUtensorMapL2promotion,
            f"CU_TENSOR_MAP_L2_PROMOTION_L2_{256 if all(stride % 256 == 0 for stride in strides) else 128}B",
        ),
        driver.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
    )
    error, result = driver.cuTensorMapEncodeTiled(*arguments)
    if error == driver.CUresult.CUDA_ERROR_INVALID_CONTEXT:  # the first call of a thread
        import cupy

        cupy.cuda.Device().use()
        error, result = driver.cuTensorMapEncodeTiled(*arguments)
    if error != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"the driver refuses this tensor map: {error.name}")
    # For the simulator, which cannot read the bytes.
    with_made = np.dtype((np.void, TensorMap.nbytes), metadata={"made": made})
    return np.frombuffer(ctypes.string_at(int(result.getPtr()), TensorMap.nbytes), with_made)[0]


def made_from(argument: object) -> TensorMap | None:
    """What `encoded` was given, if this is its result."""
    metadata: Mapping[str, Any] | None = argument.dtype.metadata if isinstance(argument, np.void) else None
    return metadata.get("made") if metadata else None
