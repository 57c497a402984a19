"""Lesson 01, deeper: the loop and the grid."""

import re

from course_lib import Launch
from tests.lessons import solved_kernel
from tests.lessons.tables import right_answers, wrong_answers

NOTEBOOK = "01_loop_and_grid"
RIGHT_ANSWERS = right_answers(
    """
01.4
    a row of warps by their number
        int m = lane % 8 * 4, n = warp * 32 -> int m = 4 * (threadIdx.x & 7), n = threadIdx.x / 32 * 32
    unrolled by 8
        UNROLL = TK -> UNROLL = 8
    no bound of registers
        __launch_bounds__(THREADS, 2) -> __launch_bounds__(THREADS)
"""
)
WRONG_ANSWERS = wrong_answers(
    """
01.4
    place of a warp: side by side along N
        int m = lane % 8 * 4, n = warp * 32 -> int m = warp % 2 * 64 + lane % 8 * 4, n = warp / 2 * 32
    warps along M: side by side along N
        lane % 8 * 4, n = warp * 32 + -> warp * 32 + lane % 8 * 4, n =
    two warps in one place: side by side along N
        n = warp * 32 -> n = warp % 2 * 32
    old number of threads in the copy: Is THREADS the number
        THREADS = 128 -> THREADS = 256
    old tile: side by side along N
        TM = 64 -> TM = 128
    old depth: is TK that of your launch
        TK = 16 -> TK = 32
"""
)


def _with_launch(skeleton, solution, changes):
    launch = re.search(r"`(Launch\(.*?\))`", solution)[1]
    return solved_kernel(skeleton[0], solution, changes), eval(launch, {"Launch": Launch})


SOLVED = {"01.4": _with_launch}
