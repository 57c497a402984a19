"""The exercises in notebooks/exercises/09_your_own_kernel.ipynb."""

from tests.lessons import solved_function, solved_program
from tests.lessons.tables import answers_beside

GAPS: list[str] = []
SOLVED = {
    "09.11": solved_program,
    "09.12": solved_function("my_wait"),
    "09.13": solved_function("my_columns"),
}
RIGHT_ANSWERS, WRONG_ANSWERS = answers_beside(__file__, **globals())
