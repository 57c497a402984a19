"""Assignments without solutions, made by rule from lessons; the pieces around nbgrader. Nothing here needs nbgrader."""

import csv
import json
import os
import re
import shutil

import nbformat
import pytest

from tools import install
from tools.classroom import grade, release, sandbox
from tools.classroom.assignment import assignment, exercises, tags, without_solutions

NOTEBOOKS = release.notebooks()


def read(name):
    return nbformat.read(NOTEBOOKS[name], as_version=4)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_release_holds_no_solution(name):
    """Neither the assignment nor the lesson that a submission can read while it is graded."""
    lesson = read(name)
    solutions = [cell.source for cell in lesson.cells if "solution" in tags(cell)]
    blocks = [block for text in solutions for block in re.findall(r"```\w+\n(.*?)```", text, re.DOTALL)]
    assert len(blocks) >= len(exercises(lesson)), "every exercise has a solution in code"
    for made in assignment(lesson, name), without_solutions(lesson):
        sources = "\n".join(cell.source for cell in made.cells)
        assert [text for text in solutions + blocks if text.strip() in sources] == []
        assert "<summary>Solution" not in sources
        assert all(not cell.get("outputs") for cell in made.cells)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_exercise_has_a_stub_and_a_check(name):
    lesson = read(name)
    made = assignment(lesson, name)
    nbformat.validate(made)
    kinds = [cell.metadata.get("nbgrader") for cell in made.cells if "nbgrader" in cell.metadata]
    names = [exercise.name.replace(".", "-") for exercise in exercises(lesson)]
    assert [kind["grade_id"] for kind in kinds if kind["solution"]] == [f"answer-{name}" for name in names]
    assert [kind["grade_id"] for kind in kinds if kind["grade"]] == [f"check-{name}" for name in names]
    assert all(kind["locked"] and kind["points"] == 1 for kind in kinds if kind["grade"])
    texts = [cell.source for cell in made.cells if cell.cell_type == "markdown"]
    assert sum("<summary>Hint" in text for text in texts) == len(names), "a hint for each"
    assert not any(re.search(r"\]\((?!https?:)", text) for text in texts), (
        "a link that leads nowhere from here"
    )


def lesson(*cells):
    """A small lesson; a cell with `check_exercise` is an exercise, one that begins with # or < is text."""
    made = []
    for source in cells:
        if source[0] in "#<":
            made.append(nbformat.v4.new_markdown_cell(source))
        else:
            made.append(nbformat.v4.new_code_cell(source))
        kind = {"check_exercise(": "exercise", "Solution": "solution"}
        made[-1].metadata.tags = [tag for word, tag in kind.items() if word in source]
    return nbformat.v4.new_notebook(cells=made)


USES = "from course_lib import a, b, check_exercise\nc = 0"
KERNEL = "# Exercise 00.1: long"
ASKS = 'mine = kernel + "____"\ncheck_exercise("00.1", (mine, 2))\nmine'


def test_an_assignment_brings_what_its_exercises_use():
    made = assignment(
        lesson("# A lesson", USES, "kernel = b\nother = a", "# S\n## Exercise 00.1: x\n\n[go](there.ipynb)", ASKS,
               "print(mine)", "<details><summary>Hint</summary>\n\nH\n</details>", "<details>Solution</details>",
               "# Next"),
        "A lesson",
    )  # fmt: skip
    title, needed, text, answer, check, hint = made.cells
    assert title.source.startswith("# A lesson: exercises") and "One exercise, one point" in title.source
    assert needed.source == "from course_lib import b, check_exercise\nkernel = b"
    assert text.source == "## Exercise 00.1: x\n\ngo"
    assert answer.source == 'mine = kernel + "____"'
    assert 'check_exercise("00.1", (mine, 2))' in check.source and check.source.splitlines()[-1].startswith(
        "1 *"
    )
    assert "H" in hint.source


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["# Exercise 00.2", USES, "kernel = 1", ASKS], "no heading '## Exercise 00.1'"),
        ([USES, KERNEL, ASKS], "uses 'kernel', and nothing above it binds"),
        ([USES, KERNEL, "kernel = 1", ASKS + "\ncheck_exercise('00.1', 1)"], "not 2"),
        ([USES, "kernel = 1", KERNEL, ASKS, "kernel = 2", "# Exercise 00.2", ASKS.replace("0.1", "0.2")],
         "two values of 'kernel'"),
    ],
)  # fmt: skip
def test_a_lesson_that_breaks_the_rules_is_refused(cells, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        assignment(lesson(*cells), "x")


def test_what_lies_in_the_wrong_place_is_named(tmp_path):
    for place in "release/00_a", "submitted/kim/00_a", "submitted/lee/00_b", "submitted/max/00_a":
        (tmp_path / place).mkdir(parents=True)
    for place in "kim/00_a/00_a.ipynb", "lee/00_b/00_b.ipynb", "00_a.ipynb", "max/00_a/00_a (1).ipynb":
        (tmp_path / "submitted" / place).write_text("{}")
    assert grade.handed_in(tmp_path) == {"00_a": ["kim", "max"]}
    assert grade.misplaced(tmp_path) == [
        "not graded, it is in the wrong place: submitted/00_a.ipynb",
        "not graded, it is in the wrong place: submitted/lee/00_b/00_b.ipynb",
        "not graded, it is in the wrong place: submitted/max/00_a/00_a (1).ipynb",
        "missing: submitted/max/00_a/00_a.ipynb",
    ]


def test_newer_work_is_graded_again(tmp_path):
    old, new = (tmp_path / folder / "kim" / "00_a" / "00_a.ipynb" for folder in ("autograded", "submitted"))
    for path in old, new:
        path.parent.mkdir(parents=True)
        path.write_text("{}")
    os.utime(old, (1000, 1000))
    os.utime(new, (900, 900))
    grade._forget_older(tmp_path, "kim", "00_a")
    assert old.exists()
    os.utime(new, (1100, 1100))
    grade._forget_older(tmp_path, "kim", "00_a")
    assert not old.exists() and new.exists()


def test_the_table_of_marks():
    rows = csv.DictReader(
        "assignment,student_id,score,max_score\na,kim,0.0,3.0\na,lee,0.0,3.0\nb,kim,2.0,4.0\n".splitlines()
    )
    assert grade.table(rows, {"a": ["kim"]}) == "student  a (3)\nkim      0\nlee      -"


def test_grading_is_refused_without_a_sandbox(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda tool, path: None if tool == "setpriv" else tool)
    monkeypatch.delenv("COURSE_UNSAFE", raising=False)
    sandbox.refusal.cache_clear()
    assert re.match(r"Nothing is graded: not found: setpriv .*COURSE_UNSAFE=yes", sandbox.refusal())
    monkeypatch.setenv("COURSE_UNSAFE", "yes")
    sandbox.refusal.cache_clear()
    assert sandbox.refusal() == ""
    sandbox.refusal.cache_clear()


def test_the_installer_asks_a_wheelhouse_only(tmp_path, monkeypatch):
    monkeypatch.setattr(install, "ROOT", tmp_path / "a folder")
    assert install.sources() == {}
    (tmp_path / "a folder" / install.WHEELHOUSE).mkdir(parents=True)
    found = install.sources()
    assert found["PIP_NO_INDEX"] == "1" and found["PIP_FIND_LINKS"].startswith("file:")
    assert " " not in found["PIP_FIND_LINKS"], "pip takes spaces for the next address"


def test_the_course_has_a_folder_for_each_assignment(tmp_path):
    name = next(iter(NOTEBOOKS))
    assert release.write_course(tmp_path, {name: NOTEBOOKS[name]}) == [name]
    (tmp_path / "source" / "99_gone").mkdir()
    release.write_course(tmp_path, {name: NOTEBOOKS[name]})
    assert os.listdir(tmp_path / "source") == [name], "an assignment of an older version goes"
    made = json.loads((tmp_path / "source" / name / f"{name}.ipynb").read_text(encoding="utf-8"))
    assert made["nbformat"] == 4
    assert (tmp_path / "lessons" / f"{name}.ipynb").is_file()
