"""What a learner shall predict is not shown before: not in a copy as it comes, and not in a page of the book before a
click. That no cell tells it when it runs: tests/tools/live/test_inside.py.

What the lessons in the repository show, all of it, is the measure: nbval compares that.
"""

import json

import pytest

from course_lib.lessons import sources
from hiding_latency import copies, run
from hiding_latency.outcome import name_of
from hiding_latency.waiting import waiting
from tests.lessons.reading import ANSWER, LESSONS, cells_of, tags_of
from tests.lessons.test_predictions import answers, says
from tools.author.numbers import text_shown
from tools.book.build import chapters
from tools.book.lesson import FOLDS

ASKING = [path for path in sources.every_notebook(sources.NOTEBOOKS) if waiting(cells_of(path))]


def notebook(*cells: tuple[str, ...]) -> list[dict]:
    """Code cells c0, c1, ... of (text, tags ...)."""
    return [
        {"cell_type": "code", "id": f"c{at}", "source": text, "metadata": {"tags": tags}}
        for at, (text, *tags) in enumerate(cells)
    ]


ASKS, ALSO = ("a, b = None, None", "predict"), ("c = None", "predict")


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        ([("1",), ASKS, ("2",), ("score([('q', a, 1)])",), ("3",)], {"c2", "c3"}),
        ([ASKS, ("score([('q', a, 1)])",), ("2",), ("score([('r', b, 1)])",)], {"c1", "c3"}),
        ([ASKS, ALSO, ("score([('q', c, 1)])",), ("score([('r', a, 1)])",)], {"c1", "c2", "c3"}),
        ([ASKS, ("check_exercise('01.1', 2)", "exercise"), ("score([('q', a, 1)])",)], {"c2"}),
        ([ASKS, ("print(a)",), ("def (",)], set()),
        ([("a = 1",), ("score([('q', a, 1)])",)], set()),
    ],
    ids=["to its score", "a second score", "two at a time", "an exercise", "no score", "no prediction"],
)
def test_which_cells_wait(cells, found):
    assert waiting(notebook(*cells)) == found


def told(cells: list[dict]) -> list[str]:
    """What `score` told in these cells."""
    return [match[0] for cell in cells for match in ANSWER.finditer(text_shown(cell))]


def test_the_lessons_in_the_repository_tell_all():
    assert sum(len(told(cells_of(name))) for name in LESSONS) >= 102


@pytest.mark.parametrize("path", ASKING, ids=lambda path: path.stem)
def test_each_prediction_is_scored_and_until_then_nothing_tells_what_it_is(path):
    cells = cells_of(path)
    asked = [at for at, cell in enumerate(cells) if "predict" in tags_of(cell)]
    assert {at for at, _, _ in answers(cells)} == {*asked}
    waits = waiting(cells)
    assert told([cell for cell in cells if cell["id"] not in waits]) == []
    for at, question, answer in answers(cells):
        last = next(n for n, cell in enumerate(cells) if f"{question}: it is {answer}" in told([cell]))
        shown = "\n".join(text_shown(cell) for cell in cells[at:last] if cell["id"] not in waits)
        assert says(shown, answer, question) == [], question


@pytest.mark.parametrize("path", ASKING, ids=lambda path: path.stem)
def test_a_copy_comes_without_what_is_to_be_predicted(path):
    lesson, copy = cells_of(path), json.loads(copies.copy_of(path))["cells"]
    waits = waiting(lesson)
    assert told(copy) == []
    assert [cell["id"] for cell in copy if cell["id"] in waits and cell["outputs"]] == []
    shown = {cell["id"] for cell in copy if cell.get("outputs")}
    assert shown == {cell["id"] for cell in lesson if cell.get("outputs")} - waits, "and with all the rest"


@pytest.mark.parametrize("path", ASKING, ids=lambda path: path.stem)
def test_the_book_folds_what_is_to_be_predicted(path):
    waits = waiting(cells_of(path))
    cells = [cell for page in chapters(run.committed(path), [name_of(path)]) for cell in page.notebook.cells]
    assert {cell["id"] for cell in cells if FOLDS in tags_of(cell)} == waits
    assert told([cell for cell in cells if FOLDS not in tags_of(cell)]) == []
    assert len(told(cells)) == len(told(cells_of(path))), "below the folds it stands"
