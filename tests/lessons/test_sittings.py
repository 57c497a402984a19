"""The minutes that a lesson promises are those that its cells take."""

import json

import pytest

from course_lib.lessons import sources
from tools.author import marked
from tools.author.sittings import LONGEST, PAGE, PILOT, Sitting, promised, sittings, table, table_of_pilot


def cell(source, kind="markdown", *tags, outputs=()):
    return {"cell_type": kind, "source": source, "metadata": {"tags": list(tags)}, "outputs": list(outputs)}


@pytest.fixture
def lesson(tmp_path):
    header = "# 09 · A lesson\n\n* Sitting 1 · Copies: 5 minutes. About them.\n* Optional · More: 10 minutes"
    cells = [
        cell(header),  # 20 words
        cell("# Sitting 1 · Copies\n\n<details>folded</details>" + "word " * 234),  # 239
        cell("kernel\n\n" + "line\n" * 9, "code"),  # 10 lines that are not empty
        cell(
            "drawing\n" * 99,
            "code",
            "hide-input",
            outputs=[{"data": {"image/png": "", "text/plain": "words\n" * 99}}],
        ),
        cell("print(1)", "code", outputs=[{"text": "printed\n" * 30}]),
        cell("mine = None  # how many\nyours = None", "code", "predict"),
        cell("# Optional · More"),
        cell("____", "code", "exercise"),
        cell("____", "code", "exercise", outputs=[{"text": "not yet\n" * 99}])
        | {"metadata": {"tags": ["exercise"], "minutes": 12}},
        cell("word " * 999, "markdown", "solution"),
    ]
    path = tmp_path / "09_lesson.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    return path


def test_minutes_of_a_lesson(lesson):
    first, more = sittings(lesson)
    assert first.title == "Sitting 1 · Copies" and first.minutes == pytest.approx(
        (20 + 239) / 180 + (70 + 7 + 30 * 4) / 60 + 1 + 2, abs=0.05
    )
    assert more == Sitting("Optional · More", pytest.approx(8 + 12 + 4 / 180))
    assert [each.promise for each in (first, more)] == [10, 25]
    assert promised(lesson) == [("Sitting 1 · Copies", 5), ("Optional · More", 10)]


@pytest.mark.parametrize("path", sources.notebooks(sources.NOTEBOOKS), ids=lambda path: path.stem)
def test_the_header_tells_the_minutes(path):
    found = sittings(path)
    assert promised(path) == [(sitting.title, sitting.promise) for sitting in found]
    assert found and all(sitting.promise <= LONGEST for sitting in found)


def test_the_instructors_page_has_the_minutes_and_every_sitting():
    text = PAGE.read_text(encoding="utf-8")
    assert marked.between(text, "sittings", table()) == text, "run `python -m tools.author.sittings`"
    for path in sources.notebooks(sources.NOTEBOOKS):
        for sitting in sittings(path):
            if sitting.title.startswith("Sitting"):
                assert text.count(f"**{sitting.title}.**") == 1, (
                    f"what goes wrong in it, to draw, to ask: {sitting.title}"
                )
    assert text.count("*Goes wrong:*") == text.count("*Draw:*") == text.count("*Ask:*")


def test_the_page_of_the_pilot_has_its_lesson_s_minutes():
    text = PILOT.read_text(encoding="utf-8")
    assert marked.between(text, "sittings", table_of_pilot()) == text, "run `python -m tools.author.sittings`"
    minutes = sum(int(row.split("|")[2]) for row in table_of_pilot().splitlines()[2:])
    assert f"{minutes} minutes of lesson" in text


def test_a_page_without_marks_is_told():
    with pytest.raises(ValueError, match="needs the lines"):
        marked.between("no marks", "sittings", "")
