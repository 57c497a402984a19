"""Grade what learners handed in, with nbgrader's own commands: `make grade` calls this.

submitted/STUDENT/ASSIGNMENT/ASSIGNMENT.ipynb in build/classroom is graded once, in the sandbox, and again when its
file is newer than its marks. Feedback for each learner is written, all marks to grades.csv, and a table is printed.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from tools.classroom import sandbox
from tools.classroom.release import COURSE
from tools.install import ROOT, alone


def handed_in(course: Path) -> dict[str, list[str]]:
    """Assignment -> the students who handed it in; only assignments that the course has."""
    found: dict[str, list[str]] = {}
    for place in sorted((course / "submitted").glob("*/*")):
        if (course / "release" / place.name).is_dir() and not place.parent.name.startswith("."):
            found.setdefault(place.name, []).append(place.parent.name)
    return found


def misplaced(course: Path) -> list[str]:
    """What lies in submitted/ and is no `STUDENT/ASSIGNMENT/ASSIGNMENT.ipynb`, one line each."""
    expected = {
        course / "submitted" / student / name / f"{name}.ipynb"
        for name, students in handed_in(course).items()
        for student in students
    }
    there = {
        path for path in (course / "submitted").rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts
    }
    lines = [
        f"not graded, it is in the wrong place: {path.relative_to(course)}"
        for path in sorted(there - expected)
    ]
    return lines + [f"missing: {path.relative_to(course)}" for path in sorted(expected - there)]


def grade(course: Path) -> list[str]:
    """Grade, write feedback and export; returns what could not be done, one line each."""
    wrong = []
    for name, students in handed_in(course).items():
        print(f"{name}: {', '.join(students)}", flush=True)
        for student in students:
            _forget_older(course, student, name)
        _nbgrader(course, "autograde", name)
        graded = [student for student in students if (course / "autograded" / student / name).is_dir()]
        wrong += [
            f"cannot be graded: submitted/{student}/{name}" for student in students if student not in graded
        ]
        if graded:
            wrong += _nbgrader(course, "generate_feedback", name, "--force")
    return wrong + _nbgrader(course, "export")


def _forget_older(course: Path, student: str, name: str) -> None:
    """Take away graded work when a newer file was handed in. nbgrader knows dates only from its own exchange."""
    parts = [course / folder / student / name / f"{name}.ipynb" for folder in ("submitted", "autograded")]
    if all(part.exists() for part in parts) and parts[0].stat().st_mtime > parts[1].stat().st_mtime:
        shutil.rmtree(parts[1].parent)


def _nbgrader(course: Path, *arguments: str) -> list[str]:
    command = [sys.executable, "-W", "ignore", "-m", "nbgrader", *arguments]
    with open(course / "grade.log", "a", encoding="utf-8") as log:
        done = subprocess.run(command, cwd=course, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    return [f"failed: nbgrader {' '.join(arguments)}"] if done.returncode else []


def table(rows: Iterable[dict[str, str]], came: dict[str, list[str]]) -> str:
    """A line for each student, a column for each assignment that anybody handed in: points, "-" where nothing came."""
    marks: dict[str, dict[str, str]] = {}
    most: dict[str, str] = {}
    for row in rows:
        name = row["assignment"]
        here = row["student_id"] in came.get(name, [])
        marks.setdefault(row["student_id"], {})[name] = f"{float(row['score']):g}" if here else "-"
        most[name] = f"{float(row['max_score']):g}"
    columns = [name for name in most if name in came]
    head = ["student", *(f"{name} ({most[name]})" for name in columns)]
    lines = [
        head,
        *([student, *(scores.get(name, "-") for name in columns)] for student, scores in marks.items()),
    ]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines
    )


def main() -> int:
    """0 when all that was handed in has marks."""
    if not (COURSE / "release").is_dir():
        sys.exit("There is no build/classroom yet: run make classroom first.")
    if not handed_in(COURSE):
        sys.exit(
            "Nothing was handed in: put files at build/classroom/submitted/STUDENT/ASSIGNMENT/ASSIGNMENT.ipynb, for "
            "example submitted/kim/00_start_here/00_start_here.ipynb."
        )
    if reason := sandbox.refusal():
        sys.exit(reason)
    with alone(ROOT / "build" / "classroom.lock", "make classroom or make grade runs here: waiting for it."):
        wrong = misplaced(COURSE) + grade(COURSE)
    with open(COURSE / "grades.csv", newline="", encoding="utf-8") as file:
        print(f"\n{table(csv.DictReader(file), handed_in(COURSE))}\n")
    print("Marks: build/classroom/grades.csv. Feedback, a page for each learner: build/classroom/feedback.")
    if wrong:
        print("\n".join([*wrong, "What nbgrader said is in build/classroom/grade.log."]), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
