"""Lesson 04, deeper: addresses by hand."""

from tests.lessons.tables import beside, right_answers, wrong_answers

NOTEBOOK = "04_addresses"
DTYPE = "float16"
B = "Bs[lane % 8 + lane / 16 * 8][lane / 8 % 2 * 8]"
GAPS = ["04.2", "04.3"]
WRONG_ANSWERS = wrong_answers(
    beside(__file__, "wrong.txt"),
    **globals(),
)
RIGHT_ANSWERS = right_answers(
    beside(__file__, "right.txt"),
    **globals(),
)
