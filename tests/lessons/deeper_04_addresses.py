"""Lesson 04, deeper: addresses by hand."""

from tests.lessons.tables import answers_beside

NOTEBOOK = "04_addresses"
DTYPE = "float16"
GAPS = ["04.3"]
RIGHT_ANSWERS, WRONG_ANSWERS = answers_beside(__file__, **globals())
