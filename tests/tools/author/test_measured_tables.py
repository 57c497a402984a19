"""The tables of measurements on pages are those of the record."""

import json
import re

import pytest

from course_lib.measure import records
from tests.lessons.reading import DEEPER, LESSONS, cells_of
from tests.rules import ROOT
from tools.author import figures, marked
from tools.author.numbers import text_shown

ROW = re.compile(r"^(.*?\S)(?: (\*+))? {2,}([\d.]+) +(?:(?:[\d.]+|-) +)?(\d+)% ", re.MULTILINE)
"""A row of `benchmark`: label, mark of its run, TFLOP/s, per cent of the peer."""
PEERS = {"cuBLAS", "cuDNN"}


def test_the_measured_tables_are_current():
    record = json.loads(records.files()[0].read_text(encoding="utf-8"))
    shown = figures.measured(record)
    page = (ROOT / "docs" / "measurements.md").read_text(encoding="utf-8")
    text, why = (ROOT / "README.md").read_text(encoding="utf-8"), "run `python -m tools.author.figures`"
    assert marked.between(page, "measured", figures.full_table(record, shown)) == page, why
    assert marked.between(text, "measured", figures.short_table(record, shown)) == text, why
    assert {(row.lesson, row.kernel) for row in shown} >= figures.STEPS.keys()


def apart(rows: list[tuple[str, str, str, str]]) -> list[str]:
    """The rows whose share is not TFLOP/s over those of their peer with the same mark."""
    cublas = {mark: float(tflops) for label, mark, tflops, _ in rows if label in PEERS}
    return [
        f"{label}: {tflops} of {cublas.get(mark)} is not {share} %"
        for label, mark, tflops, share in rows
        if abs(100 * float(tflops) / cublas.get(mark, 1e9) - float(share)) > 1
    ]


def test_a_share_of_another_runs_cublas_is_found():
    table = "1 slot      217.6     -   29%   6\n2 slots *   441.1  2.03  60%   3\ncuBLAS      751.1     -  100%   2\n"
    assert apart(ROW.findall(table)) == ["2 slots: 441.1 of None is not 60 %"]
    assert apart(ROW.findall(table + "cuBLAS *    740.9     -  100%   2\n")) == []


@pytest.mark.parametrize("name", LESSONS + DEEPER)
def test_speeds_divide_to_the_share_that_is_shown(name):
    for cell in cells_of(name):
        for table in re.split("^(?=C = A|attention)", text_shown(cell), flags=re.MULTILINE):
            assert apart(ROW.findall(table)) == [], cell["id"]
