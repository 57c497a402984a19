"""The tables of measurements on pages are those of the record."""

import json

from course_lib.measure import records
from tests.rules import ROOT
from tools.author import figures, marked


def test_the_measured_tables_are_current():
    record = json.loads(records.files()[0].read_text(encoding="utf-8"))
    shown = figures.measured(record)
    page = (ROOT / "docs" / "measurements.md").read_text(encoding="utf-8")
    text, why = (ROOT / "README.md").read_text(encoding="utf-8"), "run `python -m tools.author.figures`"
    assert marked.between(page, "measured", figures.full_table(record, shown)) == page, why
    assert marked.between(text, "measured", figures.short_table(record, shown)) == text, why
    assert {(row.lesson, row.kernel) for row in shown} >= figures.STEPS.keys()
