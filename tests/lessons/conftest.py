"""Each test begins as a learner who has not answered yet: the third wrong answer would get a smaller step."""

import pytest

from course_lib.exercises import verdicts


@pytest.fixture(autouse=True)
def nobody_failed_yet():
    verdicts._not_yet.clear()
