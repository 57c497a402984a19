"""The lessons' kernels give, in the simulator, the numbers that NumPy and an H100 give."""

import pytest

from course_lib.lessons import sources
from tests.kernels.lesson_cases import GEMMS, LESSON_CASES, OTHERS, lesson_case
from tests.ptxsim.test_kernels import assert_as_frozen, assert_current, assert_right, simulate

every_case = pytest.mark.parametrize("which", LESSON_CASES, ids=".".join)


@every_case
def test_lesson_kernel_gives_the_reference_and_the_frozen_result(which):
    case = lesson_case(*which)
    before, args, report = simulate(case)
    assert_right(case, before, args, report)
    assert_as_frozen(case, args, report)


@every_case
def test_frozen_result_is_current(which):
    assert_current(lesson_case(*which))


def test_every_lesson_kernel_is_here():
    notebooks = [path.stem for path in sources.with_kernels(sources.NOTEBOOKS)]
    expected = {(notebook, kernel) for notebook in notebooks for kernel in sources.kernels(notebook)}
    assert {*OTHERS, *GEMMS} == expected, "add new lesson kernels to the rooms of tests/lessons"
