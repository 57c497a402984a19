"""Answers to exercises that are no answers: each gets a verdict in words, whatever was passed."""

import re

import numpy as np
import pytest

from course_lib import check_exercise, cp
from course_lib.check.verdict import CheckFailed
from course_lib.exercises.answers import exercises
from course_lib.notebooks.answers.common import whole_number

OTHER = 'extern "C" __global__ void other(float* p) { p[0] = 1; }'
NONSENSE = {
    "text": "abc",
    "number": 3,
    "list": [1],
    "function": print,
    "array": np.zeros(4),
    "one of a pair": (1,),
    "numbers": (1.5, 2),
    "no launch": ("abc", {}),
}
PYTHON = r"unpack|has no attribute|subscriptable|object is not|KeyError|index out of"


@pytest.mark.parametrize("name", exercises())
@pytest.mark.parametrize("answer", NONSENSE.values(), ids=NONSENSE)
def test_what_is_no_answer_gets_a_verdict(name, answer):
    verdict = check_exercise(name, answer)
    assert not verdict.ok
    assert not re.search(PYTHON, verdict.text), verdict


@pytest.mark.parametrize("name", [name for name in exercises() if name[:2] != "00"])
@pytest.mark.parametrize("launch", [{"threads": 256}, {"tile": (64, 64, 16), "threads": 256}, 256])
def test_a_launch_without_a_tile_is_told(name, launch):
    verdict = check_exercise(name, (cp.RawKernel(OTHER, "other"), launch))
    assert not verdict.ok
    assert re.search("the launch is|is a kernel|is a whole number|the answer is", verdict.text)
    assert not re.search(PYTHON, verdict.text), verdict


@pytest.mark.parametrize("value", [True, "3", 2.5, float("nan"), print], ids=repr)
def test_what_is_no_whole_number_is_told(value):
    with pytest.raises(CheckFailed, match="my_rows is a whole number, and not"):
        whole_number(value, "my_rows")


@pytest.mark.parametrize("value", [3, 3.0, np.int32(3), np.float32(3)], ids=repr)
def test_a_whole_number_is_taken_in_any_type(value):
    assert whole_number(value, "my_rows") == 3
