"""Lesson 09: a whole program, which stands in no kernel's cell, and three exercises."""

from tests.lessons import solved_function
from tests.lessons.tables import beside, right_answers, wrong_answers

NOTEBOOK = "09_your_own_kernel"
SOLVED = {"09.2": solved_function("my_wait"), "09.3": solved_function("my_command")}
RIGHT_ANSWERS = right_answers(beside(__file__, "right.txt"))
WRONG_ANSWERS = wrong_answers(beside(__file__, "wrong.txt"))
