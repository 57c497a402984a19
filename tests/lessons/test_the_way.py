"""The way is short: cells, words and ignored outputs of the lessons."""

import pytest

from course_lib.lessons import sources
from tests.lessons.reading import LESSONS, cells_of, prose, tags_of
from tools.author.sittings import words as words_in

LIMITS = {
    "06_complete_gemm": (64, 3500),
    "07_hopper": (64, 2760),
    "08_never_a_pause": (64, 2600),
    "09_your_own_kernel": (64, 2600),
}
"""Of one lesson: cells, and words of Markdown outside folds. Of all others (64, 3300)."""
OF_ALL = 16_000
"""Words of lessons 00 to 05 together; with what goes deeper and the exercises WITH_ALL."""
OF_TEN = 27_400
"""Words of lessons 00 to 09 together."""
WITH_ALL = 44_000
IGNORED = 60
"""Outputs that nbval ignores in lessons 00 to 05."""
FIRST_SIX = ("00", "01", "02", "03", "04", "05")


def words_of(name: str) -> int:
    return words_in(prose(name, but="solution"))


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_is_short(name):
    cells, words = LIMITS.get(name, (64, 3300))
    assert len(cells_of(name)) <= cells
    assert words_of(name) <= words


def test_the_six_lessons_together_are_short():
    way = [name for name in LESSONS if name.startswith(FIRST_SIX)]
    assert sum(map(words_of, way)) <= OF_ALL
    every = [
        path.relative_to(sources.NOTEBOOKS).with_suffix("").as_posix()
        for path in sources.every_notebook(sources.NOTEBOOKS)
    ]
    assert sum(words_of(name) for name in every if name.rpartition("/")[2].startswith(FIRST_SIX)) <= WITH_ALL
    cells = [cell for name in way for cell in cells_of(name)]
    assert sum("nbval-ignore-output" in tags_of(cell) for cell in cells) <= IGNORED


def test_the_ten_lessons_together_are_short():
    ten = [name for name in LESSONS if name[:2] < "10"]
    assert len(ten) == 10 and sum(map(words_of, ten)) <= OF_TEN


def test_what_goes_deeper_has_a_name_of_its_own():
    stems = [path.stem for path in sources.with_kernels(sources.NOTEBOOKS)]
    assert sorted(set(stems)) == sorted(stems)
