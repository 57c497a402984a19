"""The exercises in notebooks/exercises/10_attention.ipynb."""

from tests.lessons import solved_function
from tests.lessons.tables import answers_beside

GAPS = ["10.11", "10.12", "10.15"]
SOLVED = {"10.13": solved_function("most_keys")}
RIGHT_ANSWERS, WRONG_ANSWERS = answers_beside(__file__, **globals())
