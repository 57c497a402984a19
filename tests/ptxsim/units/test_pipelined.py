"""The pipelined products of tests/kernels/pipelined.py: right and without a report for every number of k-tiles."""

from dataclasses import replace

import numpy as np
import pytest

from course_lib import OPTIONS
from course_lib.timelines import marks
from ptxsim import compile, launch
from tests.kernels.case import poison
from tests.kernels.pipelined import PIPELINED, Pipelined

KERNELS = pytest.mark.parametrize("pipelined", PIPELINED, ids=lambda pipelined: pipelined.name)


def run(pipelined: Pipelined, k_tiles: int, options=(), extra=(), seed: int | None = None):
    """Launch 2 x 1 blocks on integers; return the report, C and the exact product."""
    tile_m, tile_n, tile_k = pipelined.tile
    M, N, K = 2 * tile_m, tile_n, k_tiles * tile_k
    order = "F" if pipelined.dtype == "float32" else "C"
    random = np.random.RandomState(k_tiles)
    A, B = (np.asarray(random.randint(-3, 4, (rows, K)), pipelined.dtype, order=order) for rows in (M, N))
    C = poison((M, N), np.float32, order)
    kernel = compile(pipelined.source, pipelined.kernel, (*OPTIONS, *options))
    sizes = (np.int32(M), np.int32(N), np.int32(K))
    report = launch(
        kernel, (2, 1), (pipelined.threads,), (A, B, C, *sizes, *extra), pipelined.shared_mem, seed=seed
    )
    return report, C, A.astype(np.float64) @ B.astype(np.float64).T


@KERNELS
@pytest.mark.parametrize("k_tiles", [1, 2, 3, 5])
def test_exact_on_integers_and_no_report(pipelined, k_tiles):
    report, C, expected = run(pipelined, k_tiles)
    assert report.ok, str(report)
    np.testing.assert_array_equal(C, expected)


@pytest.mark.parametrize("pipelined", PIPELINED[:2] + PIPELINED[-2:], ids=lambda pipelined: pipelined.name)
def test_traced_kernel_gives_the_same_product(pipelined):
    rows = np.zeros((64, marks.BLOCKS + marks.OTHERS, marks.WARPS, 4), np.uint32)  # of up to 64 k-tiles
    trace = rows, np.uint32(0), np.uint32(1), np.uint32(0), np.int32(0)
    points = marks.points_of(pipelined.source)
    traced = replace(pipelined, source=marks.traced(pipelined.source, pipelined.kernel))
    report, C, expected = run(traced, 3, marks.options_of(points[0], points[1:2], way=3), trace, seed=1)
    assert rows[:, 0].any()
    assert report.ok, str(report)
    np.testing.assert_array_equal(C, expected)
