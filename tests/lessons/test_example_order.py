"""The documented example of lesson 03 adds its products in order."""

import numpy as np
import pytest

from course_lib import Gemm, simulate
from course_lib.lessons import sources
from tests.lessons import kernel


@pytest.mark.parametrize("name", ["early_issue", "example_double_buffer"])
def test_both_kernels_of_the_example_add_in_order(name):
    """Equal to the last bit, as its page says: each product in turn is added with one rounding."""
    gemm = Gemm(128, 128, 64)
    A, B, C, *sizes = gemm.arguments(*gemm.inputs)
    assert simulate(
        kernel(sources.kernel_source("03_documented_example", name), name), (1, 1), (256,), (A, B, C, *sizes)
    ).ok
    expected = np.zeros((128, 128), np.float32)
    for k in range(64):
        expected = (A[:, k, None].astype(float) * B[:, k].astype(float) + expected).astype(np.float32)
    assert np.array_equal(C, expected)
