"""Progress: kept from a learner's own notebooks only, nothing lost, and never in the way of a verdict."""

import json
import os
import re
import subprocess
import sys
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import IPython
import pytest

from course_lib import check_exercise, score, show_progress
from course_lib.exercises import answers, logbook, verdicts
from course_lib.lessons import sources
from tests.rules import ROOT
from tools.classroom import progress as summary
from tools.classroom import tries

TODAY = "2026-02-28"
GIVEN = "answer = 0\ncheck_exercise('09.1', answer)"


def is_seven(answer):
    assert answer == 7, "it is not 7"


class Notebook:
    """A kernel that runs a learner's copy of a lesson."""

    def __init__(self, folder: Path, shell) -> None:
        self.folder, self.file, self.shell = folder, folder / "progress.jsonl", shell

    def run(self, answer, cell: str | None = None):
        """Run an exercise cell; its text says the answer unless it is given."""
        self.shell.history_manager.input_hist_raw.append(cell or f"answer = {answer!r}")
        return check_exercise("09.1", answer)

    def lines(self) -> list[dict]:
        return [json.loads(line) for line in self.file.read_text().splitlines()]


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    cells = [{"cell_type": "code", "source": GIVEN, "metadata": {"tags": ["exercise"]}}]
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "09_last.ipynb").write_text(json.dumps({"cells": cells}))
    monkeypatch.setattr(sources, "NOTEBOOKS", tmp_path / "notebooks")
    monkeypatch.setattr(logbook, "date", SimpleNamespace(today=lambda: date.fromisoformat(TODAY)))
    table = {"09.1": is_seven, "09.2": is_seven}
    for module in (verdicts, answers):
        monkeypatch.setattr(module, "exercises", lambda: table)
    folder = tmp_path / "my_lessons"
    folder.mkdir()
    (folder / ".course.json").write_text("{}")
    shell = SimpleNamespace(history_manager=SimpleNamespace(input_hist_raw=[""]), user_ns={})
    monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
    monkeypatch.setenv("JPY_SESSION_NAME", str(folder / "09_last.ipynb"))
    return Notebook(folder, shell)


# --- what is kept ---------------------------------------------------------------------------------------------


def test_a_try_and_a_solution_are_kept_without_the_answer(notebook):
    notebook.run(3, cell="# my name is Ada\nanswer = 3")
    notebook.run(7)
    tried, solved = notebook.lines()
    assert tried == {"exercise": "09.1", "solved": False, "answer": tried["answer"], "date": TODAY}
    assert solved == {"exercise": "09.1", "solved": True, "answer": solved["answer"], "date": TODAY}
    assert len(tried["answer"]) == 16 and tried["answer"] != solved["answer"]
    assert "Ada" not in notebook.file.read_text() and str(notebook.folder) not in notebook.file.read_text()


def test_the_same_answer_again_is_kept_once(notebook):
    for answer in (3, 7, 3, 7):
        notebook.run(answer)
    assert [line["solved"] for line in notebook.lines()] == [False, True]


def test_an_exercise_as_the_lesson_brings_it_is_not_a_try(notebook):
    notebook.run(0, cell=GIVEN)
    notebook.run(None)  # a gap
    assert not notebook.file.exists()
    notebook.run(0, cell=GIVEN.replace("0", "1"))
    assert [line["solved"] for line in notebook.lines()] == [False]


def test_predictions_are_kept_with_their_lesson(notebook, capsys):
    score([("blocks", 4, 4), ("threads", None, 24), ("rows", (None, None), 3)])
    (line,) = notebook.lines()
    assert line == {"lesson": "09", "predicted": "blocks", "answer": line["answer"], "date": TODAY}
    assert capsys.readouterr().out.startswith("blocks: right, it is 4\nthreads: no prediction yet\nrows: no")


def test_a_hint_that_was_opened_is_kept_once_and_is_no_try(notebook):
    for _ in range(2):
        logbook.keep_opened("09.1", "hint")
    assert notebook.lines() == [{"exercise": "09.1", "opened": "hint", "date": TODAY}]
    assert show_progress().states() == {"09.1": "open", "09.2": "open"}
    logbook.keep_opened("09.9", "hint")
    logbook.keep_opened("09.1", "door")
    assert len(notebook.lines()) == 1
    notebook.run(7)
    logbook.keep_opened("09.1", "solution")
    assert show_progress().states()["09.1"] == "solved"


def test_the_heading_above_a_hint_or_a_solution_names_its_exercise():
    """By it JupyterLab's extension knows which one was opened."""
    text = (ROOT / "tools" / "lab_extension" / "src" / "opened.ts").read_text(encoding="utf-8")
    heading = re.compile(re.search(r"HEADING = /(.*)/gm;", text)[1], re.MULTILINE)
    folds = 0
    for path in sources.every_notebook(sources.NOTEBOOKS):
        named, asked, kinds = "", [], {}
        for cell in sources.cells_of(path):
            source = "".join(cell["source"])
            if cell["cell_type"] == "code":
                asked += re.findall(r'check_exercise\("([\d.]+)"', source)
                continue
            named = [named, *heading.findall(source)][-1]
            for kind in re.findall(r"<summary>(Hint|Solution)", source):
                kinds.setdefault(named, set()).add(kind)
                folds += 1
        assert set(kinds) <= set(asked) and all("Solution" in found for found in kinds.values()), path.name
        assert set(kinds) == set(asked), path.name
    assert folds > 150


def test_exercises_of_the_bank_count_too(notebook, monkeypatch):
    (notebook.folder / "exercises").mkdir()
    monkeypatch.setenv("JPY_SESSION_NAME", str(notebook.folder / "exercises" / "09_last.ipynb"))
    notebook.run(7)
    assert notebook.lines()[0]["solved"]


def test_vs_code_names_its_notebook_otherwise(notebook, monkeypatch):
    monkeypatch.delenv("JPY_SESSION_NAME")
    notebook.shell.user_ns["__vsc_ipynb_file__"] = str(notebook.folder / "09_last.ipynb")
    notebook.run(7)
    assert notebook.lines()[0]["solved"]


# --- where nothing is kept ------------------------------------------------------------------------------------


def test_nothing_is_kept_of_a_lesson_itself(notebook, monkeypatch):
    monkeypatch.setenv("JPY_SESSION_NAME", str(sources.NOTEBOOKS / "09_last.ipynb"))
    assert notebook.run(7).ok
    score([("blocks", 4, 4)])
    assert [p.name for p in notebook.folder.iterdir()] == [".course.json"]
    assert [p.name for p in sources.NOTEBOOKS.iterdir()] == ["09_last.ipynb"]
    assert "this is none" in repr(show_progress())


def test_nothing_is_kept_without_a_front_end(notebook, monkeypatch):
    """nbval and make course run a notebook without one."""
    monkeypatch.delenv("JPY_SESSION_NAME")
    monkeypatch.chdir(notebook.folder)
    assert notebook.run(7).ok and not notebook.file.exists()


def test_nothing_is_kept_outside_a_notebook(notebook, monkeypatch):
    monkeypatch.setattr(IPython, "get_ipython", lambda: None)
    assert notebook.run(7).ok and not notebook.file.exists()


# --- a file in trouble ----------------------------------------------------------------------------------------


def test_a_verdict_comes_also_when_the_file_cannot_be_written(notebook, capsys):
    notebook.file.mkdir()  # stands for a read-only, locked or full disk, also where the tests run as root
    assert notebook.run(7).ok
    (said,) = capsys.readouterr().out.splitlines()
    assert said.startswith("(progress.jsonl cannot be written: ") and said.endswith(
        "your progress is not kept.)"
    )


def test_lines_that_cannot_be_read_cost_only_themselves(notebook):
    notebook.run(7)
    good = notebook.file.read_bytes()
    broken = b'\xff\xfe\n[1]\n{"exercise": ["09.1"]}\n{"predicted": {}}\nnull\n\n{"exercise": "09.2", "solv'
    notebook.file.write_bytes(broken)
    notebook.run(7)  # behind a line that was torn
    assert notebook.file.read_bytes() == broken + b"\n" + good
    assert show_progress().states() == {"09.1": "solved", "09.2": "open"}


WRITER = """
import sys
from pathlib import Path
from course_lib.exercises import logbook
logbook._folder = lambda: Path(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for number in range(60):
    logbook._keep({"lesson": sys.argv[2], "predicted": str(number), "answer": "0" * 16})
"""


def test_two_notebooks_at_once_lose_nothing(tmp_path):
    start = [sys.executable, "-c", WRITER, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": ROOT}
    writers = [subprocess.Popen([*start, lesson], **pipes) for lesson in ("01", "02")]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=60)
    kept = logbook.entries(tmp_path / "progress.jsonl")
    assert {(entry["lesson"], entry["predicted"]) for entry in kept} == {
        (lesson, str(number)) for lesson in ("01", "02") for number in range(60)
    }
    assert len(kept) == 120


# --- what is shown --------------------------------------------------------------------------------------------


def test_what_was_solved_once_stays_solved(notebook):
    for answer in (7, 3):
        notebook.run(answer)
    score([("blocks", 4, 4)])
    score([("blocks", 5, 4)])
    shown = show_progress("09")
    assert repr(shown) == "lesson 09   ✓ 09.1  · 09.2   1 prediction\n(✓ solved, ~ tried, · open)"
    assert "<td" in shown._repr_html_() and "✓ 09.1" in shown._repr_html_()


def test_an_unknown_lesson_is_said(notebook):
    with pytest.raises(ValueError, match="there is no lesson '9'"):
        show_progress("9")


# --- for a teacher --------------------------------------------------------------------------------------------


def test_a_summary_of_a_folder(notebook, tmp_path, capsys):
    notebook.run(7)
    score([("blocks", 4, 4)])
    room = tmp_path / "room"
    for place in ("ada.jsonl", "grace/progress.jsonl", "linus/my_lessons/progress.jsonl"):
        (room / place).parent.mkdir(parents=True, exist_ok=True)
        (room / place).write_bytes(notebook.file.read_bytes())
    (room / "linus/my_lessons/progress.jsonl").write_text("")
    capsys.readouterr()
    assert summary.main([str(room)]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["name", "09", "predictions", "last", "day"],
        ["ada", "1/2", "1", TODAY],
        ["grace", "1/2", "1", TODAY],
        ["linus", "0/2", "0", "never"],
        [],
        ["exercise", "tried", "solved", "tries,", "median", "hint", "opened", "solution", "opened"],
        ["09.1", "2", "2", "1", "0", "0"],
    ]


def test_how_hard_an_exercise_was_is_told_by_medians():
    def work(*did: str) -> list[dict]:
        said = {"wrong": {"solved": False}, "right": {"solved": True}}
        return [{"exercise": "03.4"} | said.get(each, {"opened": each}) for each in did]

    group = [
        work("wrong", "hint", "right", "solution"),  # what is opened behind a right answer is curiosity
        work("wrong", "wrong", "wrong", "hint", "solution", "right", "wrong"),
        work("wrong", "wrong", "hint"),
        work("hint"),  # and no try
        [],
    ]
    assert tries.table(group, ["03.4", "03.5"])[1:] == [["03.4", "3", "2", "3", "3", "1"]]
    assert tries.table(group[2:], ["03.4"])[1:] == [["03.4", "1", "0", "-", "1", "0"]]
    assert tries.table(group[3:], ["03.4"]) == []


HOSTILE = {
    "nested": "[" * 100_000 + "]" * 100_000 + "\n",
    "a date that a terminal obeys": json.dumps({"exercise": "x", "date": "\x1b[2J\x1b[1;1Hall solved"})
    + "\n",
    "a date that is none": '{"exercise": "x", "date": true}\n{"exercise": "x", "date": "2026-01-01x"}\n',
}


def test_a_file_of_one_learner_never_ends_the_table(notebook, tmp_path, capsys):
    notebook.run(7)
    room = tmp_path / "room"
    for name, text in HOSTILE.items():
        (room / f"{name}\x1b[2J").mkdir(parents=True)
        (room / f"{name}\x1b[2J" / "progress.jsonl").write_text(text + notebook.file.read_text() + text)
    (room / "pipe").mkdir()
    os.mkfifo(room / "pipe" / "progress.jsonl")
    (room / "zoe.jsonl").mkdir()
    capsys.readouterr()
    assert summary.main([str(room)]) == 0
    out, err = capsys.readouterr()
    lines = [[rf"{name}\x1b[2J", "1/2", "0", TODAY] for name in sorted(HOSTILE)]
    lines += [["pipe", "?", "?", "?"], ["zoe", "?", "?", "?"]]
    table, _, by_exercise = out.partition("\n\n")
    assert [re.split("  +", line) for line in table.splitlines()[1:]] == lines
    assert by_exercise.splitlines()[1].split() == ["09.1", "3", "3", "1", "0", "0"]
    assert err.count("cannot be read: ") == 2 and "it is no plain file." in err


def test_a_summary_says_what_it_needs(tmp_path, capsys):
    assert summary.main([str(tmp_path)]) == 2
    assert "no progress file (.jsonl)" in capsys.readouterr().err
    assert summary.main([]) == 2
    assert "python -m tools.classroom.progress FOLDER" in capsys.readouterr().err


def test_progress_comes_in_the_order_of_the_numbers():
    names = list(logbook.Progress([], list(answers.exercises())).states())
    assert (
        names == sorted(names, key=lambda name: [int(part) for part in name.split(".")]) and len(names) > 60
    )
    assert names.index("00.2") < names.index("00.3") < names.index("00.11") < names.index("01.1")


def test_what_a_file_says_is_of_the_exercise_with_that_number(notebook):
    """And a line about one that is not there costs nothing."""
    line = '{"exercise": "%s", "solved": true, "answer": "x", "date": "2026-11-28"}\n'
    notebook.file.write_text(line % "09.2" + line % "09.77")
    assert show_progress().states() == {"09.1": "open", "09.2": "solved"}
    notebook.run(7)
    assert notebook.lines()[-1]["exercise"] == "09.1"
    assert show_progress().states() == {"09.1": "solved", "09.2": "solved"}
