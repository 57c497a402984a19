"""docs/instructor.md from top to bottom, in one go, as a teacher has it: in a fresh copy of the course, and after
`make wheelhouse` without a network. What is typed here stands on that page."""

import csv
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import nbformat
import pytest

from course_lib.lessons import sources
from tests.rules import ROOT
from tests.tools.classroom.hand_ins import NAME, answered, answers
from tests.tools.made import fresh
from tools.classroom import sandbox

PAGE = (ROOT / "docs" / "instructor.md").read_text(encoding="utf-8")
EVENING = "assignment_02_producer_consumer"
NOT_OURS = ("PYTHONPATH", "VIRTUAL_ENV", "MAKEFLAGS", "MAKELEVEL", "MFLAGS", "COURSE_NOTHING_MISSING")


class Teacher:
    """A copy of the course, and who types in it."""

    def __init__(self, course: Path) -> None:
        self.course, self.seconds = course, {}

    def types(self, command: str, network: bool = False, fails: bool = False, within: str = ".") -> str:
        """Type a command that the page has; returns what it printed."""
        assert command in PAGE, f"docs/instructor.md does not say {command}"
        environment = {name: value for name, value in os.environ.items() if name not in NOT_OURS}
        alone = [] if network else ["unshare", "-rn"]
        start = time.monotonic()
        done = subprocess.run(
            [*alone, "sh", "-c", command],
            cwd=self.course / within,
            env=environment,
            capture_output=True,
            text=True,
            timeout=1800,
        )
        self.seconds[command] = round(time.monotonic() - start)
        assert (done.returncode != 0) is fails, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout + done.stderr

    def puts(self, student: str, name: str, right: dict[str, str]) -> None:
        """Put what a learner sent where the page says."""
        released = self.course / "build/classroom/release" / name / f"{name}.ipynb"
        notebook = answered(nbformat.read(released, as_version=4), right)
        place = self.course / "build/classroom/submitted" / student / name / f"{name}.ipynb"
        place.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, place)

    def marks(self) -> dict[str, str]:
        with open(self.course / "build/classroom/grades.csv", newline="", encoding="utf-8") as file:
            return {f"{row['student_id']} {row['assignment']}": row["score"] for row in csv.DictReader(file)}


@pytest.mark.skipif(os.environ.get("COURSE_ALL_LESSONS") != "1", reason="ten minutes: COURSE_ALL_LESSONS=1")
def test_the_page_for_instructors_from_top_to_bottom(tmp_path, capsys):
    if reason := sandbox.why_not():
        pytest.skip(reason)
    first = Teacher(fresh(tmp_path / "first"))
    try:
        first.types("make wheelhouse", network=True)
    except AssertionError as error:
        pytest.skip(f"no packages from a network here: {str(error)[-300:]}")
    shutil.rmtree(first.course / ".venv")
    first.course.rename(tmp_path / "a laptop")  # the copy on another machine
    teacher = Teacher(tmp_path / "a laptop")

    assert "Hand out the folders" in teacher.types("make classroom")
    right = {name: answers(sources.NOTEBOOKS / f"{name[11:]}.ipynb") for name in (NAME, EVENING)}
    for name in right:
        teacher.puts("kim", name, right[name])
        teacher.puts("lee", name, {})
    said = teacher.types("make grade")
    assert "4 to grade, 0 as before" in said and re.search(rf"kim, {NAME}: 3 of 3, \d+ s", said)
    assert f"lee, {EVENING}: 0 of 3" in said
    pages = list((teacher.course / "build/classroom/feedback/kim").rglob("*.html"))
    assert sorted(page.stem for page in pages) == sorted(right)
    assert (teacher.course / "build/classroom/grades_wide.csv").is_file()

    teacher.puts("lee", EVENING, right[EVENING])  # again, better
    (teacher.course / "build/classroom/submitted/lee" / NAME / f"{NAME}.ipynb").write_text(
        "{"
    )  # again, broken
    said = teacher.types("make grade")
    assert "2 to grade, 2 as before" in said and f"cannot be graded: submitted/lee/{NAME}" in said
    assert teacher.marks() == {
        f"kim {NAME}": "3.0",
        f"kim {EVENING}": "3.0",
        f"lee {NAME}": "",
        f"lee {EVENING}": "3.0",
    }

    for command in re.findall(r"(?m)^\.\./\.\./\.venv/bin/nbgrader .*$", PAGE):
        teacher.types(command, within="build/classroom", fails="autograde" in command)  # lee's is broken
    teacher.types("make classroom")
    assert "0 to grade" not in teacher.types("make grade"), "what cannot be graded is tried again"
    assert "stays" in teacher.types("make clean")
    assert teacher.marks()[f"kim {EVENING}"] == "3.0"
    with capsys.disabled():
        print({**first.seconds, **teacher.seconds})


def test_the_page_has_a_row_for_each_sitting_and_an_evening_of_90_minutes():
    """Both tables are written by tools; here is what a teacher counts on."""
    evening = re.search(r"\| \| \*\*together\*\* \| \*\*(\d+)\*\* \|", PAGE)
    assert evening and 85 <= int(evening[1]) <= 90
    rows = re.findall(r"(?m)^\|\d\d\|([\d|]+)\|\d+\|$", PAGE)
    minutes = [int(sitting) for row in rows for sitting in row.split("|") if sitting]
    assert len(minutes) >= 27 and max(minutes) <= 45
