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
        SHARED.format(between="__syncthreads();").replace("tile, 16);", "tile, 17);"), "k", OPTIONS
    )
    report = ptxsim.launch(kernel, 1, 64, (np.zeros(32, "f2"),))
    assert found(report) == (["out-of-bounds"], set()), str(report)
