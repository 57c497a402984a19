"""The kernels of lessons 07 and 08 are right and clean in every order of their warps: a wgmma is one operation of its
warpgroup."""

import numpy as np
import pytest

from course_lib import Gemm, lesson_kernel
from cupy_or_sim.simulate import compiled
from ptxsim import launch
from tests.lessons import hopper_home

NAMES = ("one_slot", "ring", "roles", "persistent", "cluster", "complete")


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_in_another_order_of_the_warps(name, seed):
    kernel, how = lesson_kernel(hopper_home(name), name)
    gemm = Gemm(256, 256, 384, "float16")
    args = gemm.arguments(*gemm.integers(seed=0))
    grid = gemm.grid(how.small())
    report = launch(compiled(kernel), grid, how.block, gemm.passed(kernel, args), how.shared_mem, seed=seed)
    assert report.ok, str(report)
    A, B, C, *_ = args
    assert np.array_equal(C, (A.astype(np.float32) @ B.astype(np.float32).T).astype(np.float16))
