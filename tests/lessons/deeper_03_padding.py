"""Deeper, lesson 03: padding."""

from tests.lessons.tables import beside, right_answers, wrong_answers

NOTEBOOK = "03_padding"

RIGHT_ANSWERS = right_answers(
    beside(__file__, "right.txt"),
    **globals(),
)

WRONG_ANSWERS = wrong_answers(
    beside(__file__, "wrong.txt"),
    **globals(),
)
