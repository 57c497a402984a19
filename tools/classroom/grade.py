"""Grade what learners handed in, with nbgrader's own commands: `make grade` calls this.

submitted/STUDENT/ASSIGNMENT/ASSIGNMENT.ipynb in build/classroom is graded once, in the sandbox, and again when its
content changes: graded.json knows which content the marks are of, because a file's date says nothing about that.
Feedback for each learner is written, all marks to grades.csv, and a table is printed.
"""

import csv
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Iterable
from pathlib import Path

import nbformat

from tools.classroom import rebuild, sandbox
from tools.classroom.release import COURSE, unusable
from tools.install import ROOT, alone, write_whole
from tools.learner.outcome import aligned

SECONDS = {"autograde": 900, "generate_feedback": 120, "export": 120}
"""For a command of nbgrader; a submission may run for 600 of the first."""


def handed_in(course: Path, folder: str = "submitted") -> dict[str, list[str]]:
    """Assignment -> the students who handed it in; only assignments that the course has."""
    found: dict[str, list[str]] = {}
    for place in sorted((course / folder).glob("*/*")):
        if (course / "release" / place.name).is_dir() and not place.parent.name.startswith("."):
            found.setdefault(place.name, []).append(place.parent.name)
    return found


def misplaced(course: Path) -> list[str]:
    """The notebooks in submitted/ that are no `STUDENT/ASSIGNMENT/ASSIGNMENT.ipynb`, one line each."""
    expected = {
        submitted(course, student, name)
        for name, students in handed_in(course).items()
        for student in students
    }
    there = {
        path for path in (course / "submitted").rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts
    }
    return [
        f"not graded, it is in the wrong place: {path.relative_to(course)}"
        for path in sorted(there - expected)
    ]


def submitted(course: Path, student: str, name: str) -> Path:
    """Where a learner's notebook is put."""
    return course / "submitted" / student / name / f"{name}.ipynb"


def graded(course: Path, student: str, name: str) -> Path:
    """Where the same notebook lies, run, when it has marks."""
    return course / "autograded" / student / name / f"{name}.ipynb"


def notes(course: Path) -> dict[str, dict[str, str]]:
    """ "STUDENT/ASSIGNMENT" -> "hash": of the content that was graded last, and "why": why it could not be."""
    try:
        return json.loads((course / "graded.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}  # everything is graded again


def grade(course: Path) -> list[str]:
    """Grade, write feedback and export; returns what could not be done, one line each."""
    wrong, noted = [], notes(course)
    for name, students in handed_in(course).items():
        content = {student: _hash(submitted(course, student, name)) for student in students}
        new = [
            student
            for student in students
            if not graded(course, student, name).is_file()
            or noted.get(f"{student}/{name}", {}).get("hash") != content[student]
        ]
        print(f"{name}: {len(new)} to grade, {len(students) - len(new)} as before", flush=True)
        for number, student in enumerate(new, 1):
            print(f"  {number} of {len(new)}, {student}: ", end="", flush=True)
            begin = time.monotonic()
            why = _grade_one(course, student, name)
            print(f"cannot be graded, {why}" if why else f"{time.monotonic() - begin:.0f} s", flush=True)
            noted[f"{student}/{name}"] = {"hash": content[student], "why": why}
            write_whole(course / "graded.json", json.dumps(noted, indent=1))
            wrong += [f"cannot be graded: submitted/{student}/{name}, {why}"] * bool(why)
            if not why and not (course / "feedback" / student / name / f"{name}.html").is_file():
                wrong.append(f"no feedback page: submitted/{student}/{name}")
    exported, _ = _nbgrader(course, "export")
    return wrong + ["failed: nbgrader export, so grades.csv is as it was"] * (not exported)


def _grade_one(course: Path, student: str, name: str) -> str:
    """Grade a submission, and forget what was said of an older one. Returns why it cannot be graded, or ""."""
    for folder in "autograded", "feedback":
        shutil.rmtree(course / folder / student / name, ignore_errors=True)
    if why := unreadable(submitted(course, student, name), course / "release" / name / f"{name}.ipynb"):
        return why
    worked, said = _nbgrader(course, "autograde", name, f"--student={student}")
    if worked and graded(course, student, name).is_file():
        _nbgrader(course, "generate_feedback", name, f"--student={student}", "--force")
        return ""
    shutil.rmtree(course / "autograded" / student / name, ignore_errors=True)  # it may lie there, not run
    errors = re.findall(r"(?m)^[\w.]*(?:Error|Exception): .+$", said)
    return f"nbgrader stopped ({errors[-1][:80] if errors else 'see grade.log'})"


def unreadable(path: Path, assignment: Path) -> str:
    """Why a file is not this assignment, filled by a learner; "" where it is."""
    if not path.is_file():
        return f"the file {path.name} is missing"
    try:
        with warnings.catch_warnings(action="ignore"):
            rebuild.rebuilt(nbformat.read(path, as_version=4), nbformat.read(assignment, as_version=4))
    except rebuild.NoAnswers as error:
        return str(error)
    except Exception as error:  # whatever a file may hold
        return f"it is no notebook ({' '.join(str(error).split())[:80]})"
    return ""


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _nbgrader(course: Path, *arguments: str) -> tuple[bool, str]:
    """Run a command of nbgrader. Returns whether it went well, and what it said, which goes into the log too. What
    learners wrote passes through it, so it has limits."""
    limits = [] if sandbox.unsafe() else ["prlimit", f"--as={sandbox.MEMORY}"]
    command = [*limits, sys.executable, "-W", "ignore", "-m", "nbgrader", *arguments]
    with open(course / "grade.log", "a+b") as log:
        begin = log.seek(0, os.SEEK_END)
        outputs = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
        try:
            done = subprocess.run(command, cwd=course, timeout=SECONDS[arguments[0]], **outputs)
            worked = done.returncode == 0
        except subprocess.TimeoutExpired:
            log.write(f"Error: more than {SECONDS[arguments[0]]} seconds\n".encode())
            worked = False
        log.seek(begin)
        return worked, log.read().decode(errors="replace")


def table(rows: Iterable[dict[str, str]]) -> str:
    """A line for each student, a column for each assignment: points, "?" what cannot be graded, "-" what never came."""
    marks: dict[str, dict[str, str]] = {}
    most: dict[str, str] = {}
    for row in rows:
        name = row["assignment"]
        marks.setdefault(row["student_id"], {})[name] = f"{float(row['score']):g}" if row["score"] else "?"
        most[name] = f"{float(row['max_score']):g}"
    lines = [["student", *(f"{name} ({points})" for name, points in most.items())]]
    lines += [[student, *(marks[student].get(name, "-") for name in most)] for student in sorted(marks)]
    return "\n".join(aligned(lines))


def main() -> int:
    """0 when all that was handed in has marks."""
    if not (COURSE / "release").is_dir():
        sys.exit("There is no build/classroom yet: run make classroom first.")
    if not handed_in(COURSE):
        sys.exit(
            "Nothing was handed in: put files at build/classroom/submitted/STUDENT/ASSIGNMENT/ASSIGNMENT.ipynb, for "
            "example submitted/kim/assignment_00_start_here/assignment_00_start_here.ipynb."
        )
    if reason := sandbox.refusal() or unusable(COURSE):
        sys.exit(reason)
    with alone(ROOT / "build" / "classroom.lock", "make classroom or make grade runs here: waiting for it."):
        wrong = misplaced(COURSE) + grade(COURSE)
    with open(COURSE / "grades.csv", newline="", encoding="utf-8") as file:
        print(f"\n{table(csv.DictReader(file))}\n")
    print("Marks: build/classroom/grades.csv. Feedback, a page for each learner: build/classroom/feedback.")
    if wrong:
        print("\n".join([*wrong, "What nbgrader said is in build/classroom/grade.log."]), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
