"""A learner's copies: what was written is never touched, whatever comes."""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.lessons import sources
from hiding_latency import copies, lab, places, safely
from ptxsim.ground import whole
from tests.rules import ROOT

NAME = "01_first.ipynb"


def cell(source: str, kind: str = "code", **more) -> dict:
    outputs = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return {"cell_type": kind, "source": source, "metadata": {}, **outputs, **more}


def write(path: Path, *cells: dict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))


def cell_sources(path: Path) -> list[str]:
    """The cells of a copy, without the one that shows the progress."""
    cells = json.loads(path.read_text())["cells"]
    return ["".join(each["source"]) for each in cells if each.get("id") != copies.PROGRESS_CELL]


class Course:
    """A course of one lesson and a learner with copies of it."""

    def __init__(self, root: Path) -> None:
        self.root, self.mine = root, root / "my_lessons"
        self.publish("1.0.0", "k = 1")

    def publish(self, version: str, *code: str, name: str = NAME) -> None:
        (self.root / "pyproject.toml").write_text(f'[project]\nversion = "{version}"\n')
        write(self.root / "notebooks" / name, cell("# A lesson", "markdown"), *map(cell, code))

    def update(self) -> list[str]:
        return copies.update(places.clone(self.root))

    def edit(self, change, name: str = NAME) -> None:
        """Change the cells of a copy, as Lab does when it saves."""
        notebook = json.loads((self.mine / name).read_text())
        change(notebook["cells"])
        (self.mine / name).write_text(json.dumps(notebook))

    def files(self) -> dict[str, str]:
        return {p.name: p.read_text() for p in sorted(self.mine.glob("*.ipynb"))}


@pytest.fixture
def course(tmp_path) -> Course:
    return Course(tmp_path)


@pytest.fixture
def begun(course) -> Course:
    course.update()
    return course


def write_k(cells: list[dict]) -> None:
    cells[-1]["source"] = "k = 'mine'"


def run(cells: list[dict]) -> None:
    """What running and autosaving alters."""
    cells[-1] |= {"execution_count": 7, "outputs": [{"output_type": "stream", "name": "stdout", "text": "1"}]}
    cells[-1]["metadata"] = {"collapsed": False, "execution": {"iopub.execute_input": "2026-11-22"}}


# --- the table in hiding_latency/copies.py ----------------------------------------------------------------------------


def test_copies_are_made_from_the_lessons_and_the_exercises(course):
    write(course.root / "notebooks" / "exercises" / NAME, cell("more = 1"))
    write(course.root / "notebooks" / "scratch.ipynb", cell("x"))
    assert course.update() == [
        "my_lessons: 2 notebooks made, lessons and exercises. Work on these; nothing you write there is lost."
    ]
    assert cell_sources(course.mine / NAME) == ["# A lesson", "k = 1"]
    assert cell_sources(course.mine / "exercises" / NAME) == ["more = 1"]
    assert sorted(course.files()) == [NAME]
    assert course.update() == []


@pytest.mark.parametrize("learner", [lambda cells: None, run], ids=["untouched", "only run"])
def test_a_copy_without_edits_is_replaced(begun, learner):
    begun.edit(learner)
    begun.publish("1.1.0", "k = 2")
    news = [line for line in begun.update() if NAME in line]
    assert news == [f"my_lessons/{NAME}: replaced by the version of course 1.1.0. You had not changed it."]
    assert cell_sources(begun.mine / NAME) == ["# A lesson", "k = 2"] and len(begun.files()) == 1


@pytest.mark.parametrize(
    "learner",
    [
        write_k,
        lambda cells: cells.append(cell("mine")),
        lambda cells: cells.pop(),
        lambda cells: cells.reverse(),
        lambda cells: cells[-1].update(cell_type="raw"),
    ],
    ids=["source", "new cell", "deleted cell", "order", "kind"],
)
def test_a_changed_copy_stays_byte_for_byte_and_the_new_version_is_put_beside_it(begun, learner):
    begun.edit(learner)
    before = begun.files()[NAME]
    assert begun.update() == [] and begun.files() == {NAME: before}  # no new version: no news
    begun.publish("1.1.0", "k = 2")
    beside = "01_first.new-1.1.0.ipynb"
    assert begun.update() == [
        "The course is now 1.1.0, you had 1.0.0: CHANGELOG.md says what is new.",
        f"my_lessons/{NAME}: you changed it, so it stays as it is. The new version is beside it: {beside}. "
        f"make news NEWS={NAME} shows what is new, and takes it over",
    ]
    assert begun.files()[NAME] == before
    assert cell_sources(begun.mine / beside) == ["# A lesson", "k = 2"]
    assert begun.update() == []  # said once


def test_a_new_version_that_the_learner_deleted_stays_away_until_the_next_one(begun):
    begun.edit(write_k)
    begun.publish("1.1.0", "k = 2")
    begun.update()
    (begun.mine / "01_first.new-1.1.0.ipynb").unlink()
    assert begun.update() == [] and list(begun.files()) == [NAME]
    begun.publish("1.2.0", "k = 3")
    begun.update()
    assert list(begun.files()) == [NAME, "01_first.new-1.2.0.ipynb"]


def test_what_is_put_beside_overwrites_nothing(begun):
    begun.edit(write_k)
    (begun.mine / "01_first.new-1.1.0.ipynb").write_text("mine too")
    begun.publish("1.1.0", "k = 2")
    begun.update()
    assert begun.files()["01_first.new-1.1.0.ipynb"] == "mine too"
    assert cell_sources(begun.mine / "01_first.new-1.1.0-2.ipynb") == ["# A lesson", "k = 2"]


def test_whoever_takes_the_new_version_over_is_up_to_date(begun):
    begun.edit(write_k)
    begun.publish("1.1.0", "k = 2")
    begun.update()
    os.replace(begun.mine / "01_first.new-1.1.0.ipynb", begun.mine / NAME)
    assert begun.update() == []
    begun.publish("1.2.0", "k = 3")
    begun.update()
    assert cell_sources(begun.mine / NAME) == ["# A lesson", "k = 3"] and list(begun.files()) == [NAME]


def test_a_deleted_copy_is_made_again(begun):
    begun.edit(write_k)
    (begun.mine / NAME).unlink()
    begun.update()
    assert cell_sources(begun.mine / NAME) == ["# A lesson", "k = 1"]


NESTED = "[" * 100_000 + "]" * 100_000
BROKEN = {
    "nested": NESTED,
    "nested cells": f'{{"cells": {NESTED}}}',
    "cut": '{"cells": [',
    "binary": "\0\x7f\x80",
}


NO_NOTEBOOKS = ["", "<<<<<<< HEAD\n{", "[]", '{"cells": 3}', '{"cells": [{"cell_type": "code"}]}', "{}"]


@pytest.mark.parametrize("text", [*NO_NOTEBOOKS, *BROKEN.values()], ids=[*NO_NOTEBOOKS, *BROKEN])
def test_a_copy_that_cannot_be_read_is_kept_aside(begun, text):
    for aside in ("01_first.broken.ipynb", "01_first.broken-2.ipynb"):
        (begun.mine / NAME).write_text(text)
        (news,) = begun.update()
        assert news.endswith(f"It is kept as {aside}, and the lesson is made again.")
        assert begun.files()[aside] == text
    assert list(begun.files()) == ["01_first.broken-2.ipynb", "01_first.broken.ipynb", NAME]
    assert cell_sources(begun.mine / NAME) == ["# A lesson", "k = 1"]


def test_other_files_in_the_folder_are_left_alone(begun):
    own = {
        "scratch.ipynb": "not even JSON",
        "01_first-Copy1.ipynb": "{}",
        "notes.txt": "",
        "99_mine.ipynb": "x",
    }
    for name, text in own.items():
        (begun.mine / name).write_text(text)
    begun.publish("1.1.0", "k = 2")
    begun.update()
    assert {name: (begun.mine / name).read_text() for name in own} == own


def test_a_lesson_that_is_gone_leaves_its_copy(begun):
    (begun.root / "notebooks" / NAME).unlink()
    assert begun.update() == [] and list(begun.files()) == [NAME]


def test_a_broken_lesson_leaves_its_copy(begun):
    before = begun.files()
    (begun.root / "notebooks" / NAME).write_text("{")
    assert begun.update() == [f"notebooks/{NAME} cannot be read as a notebook; your copy stays as it is."]
    assert begun.files() == before


# --- what make notes about the copies -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", [None, "", "{", "[]", '{"version": "1.0.0"}', '{"version": "1", "lessons": 3}']
)
def test_without_its_notes_nothing_is_overwritten(begun, text):
    """Then nobody knows which version a copy comes from: whatever differs may be the learner's."""
    begun.edit(write_k)
    before = begun.files()[NAME]
    (begun.mine / ".course.json").unlink() if text is None else (begun.mine / ".course.json").write_text(text)
    begun.publish("1.1.0", "k = 2")
    begun.update()
    assert begun.files()[NAME] == before and "01_first.new-1.1.0.ipynb" in begun.files()
    assert begun.update() == []


def test_interrupted_between_a_copy_and_its_note(begun):
    """The copy is new, the note is of the old version: the next time puts that right."""
    note = (begun.mine / ".course.json").read_text()
    begun.publish("1.1.0", "k = 2")
    begun.update()
    (begun.mine / ".course.json").write_text(note)
    assert begun.update() == ["The course is now 1.1.0, you had 1.0.0: CHANGELOG.md says what is new."]
    begun.publish("1.2.0", "k = 3")
    begun.update()
    assert cell_sources(begun.mine / NAME) == ["# A lesson", "k = 3"] and list(begun.files()) == [NAME]


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_note_and_a_progress_that_cannot_be_read_end_nothing(begun, text, capsys):
    (begun.mine / copies.GIVEN).write_text(text)
    (begun.mine / "progress.jsonl").write_text(text)
    lab.bring(places.clone(begun.root))
    said = "my_lessons/.course.json could not be read and is made again; no lesson is overwritten.\n"
    assert capsys.readouterr().out == said
    assert begun.update() == []


def test_a_pipe_in_the_place_of_a_file_holds_up_nothing(begun, capsys):
    """Who opens one to read waits for whoever writes."""
    for name in (NAME, "progress.jsonl"):
        (begun.mine / name).unlink(missing_ok=True)
        os.mkfifo(begun.mine / name)
    lab.bring(places.clone(begun.root))
    assert capsys.readouterr().out == (
        f"my_lessons/{NAME}: left as it is, because it cannot be opened (it is no plain file).\n"
        "my_lessons/progress.jsonl cannot be read (it is no plain file), so what is solved is not known.\n"
    )


def test_nothing_is_written_through_a_link(begun, tmp_path):
    """Not through a link with the name of a file that is written first, and then takes the place of another."""
    other = tmp_path / "other"
    other.write_text("not mine")
    (begun.mine / f".{NAME}.part").symlink_to(other)
    (begun.mine / copies.LOCK).unlink()
    (begun.mine / NAME).unlink()
    begun.update()
    assert (other.read_text(), cell_sources(begun.mine / NAME)) == ("not mine", ["# A lesson", "k = 1"])
    (begun.mine / copies.LOCK).unlink()
    (begun.mine / copies.LOCK).symlink_to(tmp_path / "none")
    with pytest.raises(OSError):
        begun.update()
    assert not (tmp_path / "none").exists()


def test_a_write_that_fails_leaves_the_old_file(begun, monkeypatch):
    begun.publish("1.1.0", "k = 2")
    before = begun.files()

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(whole.os, "replace", full)
        with pytest.raises(OSError, match="No space"):
            begun.update()
    assert begun.files() == before
    begun.update()
    assert cell_sources(begun.mine / NAME) == ["# A lesson", "k = 2"]


def test_a_second_one_waits(begun, capsys):
    code = "import pathlib, sys; from hiding_latency import copies, places\n"
    code += "print(copies.update(places.clone(pathlib.Path(sys.argv[1]))))"
    begun.publish("1.1.0", "k = 2")
    with safely.alone(begun.mine / copies.LOCK, ""):
        other = subprocess.Popen(
            [sys.executable, "-c", code, begun.root], stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        assert other.stdout.readline() == "Another one looks after my_lessons: waiting for it.\n"
        assert cell_sources(begun.mine / NAME) == ["# A lesson", "k = 1"]
    assert "replaced by the version of course 1.1.0" in other.communicate(timeout=20)[0]


# --- the copies of this course --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def clone(tmp_path_factory) -> Path:
    """What git tracks of lessons and settings, as a repository of its own."""
    root = tmp_path_factory.mktemp("course")
    for name in ("notebooks", "pyproject.toml", ".gitignore"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, root / name)
    shutil.rmtree(root / "notebooks" / ".ipynb_checkpoints", ignore_errors=True)
    for command in ("init -q", "add .", "-c user.name=x -c user.email=x commit -q -m x"):
        subprocess.run(["git", *command.split()], cwd=root, check=True)
    copies.update(places.clone(root))
    return root


def git_status(root: Path) -> str:
    return subprocess.run(
        ["git", "status", "--short"], cwd=root, check=True, capture_output=True, text=True
    ).stdout


def test_git_is_clean_after_a_day_of_work(clone):
    mine = clone / "my_lessons"
    for copy in mine.glob("*.ipynb"):
        text = copy.read_text(encoding="utf-8").replace("Python 3", "Python 3 (ipykernel)")
        copy.write_text(text, encoding="utf-8")
    (mine / ".ipynb_checkpoints").mkdir()
    (mine / ".ipynb_checkpoints" / "00_start_here-checkpoint.ipynb").write_text("{}")
    (mine / "Untitled.ipynb").write_text("{}")
    (mine / "progress.jsonl").write_text("{}\n")
    assert git_status(clone) == ""


def test_an_edit_in_a_copy_changes_no_kernel_of_another_lesson(clone, monkeypatch):
    monkeypatch.setattr(sources, "NOTEBOOKS", clone / "notebooks")
    monkeypatch.chdir(clone / "my_lessons")
    before = sources.kernel_source("01_mainloop", "mainloop")
    copy = clone / "my_lessons" / "01_mainloop.ipynb"
    assert "mainloop = r" in copy.read_text()
    copy.write_text(
        copy.read_text()
        .replace("mainloop = r", "mainloop = 3\\nmainloop = r")
        .replace("for (int", "fro (int")
    )
    assert sources.kernel_source("01_mainloop", "mainloop") == before


def test_a_copy_has_the_lessons_cells_its_progress_and_pictures_with_words(clone):
    lesson = json.loads((ROOT / "notebooks" / "00_start_here.ipynb").read_text(encoding="utf-8"))
    copy = json.loads(copies.copy_of(ROOT / "notebooks" / "00_start_here.ipynb"))
    kinds = [each["cell_type"] for each in copy["cells"]]
    first = kinds.index("code")  # text stands above, and below it the lesson's first import
    put = [each["id"] for each in copy["cells"][first : first + 2]]
    assert put == [copies.COLAB_CELL, copies.PROGRESS_CELL]
    assert copy["cells"][first + 1]["source"][-1] == 'show_progress("00")'
    assert copy["metadata"]["language_info"]["version"] == platform.python_version()
    assert [c["source"] for c in copy["cells"] if c["id"] != copies.PROGRESS_CELL] == [
        c["source"] for c in lesson["cells"]
    ]
    shown = [
        output["data"] for each in copy["cells"] for output in each.get("outputs", ()) if "data" in output
    ]
    pictures = [data["text/html"] for data in shown if "<img" in str(data.get("text/html"))]
    assert pictures and all('<img alt="' in picture for picture in pictures)
    assert not any({"image/png", "image/svg+xml"} & data.keys() for data in shown)


# --- make lab -------------------------------------------------------------------------------------------------


def test_lab_opens_the_copy_that_was_saved_last(course, monkeypatch):
    course.publish("1.0.0", "k = 1", name="00_start_here.ipynb")
    course.update()
    place = places.clone(course.root)
    assert copies.last_used(place) == course.mine / "00_start_here.ipynb"
    monkeypatch.setattr(copies.platform, "python_version", lambda: "3.99.0")
    assert copies.last_used(place) == course.mine / "00_start_here.ipynb"
    course.edit(run)
    assert copies.last_used(place) == course.mine / NAME


def test_lab_allows_root_where_one_is_root(course, monkeypatch):
    course.update()
    for user, allowed in ((0, True), (1000, False)):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        assert ("--allow-root" in lab.command(places.clone(course.root), [])) == allowed
    assert lab.command(places.clone(course.root), ["--port=9000"])[-1] == "--port=9000"


def test_lab_says_how_much_is_solved(tmp_path):
    file = tmp_path / "my_lessons" / "progress.jsonl"
    file.parent.mkdir()
    assert lab.progress(file.parent) == ""
    solved = {"00.1": "true", "00.2": "false", "00.3": "false"}
    file.write_text("".join(f'{{"exercise": "{name}", "solved": {well}}}\n' for name, well in solved.items()))
    assert re.fullmatch(r"Solved so far: 1 of \d\d+ exercises\.", lab.progress(file.parent))


DEFAULTS = """
import json
from pathlib import Path
import jupyterlab
from jupyterlab_server.settings_utils import get_settings
share = Path(jupyterlab.__file__).with_name("schemas")
name = "@jupyterlab/apputils-extension:notification"
from jupyter_server.services.config import ConfigManager
overrides = ConfigManager(config_dir_name="labconfig").get("default_setting_overrides")
settings, _ = get_settings(str(Path.cwd()), str(share), str(Path.cwd()), name, overrides)
print(settings["schema"]["properties"]["fetchNews"]["default"])
"""


def test_lab_asks_nobody_whether_they_want_jupyters_news(tmp_path, monkeypatch):
    """JupyterLab asks each learner as long as its setting fetchNews is "none"."""
    (tmp_path / "labconfig").mkdir()
    (tmp_path / "labconfig" / "default_setting_overrides.json").write_text('{"x:y": {"z": 1}}')
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", str(tmp_path))
    command = [sys.executable, "-c", DEFAULTS]
    said = subprocess.run(
        command, cwd=tmp_path, env=lab.environment(), check=True, capture_output=True, text=True
    )
    assert said.stdout == "false\n"
    assert lab.environment()["JUPYTER_CONFIG_PATH"].startswith(str(tmp_path)), "one's own goes first"


DISABLED = """
from jupyterlab_server.config import get_page_config
print("@jupyter/nbgrader" in get_page_config([])["disabledExtensions"])
"""


def test_a_teachers_lab_has_no_menus_of_nbgrader():
    """`make classroom` puts nbgrader where it runs; its course stands in build/classroom."""
    command = [sys.executable, "-c", DISABLED]
    for env, said in ((lab.environment(), "True\n"), (os.environ, "False\n")):
        assert subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout == said


def test_lab_says_what_is_in_the_way(tmp_path):
    Course(tmp_path)
    (tmp_path / "my_lessons").write_text("a file")
    with pytest.raises(
        SystemExit, match=r"my_lessons cannot be used: .* must be a folder that you can write"
    ):
        lab.main(places.clone(tmp_path), [])
