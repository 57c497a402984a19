"""Assignments without solutions, made by rule from lessons; the pieces around nbgrader. Nothing here needs nbgrader."""

import csv
import hashlib
import json
import math
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import nbformat
import pytest

from course_lib.lessons import sources
from tools import install
from tools.classroom import grade, mend, one, rebuild, release, results, sandbox, watch, wide
from tools.classroom.assignment import assignment, exercises, tags, without_solutions

NOTEBOOKS = release.notebooks()
FIRST = dict([*NOTEBOOKS.items()][:1])


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
    assert not any("☾" in text for text in texts), "the evening is a way through the lesson"


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
    ]


FORM = [
    ("title", "# The title", {}),
    ("needed", "given = 1", {"locked": True}),
    ("text-1", "## Exercise 1", {}),
    ("answer-1", "mine = ____", {"solution": True}),
    ("check-1", "mine == 1", {"grade": True, "locked": True, "points": 1}),
    ("text-2", "## Exercise 2", {}),
    ("answer-2", "other = ____", {"solution": True}),
    ("check-2", "other == 2", {"grade": True, "locked": True, "points": 1}),
]


def form(**answers):
    """An assignment of two exercises as learners get it; `answer_1="..."` fills it in."""
    made = nbformat.v4.new_notebook()
    for name, source, mark in FORM:
        new = nbformat.v4.new_code_cell if mark else nbformat.v4.new_markdown_cell
        made.cells.append(new(answers.get(name.replace("-", "_"), source), id=name))
        if mark:
            kinds = {"grade": False, "solution": False, "locked": False, "task": False}
            made.cells[-1].metadata.nbgrader = {"grade_id": name, "schema_version": 3} | kinds | mark
    return made


def own(source):
    return nbformat.v4.new_code_cell(source)


def without(notebook, *names):
    notebook.cells = [cell for cell in notebook.cells if cell.id not in names]
    return notebook


def ran(notebook):
    """The sources of the code, in the order in which grading runs it."""
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


RIGHT = {"answer_1": "mine = given", "answer_2": "other = 2"}
WHOLE = ["given = 1", "mine = given", "mine == 1", "other = 2", "other == 2"]


def test_what_is_whole_stays_as_it_is():
    assert rebuild.rebuilt(form(**RIGHT), form()) == form(**RIGHT)


@pytest.mark.parametrize(
    "lost", [["needed"], ["check-1"], ["check-2"], ["needed", "check-1", "text-2", "check-2"]]
)
def test_a_deleted_locked_cell_costs_nothing(lost):
    assert ran(rebuild.rebuilt(without(form(**RIGHT), *lost), form())) == WHOLE


def test_edited_and_moved_cells_cost_nothing():
    handed = form(**RIGHT, needed="given = 7", check_1="mine")
    handed.cells.reverse()
    made = rebuild.rebuilt(handed, form())
    assert ran(made) == WHOLE and [cell.id for cell in made.cells] == [name for name, *_ in FORM]
    nbformat.validate(made)


def test_cells_are_known_by_their_ids_where_a_program_drops_marks_and_by_marks_where_it_drops_ids():
    for of in ("mark", "id"):
        handed = without(form(**RIGHT), "check-1")
        for cell in handed.cells:
            (cell.metadata.pop if of == "mark" else cell.pop)({"mark": "nbgrader", "id": "id"}[of], None)
        handed.nbformat_minor = 5 if of == "mark" else 4
        made = rebuild.rebuilt(handed, form())
        assert ran(made) == WHOLE
        assert sum("Exercise" in cell.source for cell in made.cells) == 2, "no text stands twice"
        nbformat.validate(made)


def test_a_learners_own_cells_run_where_they_stood():
    handed = form(**RIGHT | {"answer_1": "mine = helped(1)"})
    handed.cells.insert(3, own("helped = int"))
    handed.cells.insert(5, own("mine += 0"))  # below the answer, above its check
    made = ran(rebuild.rebuilt(without(handed, "check-1"), form()))
    assert made[:5] == ["given = 1", "helped = int", "mine = helped(1)", "mine += 0", "mine == 1"]


def test_an_answer_in_a_cell_of_ones_own_is_not_undone_by_the_gap_that_comes_back():
    handed = without(form(**RIGHT), "answer-1")
    handed.cells.insert(3, own("mine = 1"))
    assert ran(rebuild.rebuilt(handed, form()))[:4] == ["given = 1", "mine = ____", "mine = 1", "mine == 1"]


def test_both_halves_of_a_split_answer_count():
    handed = form(**RIGHT)
    handed.cells.insert(3, form(answer_1="half = 1").cells[3])  # with the same mark
    handed.cells[4].source = "mine = half"
    made = rebuild.rebuilt(handed, form())
    assert ran(made)[1:4] == ["half = 1", "mine = half", "mine == 1"]
    nbformat.validate(made)


def test_an_answer_that_became_text_is_code_again():
    handed = form(**RIGHT)
    handed.cells[3] = nbformat.v4.new_markdown_cell("mine = given", metadata=handed.cells[3].metadata)
    assert ran(rebuild.rebuilt(handed, form())) == WHOLE


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "the file 00_a.ipynb is missing"),
        ("{", "it is no notebook (Notebook does not appear to be JSON"),
        ('{"cells": 1, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}', "it is no notebook ("),
        (nbformat.writes(without(form(), "answer-1", "answer-2")), "it is another notebook"),
        (nbformat.writes(form(**RIGHT)), ""),
    ],
)
def test_what_cannot_be_graded_says_why(tmp_path, text, why):
    path = tmp_path / "00_a.ipynb"
    if text:
        path.write_text(text)
    write(tmp_path / "form.ipynb", nbformat.writes(form()))
    found = one.unreadable(path, tmp_path / "form.ipynb")
    assert why in found and bool(why) == bool(found)


def checked_cell(exercise, said, points):
    """A cell that gave points, as it stands in a graded notebook."""
    shown = nbformat.v4.new_output("execute_result", {"text/plain": str(points)}, execution_count=1)
    mark = {"grade": True, "grade_id": f"check-{exercise.replace('.', '-')}", "points": 1}
    outputs = [nbformat.v4.new_output("stream", text=f"{exercise} {said}\n"), shown]
    metadata = {"nbgrader": mark, results.GIVEN: float(points)}
    return nbformat.v4.new_code_cell("", outputs=outputs, metadata=metadata)


CHECKED = nbformat.writes(
    nbformat.v4.new_notebook(
        cells=[
            checked_cell("00.1", "passed: right.", 1),
            checked_cell("00.2", "not yet: a barrier\nis missing.", 0),
        ]
    )
)


def test_points_are_those_that_were_noted_whatever_the_outputs_say(tmp_path):
    cell = checked_cell("00.3", "passed", 1)
    cell.metadata[results.GIVEN] = 0.0
    cell.outputs[0] = nbformat.v4.new_output(
        "error", ename="E", evalue="cannot be graded, \x1b[2J", traceback=[]
    )
    found = results.found(*written(tmp_path, cell, "00.1 passed: right."))
    assert found == [results.Found("00.3", 0.0, 1.0, r"cannot be graded, \x1b[2J")]
    (claimed,) = results.found(*written(tmp_path, cell, "00.3 passed: right."))
    assert claimed.reason.endswith("(the file that came says passed)") and claimed.claimed
    cell.metadata[results.GIVEN] = None
    (unknown,) = results.found(*written(tmp_path, cell, ""))
    assert unknown.points is None
    said = grade.Result("", found=(unknown,)).note("", {})["remark"]
    assert said == r"00.3 cannot be graded, \x1b[2J"
    del cell.metadata[results.GIVEN]  # a teacher's own test
    assert results.found(*written(tmp_path, cell, ""))[0].points == 0
    del cell.outputs[0]
    assert results.found(*written(tmp_path, cell, ""))[0].points == 1


def written(folder, cell, came):
    """A graded notebook of one cell, and the file as it came."""
    write(folder / "a.ipynb", nbformat.writes(nbformat.v4.new_notebook(cells=[cell])))
    write(folder / "came.ipynb", came)
    return folder / "a.ipynb", folder / "came.ipynb"


@pytest.fixture
def marked(tmp_path, monkeypatch):
    """A course where kim and lee handed in, and nbgrader's commands, which only leave their files; `asked` has them."""
    for place in "release/00_a", "submitted/kim/00_a", "submitted/lee/00_a":
        write(tmp_path / place / "00_a.ipynb", nbformat.writes(form()))

    def run(course, module, *arguments, turn=None):
        if module != grade.ONE:
            return not asked.append(arguments[0]), ""
        name, student, told = arguments[1:]
        ready = one.prepared(course, name, student)
        asked.append(student if ready.folder == "submitted" else f"{student} in {ready.folder}")
        file, marked = grade.submitted(course, student, name), grade.graded(course, student, name)
        if worked := not ready.why and "left = 1" not in file.read_text():
            write(marked, CHECKED)
            write(course / "feedback" / student / name / f"{name}.html", "")
        if worked or ready.why:
            one.tell(Path(told), ready, results.found(marked, file, ready.lost) if worked else [])
        return worked, "x.OddError: it broke\n"

    asked = []
    monkeypatch.setattr(grade, "_run", run)
    return tmp_path, asked


def test_other_content_is_graded_again_whatever_its_date(marked, capsys):
    marked, asked = marked
    assert grade.grade(marked) == []
    assert sorted(asked[:2]) == ["kim", "lee"] and asked[2:] == ["export"]
    said = capsys.readouterr().out
    assert said.startswith("2 to grade, 0 as before\n  1 of 2, ")
    assert re.search(r"  \d of 2, kim, 00_a: 1 of 2, 0 s; 00.2 not yet: a barrier is missing.\n", said)
    asked.clear()
    again = grade.submitted(marked, "kim", "00_a")
    again.write_text(nbformat.writes(form(**RIGHT)))
    os.utime(again, (1000, 1000))  # unzip and cp -p keep a date
    os.utime(grade.submitted(marked, "lee", "00_a"))  # newer, and the same
    assert grade.grade(marked) == []
    assert asked == ["kim", "export"]
    assert "1 to grade, 1 as before" in capsys.readouterr().out


def test_one_that_ends_its_grading_ends_no_other_one(marked, monkeypatch):
    marked, _ = marked

    def found(graded, submitted, lost):
        if "kim" in submitted.parts:
            raise TypeError("a number in place of a text")
        return []

    monkeypatch.setattr(results, "found", found)
    (wrong,) = grade.grade(marked)
    assert wrong.endswith("kim/00_a, grading stops with TypeError: a number in place of a text")
    assert grade.notes(marked)["lee/00_a"]["why"] == "" and not grade.graded(marked, "kim", "00_a").exists()


def test_two_submissions_are_graded_at_once(marked, monkeypatch):
    marked, _ = marked
    both, run = threading.Barrier(2, timeout=10), grade._run

    def together(course, module, *arguments, **most):
        if module == grade.ONE:
            both.wait()  # breaks where one waits for the other's end
        return run(course, module, *arguments, **most)

    monkeypatch.setattr(grade, "_run", together)
    assert grade.grade(marked, at_once=2) == []


@pytest.mark.parametrize("last", ["ann", "zoe"])
def test_one_that_takes_longer_than_the_others_waits_for_the_next_call(marked, monkeypatch, capsys, last):
    """Wherever it stands, it holds up nobody; then it has all of its time."""
    marked, _ = marked
    for student in "ann", "zoe":
        shutil.copytree(marked / "submitted" / "kim", marked / "submitted" / student)
    run, given = grade._run, {"ann": [], "zoe": []}

    def slowly(course, module, *arguments, turn=None):
        if module == grade.ONE and arguments[2] in given:
            given[arguments[2]].append(turn and turn._most())
            if turn:
                turn.go_on(turn._most() + 0.1)
        return run(course, module, *arguments)

    monkeypatch.setattr(grade, "_run", slowly)
    monkeypatch.setattr(grade.random, "shuffle", lambda each: each.sort(reverse=last == "ann"))
    wrong = grade.grade(marked, at_once=1)
    assert wrong == [
        f"not graded yet: submitted/{who}/00_a, it takes longer than the others: make grade once more grades it, with "
        "ten minutes"
        for who in ("ann", "zoe")
    ]
    assert capsys.readouterr().out.count("put off, 20 s\n") == 2
    assert given[last] == [20] and sorted(given.values())[-1] == [40, 20], "at first nobody knows"
    assert set(grade.notes(marked)["kim/00_a"]["points"].values()) == {0.0, 1.0}
    assert grade.grade(marked, at_once=1) == [], "nobody waits now but each other"
    assert [times[-1] for times in given.values()] == [None, None]
    assert "2 to grade" in capsys.readouterr().out and grade.grade(marked) == []


@pytest.mark.parametrize("code", ["time.sleep(60)", "os.fork(); os.fork()\nwhile True: pass"])
def test_a_process_that_takes_too_long_or_too_much_is_ended(tmp_path, monkeypatch, code):
    (tmp_path / "endless.py").write_text(f"import os, time\nprint('x', flush=True)\n{code}")
    monkeypatch.setitem(grade.SECONDS, "endless", 60)
    monkeypatch.setattr(grade, "EVERY", 0.1)
    turn = grade.Turn(lambda: 1.0)
    with pytest.raises(grade.PutOff):
        grade._run(tmp_path, "endless", turn=turn)
    assert 1.0 < turn.taken < 9
    monkeypatch.setitem(grade.SECONDS, "endless", 1.5)
    assert grade._run(tmp_path, "endless", turn=grade.Turn(lambda: 99.0))[0] is False
    in_time(lambda: not any(works(int(path.name), tmp_path) for path in Path("/proc").glob("[0-9]*")))


WORKS = """
import os, time
def work():
    while time.process_time() < 0.2:
        pass
if os.fork() == 0:
    work()
    os._exit(0)
os.wait()
if os.fork() == 0:
    work()
    print(flush=True)
time.sleep(60)
"""


def test_a_process_is_measured_and_ended_with_all_that_it_started():
    command = [sys.executable, "-c", WORKS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        process.stdout.readline()
        worked = watch.family(process.pid)
        watch.end_family(process.pid)
    assert len(worked) == 2
    assert 0.4 <= sum(worked.values()) + 0.02 < 4, "of one that was waited for, and of one that is there"
    in_time(lambda: not any(map(works, worked)))


def test_who_waits_for_a_processor_takes_nothing(monkeypatch):
    def taken(seconds, worked, in_line):
        monkeypatch.setattr(watch, "family", lambda _: {1: worked / 2, 2: worked / 2})
        monkeypatch.setattr(watch, "_in_line", lambda processes: in_line)
        return watch.taken(1, seconds)

    assert taken(30, worked=0, in_line=0) == 30, "it sleeps"
    assert taken(30, worked=50, in_line=10) == 50, "on two processors"
    assert taken(30, worked=12, in_line=15) == 15, "beside others"
    assert taken(30, worked=1, in_line=200) == 10, "sixty threads that wait for each other"
    monkeypatch.undo()
    command = [sys.executable, "-c", "while True: pass"]
    several = [subprocess.Popen(command) for _ in range(2 * len(os.sched_getaffinity(0)) + 1)]
    try:
        in_time(lambda: watch._in_line([each.pid for each in several]) > 0.5)
    finally:
        for each in several:
            each.kill()
            each.wait()


def test_processes_that_end_while_they_are_measured_disturb_nobody():
    starts = "import os\nwhile True: os.waitpid(os.spawnlp(os.P_NOWAIT, 'true', 'true'), 0)"
    with subprocess.Popen([sys.executable, "-c", starts]) as process:
        try:
            ends = time.monotonic() + 1
            while time.monotonic() < ends:
                assert watch.taken(process.pid, 3) >= 1
        finally:
            watch.end_family(process.pid)
    assert watch._in_line([process.pid]) == 0


def in_time(condition) -> None:
    """Something becomes true in ten seconds: who is killed needs a moment to end."""
    ends = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.05)


def works(pid: int, where: Path | None = None) -> bool:
    """Whether a process is there, in this folder; one that ended may wait for somebody who looks at it."""
    try:
        here = not where or os.readlink(f"/proc/{pid}/cwd") == str(where)
        return here and Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_what_takes_long_depends_on_the_others_of_the_same_assignment():
    def after(*seconds, late=()):
        patience = grade.Patience()
        for each in late:
            patience.learn("00", grade.Result("", seconds=each, late=True))
        for each in seconds:
            patience.learn("00", grade.Result("", seconds=each))
        return patience.seconds("00")

    assert [after(), after(5.0), after(30.0, 20.0, 600.0), after(late=[20] * 6)] == [40, 20, 60, 160]
    beside = grade.Patience()
    beside.learn("00", grade.Result("", seconds=90.0, taken=15.0))
    assert beside.seconds("00") == 30, "others had the processors"
    assert after(0.0) == 40, "what could not be graded says nothing"
    late, slow = grade.Result("", seconds=20.5, late=True), grade.Patience()
    assert slow.learn("00", late), "nobody knows yet how long others take"
    slow.learn("00", grade.Result("", seconds=5.0))
    assert not slow.learn("00", late), "20 is all that others have"
    slow.learn("00", grade.Result("", seconds=30.0))
    assert slow.learn("00", late), "by now others have more"
    assert slow.seconds("01") == 40
    slow.somebody_waits = False
    assert (slow.seconds("01"), slow.seconds("00")) == (math.inf, 35)


def test_marks_of_another_judge_are_given_anew_and_say_what_was(marked, monkeypatch, capsys):
    marked, asked = marked
    assert grade.grade(marked) == []
    before = grade.notes(marked)
    for student, points in ("kim", {"00.1": 1.0, "00.2": 1.0}), ("lee", before["lee/00_a"]["points"]):
        before[f"{student}/00_a"] |= {"judge": "an older one", "points": points}
    write(marked / "graded.json", json.dumps(before))
    asked.clear()
    assert grade.grade(marked) == [] and sorted(asked) == ["export", "kim", "lee"]
    assert grade.notes(marked)["kim/00_a"]["remark"] == "an earlier version of the course gave 2"
    assert grade.notes(marked)["lee/00_a"]["remark"] == ""
    assert grade.grade(marked) == [] and "0 to grade" in capsys.readouterr().out.splitlines()[-1]


def test_a_name_that_a_table_or_a_spreadsheet_obeys_is_refused(marked, capsys):
    marked, asked = marked
    for name in "=1+1", "a\nb", "\x1b[2J", "@x":
        shutil.copytree(marked / "submitted" / "kim", marked / "submitted" / name)
    said = grade.misplaced(marked)
    assert len(said) == 4 and all("rename the folder: submitted/" in each for each in said)
    assert grade.grade(marked) == [] and sorted(asked) == ["export", "kim", "lee"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("=1+1", "'=1+1"),
        ("not yet; =HYPERLINK(0),@x", "not yet; '=HYPERLINK(0),'@x"),
        ("\x1b[2J a\nb", r"\x1b[2J a b"),
        ("3 - 4 = x", "3 - 4 = x"),
        (-1.0, -1.0),
        (None, None),
    ],
)
def test_no_cell_of_a_table_is_a_formula(text, shown):
    assert wide.in_a_cell(text) == shown


def test_no_mark_and_no_page_of_older_work_is_left_beside_what_cannot_be_graded(marked):
    marked, _ = marked
    assert grade.grade(marked) == []
    for student, text in ("kim", "{"), ("lee", nbformat.writes(form(answer_1="left = 1"))):
        grade.submitted(marked, student, "00_a").write_text(text)
    kim, lee = grade.grade(marked)
    assert kim.startswith("cannot be graded: submitted/kim/00_a, it is no notebook")
    assert lee == "cannot be graded: submitted/lee/00_a, nbgrader stopped (x.OddError: it broke)"
    for student in "kim", "lee":
        assert not grade.graded(marked, student, "00_a").exists()
        assert not list((marked / "feedback" / student).rglob("*.html"))
    assert grade.notes(marked)["lee/00_a"]["why"] == "nbgrader stopped (x.OddError: it broke)"


def test_a_damaged_file_is_graded_from_what_can_be_read(marked, capsys):
    marked, asked = marked
    file = grade.submitted(marked, "kim", "00_a")
    text = nbformat.writes(form(answer_1="mine = given + 41", answer_2="other = 2"))
    write(file, text[: text.index("other = 2") - 5])
    write(file.with_name("timestamp.txt"), "2027-01-01 12:00:00")
    assert grade.grade(marked) == [] and "kim in mended" in asked
    made = grade.submitted(marked, "kim", "00_a", grade.MENDED)
    assert ran(nbformat.read(made, 4)) == [
        "given = 1",
        "mine = given + 41",
        "mine == 1",
        "other = ____",
        "other == 2",
    ]
    assert made.with_name("timestamp.txt").is_file() and file.read_text() in text
    remark = "put together anew from a damaged file"
    assert grade.notes(marked)["kim/00_a"]["remark"] == remark and remark in capsys.readouterr().out
    write(file, text)
    assert grade.grade(marked) == [] and not made.exists() and not grade.notes(marked)["kim/00_a"]["remark"]


UTF_8 = nbformat.writes(
    form(answer_1="mine = given", answer_2="other = '\N{SNOWMAN}\N{LATIN SMALL LETTER A WITH GRAVE}'")
)


@pytest.mark.parametrize(
    ("damaged", "lost"),
    [
        *((UTF_8.encode(letters), []) for letters in ("utf-8-sig", "utf-16")),
        (UTF_8.encode("cp1252", errors="replace"), []),
        (UTF_8[UTF_8.index("answer-2") :].encode(), ["1", "2"]),
        (UTF_8.replace('"mine = given"', '"mine =\n given"').encode(), []),
        (UTF_8.replace('"nbformat": 4', '"nbformat": "?"').encode(), []),
        (UTF_8.replace('"cells": [', '"cells": {').encode(), []),
        (re.sub('("answer-1",\n +"metadata": ){', r"\1[", UTF_8).encode(), ["1"]),
        (re.sub(r'( *"mine = given".*\n)', r"<<<<<<< HEAD\n\1=======\n 1\n>>>>>>> b\n", UTF_8).encode(), []),
    ],
    ids=[
        "mark",
        "utf-16",
        "windows",
        "begin lost",
        "line in a string",
        "no version",
        "no list",
        "broken cells",
        "merged",
    ],
)
def test_of_a_damaged_file_every_whole_cell_counts(damaged, lost):
    if lost == ["1", "2"]:
        with pytest.raises(rebuild.NoAnswers):
            mend.mended(damaged, form())
        return
    made, gone = mend.mended(damaged, form())
    nbformat.validate(made)
    assert gone == lost
    assert [text for text in ran(made) if text.startswith("other =")] != ["other = ____"]


def test_a_mark_of_git_without_its_others_stays():
    whole = nbformat.writes(form(answer_1="mine = 1")).replace("mine = 1", "mine = 1 # <<<<<<<\\n")
    assert "<<<<<<<" in "".join(ran(mend.mended(f"<<<<<<< a\n{whole}".encode(), form())[0]))
    assert mend._own_of_conflicts("<<<<<<<\n<<<<<<<\na\n=======\n=======\nb\n>>>>>>>\nc") == "<<<<<<<\na\nc"
    assert mend._own_of_conflicts("<<<<<<<\na\n=======\nb\n") == "<<<<<<<\na\n=======\nb\n"


@pytest.mark.parametrize(
    "unit", ["<<<<<<<\n", "<<<<<<<\n=======\n", '{"source":', '{"source":"a', '{"source":[1,']
)
def test_mending_takes_time_in_proportion_to_the_file(unit):
    begin = time.process_time()
    with pytest.raises(rebuild.NoAnswers):
        mend.mended((unit * (300_000 // len(unit))).encode(), form())
    assert time.process_time() - begin < 1


def test_rebuilding_takes_time_in_proportion_to_the_cells():
    handed = form(**RIGHT)
    cell = {"cell_type": "markdown", "metadata": {}, "source": "x"}
    handed.cells += [nbformat.from_dict({**cell, "id": f"c{number}"}) for number in range(4000)]
    begin = time.process_time()
    assert len(rebuild.rebuilt(handed, form()).cells) == len(handed.cells)
    assert time.process_time() - begin < 0.6


def test_a_file_that_is_too_large_is_not_read(marked):
    marked, _ = marked
    with open(grade.submitted(marked, "kim", "00_a"), "ab") as file:
        file.truncate(1 << 40)
    (said,) = grade.grade(marked)
    assert said.startswith(
        "cannot be graded: submitted/kim/00_a, the file has 1,048,576 MB, and at most 10 are read"
    )
    assert grade.notes(marked)["lee/00_a"]["why"] == ""


def test_the_wide_table(tmp_path):
    rows = csv.DictReader(
        "assignment,student_id,last_name,first_name,email,score,remark\na,lee,,,,0.0,\n"
        "a,kim,K,Kim,,2.0,late by 1 day\nb,kim,K,Kim,,,it is no notebook\n".splitlines()
    )
    points = {
        "kim/a": {"points": {"00.1": 1.0, "00.2": None}},
        "lee/a": {"points": {"00.1": 0.0, "00.2": 0.0}},
    }
    wide.write(tmp_path / "wide.csv", rows, points)
    assert (tmp_path / "wide.csv").read_text(encoding="utf-8-sig").splitlines() == [
        "student_id,last_name,first_name,email,a,00.1,00.2,b,remarks",
        "kim,K,Kim,,2.0,1,?,?,a: late by 1 day; b: it is no notebook",
        "lee,,,,0.0,0,0,,",
    ]


def test_the_table_of_marks():
    rows = csv.DictReader(
        "assignment,student_id,score,max_score\na,lee,0.0,3.0\na,kim,,3.0\nb,kim,2.0,4.0\n".splitlines()
    )
    assert grade.table(rows) == "student  a (3)  b (4)\nkim      ?      2\nlee      0      -"


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
    assert (tmp_path / "lessons" / NOTEBOOKS[name].name).is_file()


def test_an_assignment_replaces_no_copy_of_a_learner():
    """Learners put it beside their lessons, which have their notebooks' names."""
    copies = {path.name for path in sources.every_notebook(release.ROOT / "notebooks")}
    assert copies and not copies & {f"{name}.ipynb" for name in NOTEBOOKS}
    assert len(NOTEBOOKS) == len(sources.every_notebook(release.ROOT / "notebooks"))


def test_a_teachers_settings_stay(tmp_path):
    file, ours = tmp_path / release.CONFIG, Path(release.__file__).with_name(release.CONFIG)
    release.write_course(tmp_path, FIRST)
    assert file.read_bytes() == ours.read_bytes() and not release.is_edited(tmp_path)
    file.write_text("an older text of the course")
    hashed = hashlib.sha256(file.read_bytes()).hexdigest()
    assert release.is_edited(tmp_path)
    with pytest.MonkeyPatch.context() as known:
        known.setattr(release, "OWN_TEXTS", (hashed,))
        release.write_course(tmp_path, FIRST)
    assert file.read_bytes() == ours.read_bytes()
    mine = ours.read_text() + 'c.CourseDirectory.course_id = "gpu-2027"\n'
    file.write_text(mine)
    release.write_course(tmp_path, FIRST)
    assert file.read_text() == mine and release.is_edited(tmp_path) and not release.unusable(tmp_path)
    file.write_text("c = get_config()\n")
    release.write_course(tmp_path, FIRST)
    assert re.search(
        r"lacks the line settings.apply\(c, HERE\).*sandbox.*Move the file", release.unusable(tmp_path)
    )


def test_an_older_text_of_the_settings_is_known_as_ours():
    ours = Path(release.__file__).with_name(release.CONFIG).read_bytes()
    assert (
        hashlib.sha256(ours).hexdigest() == "4a9ef8b2b1ce79923841825fc53dcec5a821214080d1d2d419bca96a205f39f7"
    ), "the text has changed: put the hash that stands here into release.OWN_TEXTS, and the new one here"
