"""Lines that a page of the book shows whole at 1280 pixels."""

import pytest

from course_lib.lessons import sources
from hiding_latency.copies import COLAB_CELL
from tests.lessons.reading import DEEPER, LESSONS, cells_of, tags_of, text_of
from tools.book.lesson import KERNEL

KERNEL_LINE, CODE_LINE = 96, 108
"""Characters of a lesson's lines: those of a kernel have numbers beside them."""
KERNEL_SHOWN, CODE_SHOWN = 124, 128
"""So many are whole in a page of the book at 1280 pixels, which tests/browser/test_book.py holds: exercises, and what
prints the library's code, may have them."""
FOLDED = ("07_hopper", "08_never_a_pause")
"""Notebooks whose folded kernels keep CODE_LINE: they are read when they are unfolded."""


def too_long(cells: list[dict], kernel: int = KERNEL_LINE, code: int = CODE_LINE) -> list[str]:
    """The lines of code cells that are longer than so many characters, each with its length."""
    found = []
    for cell in cells:
        text = text_of(cell)
        if cell["cell_type"] == "code" and "hide-input" not in tags_of(cell):
            most = kernel if KERNEL.match(text) else code
            found += [f"{len(line)} > {most}: {line}" for line in text.splitlines() if len(line) > most]
    return found


def test_no_line_is_too_long():
    for name in LESSONS + DEEPER:
        assert too_long(cells_of(name)) == [], name


def test_no_line_of_an_exercise_is_cut():
    for path in sources.every_notebook(sources.NOTEBOOKS):
        if path.parent.name == "exercises":
            own = [cell for cell in sources.cells_of(path) if cell["id"] != COLAB_CELL]
            assert too_long(own, KERNEL_SHOWN, CODE_SHOWN) == [], path.stem


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
