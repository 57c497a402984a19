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
import tempfile
import time
import warnings
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import nbformat

from hiding_latency.outcome import aligned
from ptxsim import whole
from tools.classroom import mend, rebuild, results, sandbox, wide
from tools.classroom.release import COURSE, unusable
from tools.classroom.results import Found
from tools.install import ROOT, alone

ONE = "tools.classroom.one"
SECONDS = {ONE: 900, "nbgrader": 120}
"""For a submission, whose cells may run for 600 of them, and for the table."""


MENDED = "mended"
"""The folder of what was put together anew, beside submitted/, whose files stay as they came."""


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


def submitted(course: Path, student: str, name: str, folder: str = "submitted") -> Path:
    """Where a learner's notebook is put."""
    return course / folder / student / name / f"{name}.ipynb"


def graded(course: Path, student: str, name: str) -> Path:
    """Where the same notebook lies, run, when it has marks."""
    return course / "autograded" / student / name / f"{name}.ipynb"


def notes(course: Path) -> dict[str, dict]:
    """ "STUDENT/ASSIGNMENT" -> "hash": of what was graded last; "why": why it could not be; "points" of each exercise;
    "remark"."""
    try:
        return json.loads((course / "graded.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}  # everything is graded again


def grade(course: Path, at_once: int = 0) -> list[str]:
    """Grade, write feedback and export; returns what could not be done, one line each. `at_once`: how many submissions;
    0: one for each processor."""
    wrong, noted = [], notes(course)
    new = [each for each in _all(course) if _is_new(course, each, noted)]
    print(f"{len(new)} to grade, {len(_all(course)) - len(new)} as before", flush=True)
    with ThreadPoolExecutor(at_once or len(os.sched_getaffinity(0))) as pool:
        running = {pool.submit(_grade_safely, course, *each): each for each in new}
        for number, done in enumerate(as_completed(running), 1):
            name, student = running[done]
            result = done.result()
            print(f"  {number} of {len(new)}, {student}, {name}: {result.told()}", flush=True)
            noted[f"{student}/{name}"] = result.note()
            whole.write(course / "graded.json", json.dumps(noted, indent=1))
            whys = [result.why] if result.why else result.unknown()
            wrong += [f"cannot be graded: submitted/{student}/{name}, {why}" for why in whys]
            if not result.why and not (course / "feedback" / student / name / f"{name}.html").is_file():
                wrong.append(f"no feedback page: submitted/{student}/{name}")
    exported, said = _run(course, "nbgrader", "export")
    _log(course, said)
    return sorted(wrong) + ["failed: nbgrader export, so grades.csv is as it was"] * (not exported)


def _all(course: Path) -> list[tuple[str, str]]:
    """(assignment, student) of all that was handed in."""
    return [(name, student) for name, students in handed_in(course).items() for student in students]


def _is_new(course: Path, each: tuple[str, str], noted: dict[str, dict]) -> bool:
    """Whether a submission has no marks yet, or those of another content."""
    name, student = each
    content = _hash(submitted(course, student, name))
    return (
        not graded(course, student, name).is_file()
        or noted.get(f"{student}/{name}", {}).get("hash") != content
    )


@dataclass(frozen=True)
class Result:
    """Of one submission: the hash of what was graded, why it could not be, its seconds, what was found, and what a
    teacher should know besides."""

    content: str
    why: str = ""
    seconds: float = 0.0
    found: tuple[Found, ...] = ()
    remark: str = ""

    def told(self) -> str:
        """In a line: points, and of what is not right the reason."""
        if self.why:
            return f"cannot be graded, {self.why}"
        points = (
            f"{sum(each.points or 0 for each in self.found):g} of {sum(each.most for each in self.found):g}"
        )
        remark = [self.remark] if self.remark else []
        reasons = [f"{each.exercise} {each.reason}" for each in self.found if each.points != each.most]
        return "; ".join([f"{points}, {self.seconds:.0f} s", *remark, *reasons])

    def unknown(self) -> list[str]:
        """The exercises that nobody knows the points of, and why."""
        return [f"{each.exercise} {each.reason}" for each in self.found if each.points is None]

    def note(self) -> dict[str, object]:
        """As graded.json keeps it."""
        points = {each.exercise: each.points for each in self.found}
        claims = [each.exercise for each in self.found if each.claimed]
        claimed = f"the file says passed and the check does not: {', '.join(claims)}" if claims else ""
        remark = "; ".join(filter(None, [self.remark, *self.unknown(), claimed]))
        return {"hash": self.content, "why": self.why, "points": points, "remark": remark}


def _grade_safely(course: Path, name: str, student: str) -> Result:
    """Grade a submission; what goes wrong with one, whatever its file may hold, ends no other one's grading."""
    try:
        return _grade_one(course, name, student)
    except Exception as error:
        shutil.rmtree(course / "autograded" / student / name, ignore_errors=True)
        return Result("", f"grading stops with {type(error).__name__}: {' '.join(str(error).split())[:80]}")


def _grade_one(course: Path, name: str, student: str) -> Result:
    """Grade a submission, and forget what was said of an older one."""
    begin = time.monotonic()
    file, marked = submitted(course, student, name), graded(course, student, name)
    content = _hash(file)  # of the file as it is graded, whatever comes meanwhile
    for folder in "autograded", "feedback", MENDED:
        shutil.rmtree(course / folder / student / name, ignore_errors=True)
    release, folder, lost, remark = course / "release" / name / f"{name}.ipynb", "submitted", [], ""
    if why := unreadable(file, release):
        folder = MENDED
        try:
            lost = _mend(file, release, submitted(course, student, name, MENDED))
        except (OSError, rebuild.NoAnswers):  # there is no file, or nothing of use in it
            return Result(content, why)
        remark = "put together anew from a damaged file"
    worked, said = _run(course, ONE, str(course), name, student, folder)
    _log(course, said)
    if worked and marked.is_file():
        found = results.found(marked, file, lost)
        return Result(content, "", time.monotonic() - begin, tuple(found), remark)
    shutil.rmtree(course / "autograded" / student / name, ignore_errors=True)  # it may lie there, not run
    errors = re.findall(r"(?m)^[\w.]*(?:Error|Exception): .+$", said)
    return Result(content, f"nbgrader stopped ({errors[-1][:80] if errors else 'see grade.log'})")


def _mend(file: Path, release: Path, place: Path) -> list[str]:
    """Write what can be read of a damaged file as a whole one; returns the exercises whose answers were lost."""
    notebook, lost = mend.mended(file.read_bytes(), nbformat.read(release, as_version=4))
    mend.write(notebook, place, file)
    return lost


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


def _run(course: Path, module: str, *arguments: str) -> tuple[bool, str]:
    """Run a module in the course's folder. Returns whether it went well, and what it said. What learners wrote passes
    through it, so it has limits."""
    limits = [] if sandbox.unsafe() else ["prlimit", f"--as={sandbox.MEMORY}"]
    command = [*limits, sys.executable, "-W", "ignore", "-m", module, *arguments]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    with tempfile.TemporaryFile() as log:
        outputs = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
        try:
            environment = os.environ | {"PYTHONPATH": path}
            done = subprocess.run(command, cwd=course, env=environment, timeout=SECONDS[module], **outputs)
            worked = done.returncode == 0
        except subprocess.TimeoutExpired:
            log.write(f"Error: more than {SECONDS[module]} seconds\n".encode())
            worked = False
        log.seek(0)
        return worked, log.read().decode(errors="replace")


def _log(course: Path, said: str) -> None:
    """Keep what was said, in one piece, also where several submissions are graded at once."""
    with open(course / "grade.log", "a", encoding="utf-8") as log:
        log.write(said)


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
        rows = list(csv.DictReader(file))
    wide.write(COURSE / "grades_wide.csv", rows, notes(COURSE))
    print(f"\n{table(rows)}\n")
    print("Marks: build/classroom/grades.csv, and grades_wide.csv with a line for each learner.")
    print("Feedback, a page for each learner: build/classroom/feedback.")
    if wrong:
        print("\n".join([*wrong, "What nbgrader said is in build/classroom/grade.log."]), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
