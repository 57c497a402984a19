"""Lines that a page of the book shows whole at 1280 pixels."""

import pytest

from course_lib.lessons import sources
from tests.lessons.reading import DEEPER, LESSONS, cells_of, tags_of, text_of
from tools.book.lesson import KERNEL

KERNEL_LINE, CODE_LINE = 96, 108
"""Characters: lines of a kernel have numbers beside them. tests/browser/test_book.py holds that these are not cut."""
FOLDED = ("07_hopper", "08_never_a_pause")
"""Notebooks whose folded kernels keep CODE_LINE: they are read when they are unfolded."""


def too_long(cells: list[dict]) -> list[str]:
    """The lines of code cells that a page would cut, each with its length."""
    found = []
    for cell in cells:
        text = text_of(cell)
        if cell["cell_type"] == "code" and "hide-input" not in tags_of(cell):
            most = KERNEL_LINE if KERNEL.match(text) else CODE_LINE
            found += [f"{len(line)} > {most}: {line}" for line in text.splitlines() if len(line) > most]
    return found


def test_no_line_is_too_long():
    for name in LESSONS + DEEPER:
        assert too_long(cells_of(name)) == [], name


@pytest.mark.parametrize("name", FOLDED)
def test_no_line_of_a_folded_kernel_is_too_long(name):
    long = [
        line
        for kernel in sources.kernels(name).values()
        for line in kernel.splitlines()
        if len(line) > CODE_LINE
    ]
    assert long == []


@pytest.mark.parametrize(
    ("source", "tags", "found"),
    [
        ('k = r"""\n' + 96 * "x", [], []),
        ('k = r"""\n' + 97 * "x", [], ["97 > 96"]),
        (108 * "x", [], []),
        (109 * "x", [], ["109 > 108"]),
        (109 * "x", ["hide-input"], []),
    ],
)
def test_a_line_counts_where_it_is_seen(source, tags, found):
    cell = {"cell_type": "code", "metadata": {"tags": tags}, "source": [source]}
    assert [line.partition(":")[0] for line in too_long([cell])] == found
