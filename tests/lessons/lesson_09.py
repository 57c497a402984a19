"""Lesson 09: a whole program, which stands in no kernel's cell, and four exercises."""

from tests.lessons import solved_function, solved_program
from tests.lessons.tables import answers_beside

NOTEBOOK = "09_your_own_kernel"
SOLVED = {
    "09.2": solved_function("my_map"),
    "09.3": solved_program,
    "09.4": solved_function("my_command"),
}
REMARKED = {
    "09.1": [
        (
            "one before the sums are written",
            [("        if (lane == 31)", "        __syncthreads();\n        if (lane == 31)")],
            "can go: all is right without it",
        ),
        (
            "one behind each of the sums that are added",
            [
                (
                    "            before += sums[w];\n",
                    "            before += sums[w];\n            __syncthreads();\n",
                )
            ],
            "can go: all is right without it",
        ),
    ]
}
RIGHT_ANSWERS, WRONG_ANSWERS = answers_beside(__file__, **globals())
