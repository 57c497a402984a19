"""Tensor maps for a GPU: its driver makes them (CUDA Driver API, "cuTensorMapEncodeTiled")."""

from __future__ import annotations

import ctypes
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .. import device
from ..simulator import TensorMap
from ..simulator.tensor_map import BYTES
from .operands import address

KINDS = {
    "uint8": "UINT8",
    "int8": "UINT8",
    "uint16": "UINT16",
    "int16": "UINT16",
    "uint32": "UINT32",
    "int32": "INT32",
    "uint64": "UINT64",
    "int64": "INT64",
    "float16": "FLOAT16",
    "float32": "FLOAT32",
    "float64": "FLOAT64",
}


def encoded(made: TensorMap, place: int) -> np.void:
    """The 128 bytes of a map of an array that lies at this address. Raises RuntimeError when the driver refuses."""
    from cuda.bindings import driver

    layout = made.at(place)
    kind = KINDS.get(made.array.dtype.name)
    if kind is None:
        raise ValueError(f"the array is {made.array.dtype}; a tensor map takes {', '.join(KINDS)}")
    rank = len(layout.shape)
    strides = layout.strides[1:] or (layout.itemsize,)  # of one dimension there is none, and the list has one
    error, result = driver.cuTensorMapEncodeTiled(
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
        driver.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
        driver.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
    )
    if error != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"the driver refuses this tensor map: {error.name}")
    kind = np.dtype(
        (np.void, BYTES), metadata={"made": made}
    )  # for the simulator, which cannot read what follows
    return np.frombuffer(ctypes.string_at(int(result.getPtr()), BYTES), kind)[0]


def made_from(argument: object) -> TensorMap | None:
    """What `encoded` was given, if this is its result."""
    metadata = argument.dtype.metadata if isinstance(argument, np.void) else None
    return (metadata or {}).get("made")


def boxed(array: object, rows: int, width: int) -> TensorMap | np.void:
    """A map of this many rows of 16-bit numbers, as they lie in the memory of an array of `cp`, in boxes of 64 x 64."""
    if device.backend() == "cupy":
        return _at(address(array), rows, width)
    flat = (array if array.flags.c_contiguous else array.T).reshape(-1)
    return TensorMap(flat.view(np.uint16).reshape(rows, width), (64, 64), 128)


@lru_cache(maxsize=1024)
def _at(place: int, rows: int, width: int) -> np.void:
    """A map holds an address and sizes: kept here, it keeps no array, and is right for whatever lies there later."""
    form = as_strided(np.zeros(1, np.uint16), (rows, width), (2 * width, 2))  # is never read
    return encoded(TensorMap(form, (64, 64), 128), place)
