"""A kernel, its problem and its launch, as a cell hands them over."""

import pytest

from course_lib import Gemm, Launch, cp
from course_lib.check.job import Job

KERNEL = cp.RawKernel('extern "C" __global__ void k(float* C) {}', "k")
GEMM, LAUNCH = Gemm(64, 64, 64), Launch((64, 64, 8), 256)


def test_in_this_order():
    assert Job.given(KERNEL, GEMM, LAUNCH) == Job(KERNEL, GEMM, LAUNCH)


@pytest.mark.parametrize("given", [(KERNEL, LAUNCH, GEMM), (GEMM, KERNEL, LAUNCH), (KERNEL, None, LAUNCH)])
def test_in_another_order(given):
    with pytest.raises(TypeError, match="expected the kernel, then its problem, then its launch, got a"):
        Job.given(*given)


def test_a_launch_is_looked_at_too():
    with pytest.raises(TypeError):
        Job.given(KERNEL, GEMM, (64, 64, 8))
