"""cuBLASLt's own choices for a product: what its heuristic names, each as a call. Through ctypes, with no header: the
numbers are those of cublasLt.h and library_types.h of CUDA 13."""

import ctypes
from collections.abc import Callable
from pathlib import Path

import numpy as np

from cupy_or_sim import device
from cupy_or_sim.kernel import Array

CHOICES, WORKSPACE = 16, 64 << 20
"""How many are asked for; the bytes that each may use."""
TYPES = {"float16": 2, "bfloat16": 14, "float32": 0}
"""cudaDataType: CUDA_R_16F and so on."""
COMPUTE_32F, TRANSPOSE_A, TRANSPOSE_B, MOST_WORKSPACE, TRANSPOSED, R_32F = 68, 3, 4, 1, 1, 0


class Algorithm(ctypes.Structure):
    _fields_ = [("data", ctypes.c_uint64 * 8)]


class Choice(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t."""

    _fields_ = [
        ("algorithm", Algorithm),
        ("workspace", ctypes.c_size_t),
        ("state", ctypes.c_int),
        ("waves", ctypes.c_float),
        ("reserved", ctypes.c_int * 4),
    ]


def library() -> ctypes.CDLL:
    """CuPy has loaded it already, under its own name."""
    from cupy_backends.cuda.libs import cublas  # noqa: F401

    loaded = Path("/proc/self/maps").read_text(encoding="utf-8").split()
    return ctypes.CDLL(next((path for path in loaded if "libcublasLt.so" in path), "libcublasLt.so"))


def calls(A: Array, B: Array, C: Array, dtype: str) -> list[Callable[[], None]]:
    """C = A @ B.T by up to 16 algorithms, the heuristic's first one first. A (M, K), B (N, K) and C (M, N), of
    `dtype`, have no gaps. Sums are float32."""
    lt, stream = library(), ctypes.c_void_p(device.cp.cuda.get_current_stream().ptr)
    (M, K), N = A.shape, B.shape[0]
    handle, product, preference = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    succeed(lt.cublasLtCreate(ctypes.byref(handle)))
    # column by column it is C.T (N, M) = B @ A.T, and B's columns there are its rows here
    succeed(lt.cublasLtMatmulDescCreate(ctypes.byref(product), COMPUTE_32F, R_32F))
    for which, number in (TRANSPOSE_A, TRANSPOSED), (TRANSPOSE_B, 0):
        value = ctypes.c_int32(number)
        succeed(lt.cublasLtMatmulDescSetAttribute(product, which, ctypes.byref(value), ctypes.c_size_t(4)))
    left, right, result = (layout(lt, TYPES[dtype], *shape) for shape in ((K, N), (K, M), (N, M)))
    succeed(lt.cublasLtMatmulPreferenceCreate(ctypes.byref(preference)))
    most = ctypes.c_uint64(WORKSPACE)
    succeed(
        lt.cublasLtMatmulPreferenceSetAttribute(
            preference, MOST_WORKSPACE, ctypes.byref(most), ctypes.c_size_t(8)
        )
    )
    choices, count = (Choice * CHOICES)(), ctypes.c_int()
    asked = (handle, product, left, right, result, result, preference, CHOICES, choices, ctypes.byref(count))
    succeed(lt.cublasLtMatmulAlgoGetHeuristic(*asked))
    workspace = device.cp.empty(WORKSPACE, np.uint8)
    one, zero = ctypes.c_float(1), ctypes.c_float(0)
    a, b, c, space = (ctypes.c_void_p(array.data.ptr) for array in (A, B, C, workspace))

    def call_of(choice: Choice) -> Callable[[], None]:
        operands = (ctypes.byref(one), b, left, a, right, ctypes.byref(zero), c, result, c, result)
        memory = (space, ctypes.c_size_t(WORKSPACE), stream)
        kept = A, B, C, workspace, one, zero

        def call() -> None:
            assert kept
            succeed(lt.cublasLtMatmul(handle, product, *operands, ctypes.byref(choice.algorithm), *memory))

        return call

    return [call_of(choice) for choice in choices[: count.value] if choice.state == 0]


def layout(lt: ctypes.CDLL, kind: int, rows: int, columns: int) -> ctypes.c_void_p:
    """Of a matrix column by column, without gaps."""
    made = ctypes.c_void_p()
    shape = ctypes.c_uint64(rows), ctypes.c_uint64(columns), ctypes.c_int64(rows)
    succeed(lt.cublasLtMatrixLayoutCreate(ctypes.byref(made), kind, *shape))
    return made


def succeed(status: int) -> None:
    if status:
        raise RuntimeError(f"cuBLASLt answers with status {status}")
