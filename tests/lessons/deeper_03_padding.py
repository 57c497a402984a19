"""Deeper, lesson 03: padding."""

from tests.lessons.tables import answers_beside

NOTEBOOK = "03_padding"

RIGHT_ANSWERS, WRONG_ANSWERS = answers_beside(__file__, **globals())
