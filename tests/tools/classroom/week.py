"""A teacher's week: thirty learners hand in one assignment, and six of them not as one would wish.

`python -m tests.tools.classroom.week 02` lives it in a temporary folder, and prints lines and seconds.
"""

import csv
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.rules import ROOT
from tests.tools.classroom import hand_ins
from tools.classroom import grade, release, wide

LEARNERS = 30
DUE, CAME = "2027-03-01 18:00:00 UTC", "2027-03-02 19:30:00 UTC"
ODD = ("broken", "late", "hostile", "copied", "resubmitted", "empty")


def begin(course: Path, number: str) -> tuple[str, list[str]]:
    """The assignment of a lesson, due on a day: its name, and its exercises."""
    found = {
        name: path for name, path in release.notebooks().items() if name.startswith(f"assignment_{number}")
    }
    name = next(iter(found))
    release.write_course(course, {name: found[name]})
    wrong = release.generate(course, [name])
    assert not wrong, wrong
    _nbgrader(course, "db", "assignment", "add", name, f"--duedate={DUE}")
    return name, list(hand_ins.answers(found[name]))


def hand_in_all(course: Path, name: str) -> dict[str, float | str]:
    """Thirty notebooks in submitted/. Returns for each learner the score, or a word of the remark."""
    lesson = release.notebooks()[name]
    right, wrong = hand_ins.answers(lesson), hand_ins.answers(lesson, wrong=True)
    exercises, expected = list(right), {}
    for number in range(LEARNERS - len(ODD)):  # all right, or one wrong, or one not done
        student, exercise = f"learner_{number:02}", exercises[number % len(exercises)]
        mine = {"wrong": right | {exercise: wrong[exercise]}, "gap": _without(right, exercise)}
        kind = ("right", "right", "wrong", "gap")[number % 4]
        hand_ins.hand_in(course, student, mine.get(kind, right), name)
        expected[student] = len(right) - (kind != "right")
    for student in ODD:
        hand_ins.hand_in(course, student, right, name)
        expected[student] = len(right)
    first, second, *others = exercises
    file = grade.submitted(course, "broken", name)
    text = file.read_text(encoding="utf-8")
    file.write_text(text[: text.index(f"answer-{exercises[-1].replace('.', '-')}")], encoding="utf-8")
    grade.submitted(course, "late", name).with_name("timestamp.txt").write_text(CAME)
    hostile = {first: hand_ins.CROWD, second: hand_ins.ENDLESS, **dict.fromkeys(others, hand_ins.PATCHED)}
    hand_ins.hand_in(course, "hostile", hostile, name)
    hand_ins.hand_in(course, "resubmitted", _without(right, second), name)
    hand_ins.hand_in(course, "empty", {}, name)
    fewer = {"broken": len(right) - 1, "hostile": 0, "resubmitted": len(right) - 1, "empty": 0}
    return expected | fewer


def hand_in_again(course: Path, name: str) -> None:
    """What `resubmitted` sends on the next day, all right."""
    hand_ins.hand_in(course, "resubmitted", hand_ins.answers(release.notebooks()[name]), name)


def graded(course: Path) -> tuple[list[str], float]:
    """Grade what is new: what could not be done, and seconds."""
    start = time.monotonic()
    wrong = grade.grade(course)
    with open(course / "grades.csv", newline="", encoding="utf-8") as file:
        wide.write(course / "grades_wide.csv", csv.DictReader(file), grade.notes(course))
    return wrong, time.monotonic() - start


def _without(answers: dict[str, str], exercise: str) -> dict[str, str]:
    return {name: text for name, text in answers.items() if name != exercise}


def _nbgrader(course: Path, *arguments: str) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "nbgrader", *arguments]
    subprocess.run(command, cwd=course, env=environment, check=True, capture_output=True)


def main(number: str = "02") -> None:
    with tempfile.TemporaryDirectory() as folder:
        course = Path(folder, "course")
        name, _ = begin(course, number)
        expected = hand_in_all(course, name)
        wrong, seconds = graded(course)
        marks = hand_ins.marks(course)
        print(*wrong, f"{len(expected)} submissions: {seconds:.0f} s", sep="\n")
        print("other than expected:", {who: marks[who] for who in expected if marks[who] != expected[who]})
        hand_in_again(course, name)
        print(
            f"one again: {graded(course)[1]:.0f} s",
            (course / "grades_wide.csv").read_text("utf-8-sig"),
            sep="\n",
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
