"""Lesson 01, deeper: the loop and the grid."""

import re

from course_lib import Launch
from tests.lessons import solved_kernel
from tests.lessons.tables import answers_beside

NOTEBOOK = "01_loop_and_grid"
RIGHT_ANSWERS, WRONG_ANSWERS = answers_beside(__file__, **globals())


def _with_launch(skeleton, solution, changes):
    launch = re.search(r"`(Launch\(.*?\))`", solution)[1]
    return solved_kernel(skeleton[0], solution, changes), eval(launch, {"Launch": Launch})


SOLVED = {"01.4": _with_launch}
