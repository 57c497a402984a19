"""grades_wide.csv: a line for each learner, for a spreadsheet or the import of a learning platform.

A column for the points of each assignment, behind it one for each of its exercises, and one for remarks. As in the
printed table "?" is what cannot be graded; what never came is empty.
"""

import csv
import re
from collections.abc import Iterable
from pathlib import Path

from ptxsim import printable_line

PERSON = ("student_id", "last_name", "first_name", "email")


def write(path: Path, rows: Iterable[dict[str, str]], notes: dict[str, dict]) -> None:
    """Write the table. `rows`: those of grades.csv; `notes`: what graded.json has."""
    learners: dict[str, dict[str, object]] = {}
    columns: dict[str, dict[str, None]] = {}  # assignment -> its exercises, in their order
    for row in rows:
        name, student = row["assignment"], row["student_id"]
        points = notes.get(f"{student}/{name}", {}).get("points", {})
        columns.setdefault(name, {}).update(dict.fromkeys(points))
        line = learners.setdefault(student, {each: row[each] for each in PERSON} | {"remarks": ""})
        line |= {name: row["score"] or "?", **{each: _shown(value) for each, value in points.items()}}
        if row["remark"]:
            line["remarks"] = "; ".join(filter(None, [str(line["remarks"]), f"{name}: {row['remark']}"]))
    names = [each for name, exercises in columns.items() for each in (name, *exercises)]
    with open(
        path, "w", newline="", encoding="utf-8-sig"
    ) as file:  # spreadsheets know by the mark that it is UTF-8
        table = csv.DictWriter(file, [*PERSON, *names, "remarks"], restval="")
        table.writeheader()
        for student in sorted(learners):
            table.writerow({column: in_a_cell(value) for column, value in learners[student].items()})


def in_a_cell(value: object) -> object:
    """A text as a spreadsheet may open it: nothing in it is a formula, also where `;` begins the next cell there."""
    return (
        re.sub(r"(^|[;,]\s*)(?=[=+@-])", r"\1'", printable_line(value)) if isinstance(value, str) else value
    )


def _shown(points: float | None) -> str:
    return "?" if points is None else f"{points:g}"
