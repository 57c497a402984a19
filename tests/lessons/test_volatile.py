"""`volatile` is no barrier: with volatile arrays an exchange without one is free of races, and right by
chance. No exercise takes it."""

import re

import pytest

from course_lib import OPTIONS, check_exercise
from cupy_or_sim.device import cp
from tests.lessons.test_lesson_kernels import solved

BARRIERS = re.compile(r"__syncthreads\(\);|__syncwarp\(\);")


@pytest.mark.parametrize("name", ["00.3", "00.13", "01.1", "01.2", "01.13"])
def test_volatile_arrays_in_place_of_barriers_are_not_right(name):
    right = solved(name)
    without = BARRIERS.sub("", right.code)
    assert without != right.code
    answer = cp.RawKernel(without.replace("__shared__", "volatile __shared__"), right.name, options=OPTIONS)
    verdict = check_exercise(name, answer)
    assert not verdict.ok
    assert "order-dependent" in verdict.text and re.search("Hint: .*barrier", verdict.text)
