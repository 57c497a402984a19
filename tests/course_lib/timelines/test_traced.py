"""Kernels with TRACE macros in the simulator: right as before, and each mark at its place."""

import numpy as np
import pytest

from course_lib import OPTIONS
from course_lib.timelines import marks
from course_lib.timelines.assembled import Marks
from ptxsim import compile, launch
from tests.kernels.pipelined import gemm_fp16, gemm_fp32
from tests.sample import one_in

COPY_END, WAIT_BEGIN, WAIT_END, BARRIER_END, MATH_END, EPILOGUE_BEGIN = 1, 2, 3, 5, 7, 8


def marked(p, point: int):
    """The kernel with marks at a point and behind the barrier."""
    options = *OPTIONS, *marks.options_of(point, (BARRIER_END,), way=0)
    return compile(marks.traced(p.source, p.kernel), p.kernel, options)


@pytest.mark.parametrize("p", one_in(3, [gemm_fp16(3), gemm_fp16(1), gemm_fp32(2)]), ids=lambda p: p.name)
def test_a_traced_kernel_is_right_and_marks_what_it_does_in_order(p):
    tile_m, tile_n, tile_k = p.tile
    k_tiles, order = 8, "F" if p.dtype == "float32" else "C"
    random = np.random.RandomState(0)
    A, B = (
        np.asarray(random.randint(-3, 4, (2 * rows, k_tiles * tile_k)), p.dtype, order=order)
        for rows in (tile_m, tile_n)
    )
    sizes = (*map(np.int32, (2 * tile_m, 2 * tile_n, k_tiles * tile_k)),)
    times = {}
    for point in (COPY_END, WAIT_BEGIN, WAIT_END, MATH_END, EPILOGUE_BEGIN):
        C = np.zeros((2 * tile_m, 2 * tile_n), np.float32, order=order)
        rows = np.zeros((64, marks.BLOCKS + marks.OTHERS, marks.WARPS, 4), np.uint32)  # of up to 64 k-tiles
        extra = rows, np.uint32(0), np.uint32(1), np.uint32(0), np.int32(0)
        report = launch(marked(p, point), (2, 2), (p.threads,), (A, B, C, *sizes, *extra), p.shared_mem)
        assert report.ok, str(report)
        np.testing.assert_array_equal(C, A.astype(np.float64) @ B.astype(np.float64).T)
        assert not rows[:, 0, p.threads // 32 :].any()
        seen = Marks.of([np.moveaxis(rows[:k_tiles, :1, : p.threads // 32], 0, 2)])
        assert (np.diff(seen.reference[0], axis=1) > 0).all()
        times[point] = seen.point[0] - seen.reference[0]  # from the end of the barrier of the same k-tile
        if point == EPILOGUE_BEGIN:
            assert (seen.point[0, :, 0] > seen.reference[0, :, -1]).all()

    assert (times[WAIT_END] < times[MATH_END]).all() and (times[MATH_END] > 0).all()
