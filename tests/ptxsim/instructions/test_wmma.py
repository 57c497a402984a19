"""wmma in layouts that tests/kernels/wmma.py does not have; a warp's accesses are watched like others."""

import numpy as np
import pytest

import ptxsim
from tests.kernels.wmma import FORMS, OPTIONS, wmma_case
from tests.ptxsim.small_kernels import found
from tests.ptxsim.test_kernels import assert_right, simulate


@pytest.mark.parametrize("form", FORMS, ids=lambda form: str(form).replace(" ", ""))
@pytest.mark.parametrize("layout", [("row", "col", 0), ("row", "row", 0)], ids=str)
def test_a_product(form, layout):
    case = wmma_case(*form, *layout)
    before, args, report = simulate(case)
    assert_right(case, before, args, report)


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
    kernel = ptxsim.compile(SHARED.format(between=between), "k", OPTIONS)
    out = np.zeros(32, "f2")
    report = ptxsim.launch(kernel, 1, 64, (out,), seed=seed)
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
    kernel = ptxsim.compile(
        SHARED.format(between="__syncthreads();").replace("tile, 16);", "tile, 24);"), "k", OPTIONS
    )
    report = ptxsim.launch(kernel, 1, 64, (np.zeros(32, "f2"),))
    assert found(report) == (["out-of-bounds"], set()), str(report)


PLACE = """
#include <mma.h>
using namespace nvcuda::wmma;
extern "C" __global__ void k(const {element}* a, {sums}* c) {{
    __shared__ __align__(32) {element} s[1024];
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) s[i] = a[i];
    __syncthreads();
    fragment<matrix_a, 16, 16, 16, {element}, row_major> A;
    fragment<matrix_b, 16, 16, 16, {element}, col_major> B;
    fragment<accumulator, 16, 16, 16, {sums}> C;
    fill_fragment(C, 0);
    load_matrix_sync(A, {where} + {first}, {apart});
    load_matrix_sync(B, s + 512, 16);
    mma_sync(C, A, B, C);
    if (threadIdx.x < 32) store_matrix_sync(c + 512 * blockIdx.x + {first_c}, C, {apart_c}, mem_row_major);
}}
"""
HALF = {
    "element": "half",
    "sums": "float",
    "where": "s",
    "first": 0,
    "apart": 16,
    "first_c": 0,
    "apart_c": 16,
}
BYTES = HALF | {"element": "signed char", "sums": "int"}


@pytest.mark.parametrize(
    ("wrong", "given", "mended"),
    [
        (HALF | {"apart": 20}, "are 20 elements apart; its leading dimension must be a multiple of 8", 24),
        (HALF | {"apart": 20, "where": "a"}, "are 20 elements apart", 24),
        (HALF | {"first": 8}, "is 16 bytes past a multiple of 32; it must be a multiple of 32 bytes", 16),
        (HALF | {"first": 8, "where": "a"}, "is 16 bytes past a multiple of 32", 16),
        (
            HALF | {"apart_c": 18},
            "of f32 are 18 elements apart; its leading dimension must be a multiple of 4",
            20,
        ),
        (HALF | {"first_c": 4}, "is 16 bytes past a multiple of 32", 8),
        (BYTES | {"first": 4}, "is 4 bytes past a multiple of 8", 8),
    ],
)
@pytest.mark.parametrize(("grid", "block", "seed"), [(1, 32, None), (2, 32, 1), (3, 64, 2)])
def test_where_a_matrix_may_lie(wrong, given, mended, grid, block, seed):
    changed = next(key for key in ("first", "apart", "first_c", "apart_c") if wrong[key] != HALF[key])
    for form, right in ((wrong, False), (wrong | {changed: mended}, True)):
        kernel = ptxsim.compile(PLACE.format(**form), "k", OPTIONS)
        a = np.ones(1024, "f2" if form["element"] == "half" else "i1")
        c = np.zeros(2048, "f4" if form["sums"] == "float" else "i4")
        report = ptxsim.launch(kernel, grid, block, (a, c), seed=seed)
        assert report.ok == right, report
        if right:
            assert c[form["first_c"]] == 16
        else:
            line = PLACE[: PLACE.index(f"{{{changed}}}")].count("\n") + 1
            assert [(each.kind, each.line) for each in report.hazards] == [("misaligned", line)], report
            assert given in report.hazards[0].message, report
