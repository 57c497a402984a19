"""docs/house.md: its picture has the floors of the contract, and what its walks name is there."""

import re

import pytest

from hiding_latency.packages import PACKAGES
from tests.rules import ROOT
from tools.author import house

PAGE = (ROOT / "docs" / "house.md").read_text(encoding="utf-8")
STEPS = re.findall(r"^\d\. `([\w./]+)`, ((?:.|\n(?!\d\.|\n|#))+)", PAGE, re.MULTILINE)
"""Of each walk: a file, and what happens there."""


def test_the_picture_and_its_words_are_those_of_the_contract():
    assert house.PICTURE.read_text(encoding="utf-8") == house.picture(), "run `python -m tools.author.house`"
    assert f"![{house.description()}](../assets/house.svg)" in PAGE
    assert {name for floor in house.floors() for name in floor} == {*PACKAGES, "tools"} == house.WORDS.keys()


def test_the_page_is_short_and_what_it_names_is_there():
    assert len(PAGE.split()) <= 600
    named = {word for word in re.findall(r"`([\w./]+)`", PAGE) if "/" in word}
    assert len(named) > 20 and [name for name in named if not (ROOT / name).exists()] == []
    assert [name for name in PACKAGES if not (ROOT / "tests" / name).is_dir()] == [], (
        "tests mirror the packages"
    )


def test_three_walks_are_told():
    assert len(re.findall(r"^1\. ", PAGE, re.MULTILINE)) == 3 and len(STEPS) == len(
        re.findall(r"^\d\. ", PAGE, re.MULTILINE)
    )


@pytest.mark.parametrize(("file", "told"), STEPS, ids=lambda part: part[:40])
def test_a_step_of_a_walk_names_what_its_file_defines(file, told):
    text = (ROOT / file).read_text(encoding="utf-8")
    names = re.findall(r"`(\w+)(?:\(\))?`", told)
    assert names and [name for name in names if not re.search(rf"(?:def|class) {name}\b", text)] == []
