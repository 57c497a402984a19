"""Numbers in prose are those that the lesson's cells print."""

import json

import pytest

from tests.lessons.reading import DEEPER, LESSONS, cells_of
from tools.author.numbers import rewrite, unbound, wrong


def notebook(text: str, **numbers: str) -> list[dict]:
    table = "in turn   27.5 TFLOP/s\nahead     1,030.26 TFLOP/s\n"
    picture = {"metadata": {"image/svg+xml": {"alt": "load 1,088, math 1342"}}, "data": {"text/plain": ""}}
    shows = {"cell_type": "code", "id": "shows", "source": "x", "metadata": {}}
    shows["outputs"] = [{"output_type": "stream", "name": "stdout", "text": table}, picture]
    return [{"cell_type": "markdown", "id": "says", "source": text, "metadata": {"numbers": numbers}}, shows]


LOAD, MATH = "shown('shows', 'load {}')", "shown('shows', 'math {}')"


@pytest.mark.parametrize(
    ("text", "numbers", "found"),
    [
        ("1,088 cycles", {"1,088": LOAD}, []),
        ("1.81 times", {"1.81": f"({LOAD} + {MATH}) / {MATH}"}, []),
        ("1030.3 TFLOP/s", {"1030.3": "shown('shows', 'ahead … {} TFLOP/s')"}, []),
        ("45 %", {"45": f"100 * {LOAD} / ({LOAD} + {MATH})"}, []),
        ("66.9 TFLOP/s", {"66.9": "source: data sheet"}, []),
        ("a tile of 4 x 4, `3 ms` of code, <details>5 ms</details>", {}, []),
        ("1,089 cycles", {"1,089": LOAD}, ["1,089 in says: it is 1,088"]),
        ("1,088 cycles", {}, ["1,088 cycles in says: bound to nothing"]),
        ("half", {"1,088": LOAD}, ["1,088 in says: not in the text"]),
        ("2 x", {"2": "shown('shows', 'store {}')"}, ["in says: 2: cell 'shows' shows no 'store {}'"]),
        ("2 x", {"2": "shown('gone', 'load {}')"}, ["in says: 2: there is no cell with the id 'gone'"]),
        (
            "2 x",
            {"2": "shown('deeper/gone a', 'load {}')"},
            ["in says: 2: there is no notebook 'deeper/gone'"],
        ),
        (
            "4 x",
            {"4": "shown('deeper/02_late_math o2f', 'k-tile of {}, no overlap')"},
            ["4 in says: it is 32"],
        ),
        (
            "2 x",
            {"2": "load / 2"},
            ["in says: 2: 'load / 2' cannot be calculated: name 'load' is not defined"],
        ),
        ("1,088 cycles", {"1,088": "min(shown('shows', f'{at} {{}}') for at in ('load', 'math'))"}, []),
    ],
)
def test_a_number_is_what_a_cell_prints(text, numbers, found):
    cells = notebook(text, **numbers)
    assert unbound(cells) + wrong(cells) == found


def test_numbers_are_written_anew(tmp_path):
    path = tmp_path / "02_a.ipynb"
    path.write_text(
        json.dumps({"cells": notebook("1,000 cycles, 2.0 x", **{"1,000": LOAD, "2.0": f"{MATH} / {LOAD}"})})
    )
    assert (rewrite(path), rewrite(path)) == (2, 0)
    says = json.loads(path.read_text(encoding="utf-8"))["cells"][0]
    assert says["source"] == ["1,088 cycles, 1.2 x"] and list(says["metadata"]["numbers"]) == ["1,088", "1.2"]


@pytest.mark.parametrize("name", LESSONS + DEEPER)
def test_bound_numbers_are_those_that_cells_print(name):
    """`python -m tools.author.numbers` writes them."""
    assert wrong(cells_of(name)) == []


@pytest.mark.parametrize("name", LESSONS)
def test_every_measured_number_of_a_lesson_is_bound(name):
    assert unbound(cells_of(name)) == []
