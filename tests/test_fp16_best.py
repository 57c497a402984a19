"""The products of tests/kernels/fp16_best.py: right and without a report for every number of k-tiles."""

import numpy as np
import pytest

from course_lib import OPTIONS
from course_lib.simulator import compile, launch
from tests.kernels.case import poison
from tests.kernels.fp16_best import FP16_BEST, Pipelined

KERNELS = pytest.mark.parametrize("pipelined", FP16_BEST, ids=lambda pipelined: pipelined.name)


def run(pipelined: Pipelined, k_tiles: int, blocks=(2, 1), options=(), extra=(), seed: int | None = None):
    """Launch `blocks` on integers; return the report, C and the exact product, rounded once."""
    tile_m, tile_n, tile_k = pipelined.tile
    M, N, K = blocks[0] * tile_m, blocks[1] * tile_n, k_tiles * tile_k
    random = np.random.RandomState(k_tiles)
    A, B = (random.randint(-3, 4, (rows, K)).astype(np.float16) for rows in (M, N))
    C = poison((M, N), np.float16)
    kernel = compile(pipelined.source, pipelined.kernel, (*OPTIONS, *options))
    sizes = (np.int32(M), np.int32(N), np.int32(K))
    report = launch(
        kernel, blocks, (pipelined.threads,), (A, B, C, *sizes, *extra), pipelined.shared_mem, seed=seed
    )
    exact = A.astype(np.float64) @ B.astype(np.float64).T
    return report, C, exact.astype(np.float16)


@KERNELS
@pytest.mark.parametrize("k_tiles", [1, 2, 3, 6])
def test_exact_on_integers_and_no_report(pipelined, k_tiles):
    report, C, expected = run(pipelined, k_tiles)
    assert report.ok, str(report)
    np.testing.assert_array_equal(C, expected)


@pytest.mark.parametrize("blocks", [(1, 3), (17, 2)])
def test_every_block_of_c_is_made_once(blocks):
    report, C, expected = run(FP16_BEST[1], 1, blocks)
    assert report.ok, str(report)
    np.testing.assert_array_equal(C, expected)


@KERNELS
def test_traced_kernel_gives_the_same_product(pipelined):
    trace = np.zeros((32, 5, 16, 2), np.int64)
    report, C, expected = run(pipelined, 3, (1, 1), ("-DCOURSE_TRACE",), (trace,), seed=1)
    assert report.ok, str(report)
    np.testing.assert_array_equal(C, expected)
