"""wmma: fragments of every type and shape, by rows and by columns; a warp's accesses are watched like others."""

from itertools import product

import numpy as np
import pytest

from course_lib import simulator
from tests.kernels.case import random, to_bf16
from tests.simulator.small_kernels import found

KERNEL = """
#include <mma.h>
#include <cuda_bf16.h>
using namespace nvcuda;
using namespace nvcuda::wmma;
extern "C" __global__ void k(const {memory_a}* a, const {memory_a}* b, {sums}* c) {{
    fragment<matrix_a, {m}, {n}, {k}, {element}, {rows_a}_major> A;
    fragment<matrix_b, {m}, {n}, {k}, {element}, {rows_b}_major> B;
    fragment<accumulator, {m}, {n}, {k}, {sums}> C;
    load_matrix_sync(A, a, {lead_a});
    load_matrix_sync(B, b, {lead_b});
    load_matrix_sync(C, c, {n} + {pad}, mem_row_major);
    mma_sync(C, A, B, C);
    for (int i = 0; i < C.num_elements; ++i) C.x[i] = C.x[i] + C.x[i];
    store_matrix_sync(c, C, {n} + {pad}, mem_row_major);
}}
"""
OPTIONS = ("--std=c++17", "-arch=sm_90")
SIXTEEN = ((16, 16, 16), (32, 8, 16), (8, 32, 16))
TYPES = {  # element: as it lies in memory, sums, shapes, and how NumPy writes an array of numbers
    "half": ("half", ("float", "half"), SIXTEEN, lambda x: x.astype("f2")),
    "__nv_bfloat16": ("__nv_bfloat16", ("float",), SIXTEEN, lambda x: to_bf16(x.astype("f4"))),
    "precision::tf32": ("float", ("float",), ((16, 16, 8),), lambda x: x.astype("f4")),
    "double": ("double", ("double",), ((8, 8, 4),), lambda x: x.astype("f8")),
    "signed char": ("signed char", ("int",), SIXTEEN, lambda x: x.astype("i1")),
    "unsigned char": ("unsigned char", ("int",), SIXTEEN, lambda x: np.abs(x).astype("u1")),
}
SUMS = {"float": "f4", "half": "f2", "double": "f8", "int": "i4"}
FORMS = [
    (element, sums, shape)
    for element, (_, kinds, shapes, _) in TYPES.items()
    for sums, shape in product(kinds, shapes)
]


def padded(matrix: np.ndarray, by_rows: bool, pad: int) -> np.ndarray:
    """Rows, or columns, with a gap after each."""
    lines = matrix if by_rows else matrix.T
    return np.ascontiguousarray(np.pad(lines, ((0, 0), (0, pad))))


@pytest.mark.parametrize(("element", "sums", "shape"), FORMS, ids=lambda value: str(value).replace(" ", ""))
@pytest.mark.parametrize(
    ("rows_a", "rows_b", "pad"), [("row", "col", 0), ("col", "row", 16), ("row", "row", 0)]
)
def test_a_product(element, sums, shape, rows_a, rows_b, pad):
    (m, n, k), (memory, _, _, write) = shape, TYPES[element]
    numbers = random(m + n)
    A, B, C = numbers.randint(-3, 4, (m, k)), numbers.randint(-3, 4, (k, n)), numbers.randint(-9, 9, (m, n))
    a, b = padded(A, rows_a == "row", pad), padded(B, rows_b == "row", pad)
    c = padded(C, True, pad).astype(SUMS[sums])
    about = dict(
        m=m, n=n, k=k, element=element, memory_a=memory, sums=sums, rows_a=rows_a, rows_b=rows_b, pad=pad
    )
    source = KERNEL.format(**about, lead_a=a.shape[1], lead_b=b.shape[1])
    if element == "unsigned char":
        A, B = abs(A), abs(B)
    report = simulator.launch(simulator.compile(source, "k", OPTIONS), 1, 32, (write(a), write(b), c))
    assert report.ok, str(report)
    assert np.array_equal(c[:, :n], 2 * (A @ B + C))
    assert not c[:, n:].any()


SHARED = """
#include <mma.h>
using namespace nvcuda::wmma;
extern "C" __global__ void k(half* out) {{
    __shared__ half tile[256];
    fragment<matrix_a, 16, 16, 16, half, row_major> A;
    fragment<accumulator, 16, 16, 16, half> C;
    if (threadIdx.x < 32) {{
        fill_fragment(C, __float2half(1.0f));
        store_matrix_sync(tile, C, 16, mem_col_major);
    }}
    {between}
    if (threadIdx.x >= 32) {{
        load_matrix_sync(A, tile, 16);  // HERE
        out[threadIdx.x - 32] = A.x[3];
    }}
}}
"""


@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize(("between", "right"), [("__syncthreads();", True), ("", False)])
def test_a_barrier_between_two_warps(between, right, seed):
    kernel = simulator.compile(SHARED.format(between=between), "k", OPTIONS)
    out = np.zeros(32, "f2")
    report = simulator.launch(kernel, 1, 64, (out,), seed=seed)
    assert report.ok == right, str(report)
    if right:
        assert (out == 1).all()
    else:
        assert {hazard.kind for hazard in report.hazards} <= {
            "read-after-write",
            "uninitialised-read",
            "write-after-read",
        }


def test_a_matrix_outside_of_the_array():
    kernel = simulator.compile(
        SHARED.format(between="__syncthreads();").replace("tile, 16);", "tile, 17);"), "k", OPTIONS
    )
    report = simulator.launch(kernel, 1, 64, (np.zeros(32, "f2"),))
    assert found(report) == (["out-of-bounds"], set()), str(report)
