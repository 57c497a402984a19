"""`make course`: which notebooks run, how many at once, and how it ends."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest

from hiding_latency.outcome import outcome
from tests.rules import ROOT
from tests.tools.made import started, write_notebook
from tools import course, install


@pytest.fixture(autouse=True)
def nothing_kept(tmp_path, monkeypatch):
    """What ran before is looked for, and kept, in the test's own folder."""
    monkeypatch.setattr(course, "ROOT", tmp_path)


@pytest.mark.parametrize(("why", "bound", "status"), [([], True, 0), (["no"], True, 1), ([], False, 1)])
def test_the_course_ends_well_with_its_book_and_without_failures(tmp_path, monkeypatch, why, bound, status):
    ran = outcome("01_a", nbformat.v4.new_notebook(), 1.0, why)
    monkeypatch.setattr(course, "bring_copies", lambda: None)
    monkeypatch.setattr(course, "run_course", lambda *_: [ran])
    monkeypatch.setattr(course, "bind", lambda *_: bound)
    assert course.main() == status


OURS = {"01_lesson.ipynb", "exercises/01_lesson.ipynb"}


def scratch_and_lesson(folder: Path) -> None:
    """A lesson, and what a learner may have beside it: notes, JupyterLab's copy of the lesson, a folder."""
    (folder / "mine").mkdir(parents=True)
    (folder / "exercises").mkdir()
    own = ("notes.ipynb", "01_lesson-Copy1.ipynb", "mine/01_lesson.ipynb", "exercises/01_lesson-Copy1.ipynb")
    for name in OURS:
        write_notebook(folder / name, "import os")
    for name in own:
        write_notebook(folder / name, "1 / 0")


def test_the_runner_leaves_scratch_notebooks_alone(tmp_path, capsys):
    scratch_and_lesson(tmp_path)
    outcomes = course.run_course(tmp_path, "simulator")
    assert [(each.name, each.failures) for each in outcomes] == [
        ("01_lesson", ()),
        ("exercises/01_lesson", ()),
    ]
    assert "left alone: 01_lesson-Copy1.ipynb, notes.ipynb" in capsys.readouterr().out


def test_make_test_leaves_scratch_notebooks_alone(tmp_path):
    """pytest and ruff, as `make test` calls them, look at the lessons only."""
    scratch_and_lesson(tmp_path / "notebooks")
    for name in ("pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / name, tmp_path)
    for command in ("pytest --nbval --collect-only --quiet notebooks", "ruff check --show-files ."):
        called = [sys.executable, "-m", *command.split()]
        plain = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
        said = subprocess.run(called, cwd=tmp_path, capture_output=True, text=True, env=plain).stdout
        seen = {name.partition("notebooks/")[2] for name in re.findall(r"\S+\.ipynb", said)}
        assert seen == OURS, command


RUNS = """
import sys
from pathlib import Path
from tools import course
course.ROOT, course.bind = Path(sys.argv[1]), lambda *_: True
sys.exit(course.main())
"""
"""Without a book, which takes half a minute."""


@pytest.mark.parametrize(
    ("machine", "cores", "expected"),
    [("cupy", 8, 1), ("simulator", 1, 1), ("simulator", 2, 2), ("simulator", 64, 4)],
)
def test_on_a_gpu_no_lesson_disturbs_the_times_of_another(
    tmp_path, monkeypatch, capsys, machine, cores, expected
):
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    (tmp_path / "01_empty.ipynb").touch()
    course.run_course(tmp_path, machine)
    assert f"{expected} at a time" in capsys.readouterr().out


def test_of_two_courses_at_once_one_waits(tmp_path):
    (tmp_path / "notebooks").mkdir()
    write_notebook(tmp_path / "notebooks" / "01_a.ipynb", "print('check passed')")
    with install.alone(tmp_path / "build" / "course.lock", ""):
        process = started(RUNS, tmp_path)
        assert "waiting for it" in process.stdout.readline()
        assert not (tmp_path / "build" / "course").exists()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and err == "" and "01_a" in out


def test_ctrl_c_leaves_nothing_half_written(tmp_path):
    (tmp_path / "notebooks").mkdir()
    code = "open('started', 'w').close()\nimport time; time.sleep(60)"
    write_notebook(tmp_path / "notebooks" / "01_a.ipynb", code)
    with started(RUNS, tmp_path) as process:
        deadline = time.monotonic() + 60
        begun = tmp_path / "notebooks" / "started"
        while not begun.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Stopped" in out and err == ""
    assert [path.name for path in (tmp_path / "build").iterdir()] == ["course.lock"]
