"""Two products of lesson 03, double_buffer and fp32_best: right and without a report for every number of k-tiles."""

import numpy as np
import pytest

from course_lib import OPTIONS
from course_lib.simulator import compile, resources
from tests.kernels.fp32_best import FP32_KERNELS
from tests.test_pipelined import run

KERNELS = pytest.mark.parametrize("kernel", FP32_KERNELS, ids=lambda kernel: kernel.name)


@KERNELS
@pytest.mark.parametrize("k_tiles", [1, 2, 3, 5])
def test_exact_on_integers_and_no_report(kernel, k_tiles):
    report, C, expected = run(kernel, k_tiles)
    assert report.ok, str(report)
    np.testing.assert_array_equal(C, expected)


@KERNELS
@pytest.mark.parametrize("seed", [1, 2])
def test_other_orders_of_warps_and_the_trace_change_nothing(kernel, seed):
    traced = "TRACE_ARG" in kernel.source
    options, extra = (("-DCOURSE_TRACE",), (np.zeros((32, 5, 16, 2), np.int64),)) if traced else ((), ())
    report, C, expected = run(kernel, 6, options, extra, seed=seed)
    assert report.ok, str(report)
    np.testing.assert_array_equal(C, expected)


@KERNELS
def test_two_blocks_fit_on_a_multiprocessor_and_nothing_spills(kernel):
    needs = resources(compile(kernel.source, kernel.kernel, OPTIONS))
    assert needs.registers * kernel.threads * 2 <= 65536
    assert needs.spill_stores == needs.spill_loads == 0
