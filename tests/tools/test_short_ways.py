"""The evening and the core are marked where a learner sees it, and are as short as they say."""

import json

import pytest

from course_lib.lessons import sources
from tools.author import marked, short_ways
from tools.author.sittings import PAGE

LESSONS = [path for path in sources.notebooks(sources.NOTEBOOKS) if path.stem[:2] <= "05"]


@pytest.mark.parametrize("path", sources.every_notebook(sources.NOTEBOOKS), ids=lambda path: path.stem)
def test_what_belongs_to_the_evening_says_so(path):
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text, of_evening = "".join(cell["source"]), "evening" in cell["metadata"].get("tags", [])
        assert (short_ways.MARK in text) == of_evening, cell["id"]
        assert not of_evening or short_ways.HEADING.search(text), "a section begins with its heading"


def test_the_first_mark_says_what_it_is():
    cells = ["".join(cell["source"]) for path in LESSONS for cell in sources.cells_of(path)]
    first, *others = [cell for cell in cells if short_ways.MARK in cell]
    assert f"{short_ways.MARK} *Sections with this mark are the evening" in first
    assert all(f"\n{short_ways.MARK}\n" in cell for cell in others)


def test_an_evening_goes_through_all_six_lessons_in_90_minutes():
    chosen = [[each.minutes for each in short_ways.sections(path) if each.evening] for path in LESSONS]
    assert all(chosen) and len(chosen) == 6
    assert 75 < sum(map(sum, chosen)) <= short_ways.LONGEST


def test_the_core_are_eight_sittings():
    found = {path.stem[:2]: short_ways.core(path) for path in LESSONS}
    assert sum(map(len, found.values())) == 8
    assert {lesson for lesson, sittings in found.items() if sittings} == {"01", "02", "03", "05"}


def test_the_page_has_the_table_of_today():
    text = PAGE.read_text(encoding="utf-8")
    assert marked.between(text, "short-ways", short_ways.table()) == text


def test_readme_says_what_each_way_takes():
    text = short_ways.README.read_text(encoding="utf-8")
    why = "run `python -m tools.author.short_ways`"
    assert marked.between(text, "hours", short_ways.hours()) == text, why
