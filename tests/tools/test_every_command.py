"""The commands that pages name: commands.toml says which test runs each; those that no other test runs, run here.

They run in a fresh copy of the course, with the packages of this environment: what they write is compared with what
stands here. A command that takes less than ten seconds runs on each change, the others in `make long`.
"""

import ast
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from contextlib import closing
from functools import cache
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.rules import ROOT
from tests.sample import in_long
from tests.tools import commands
from tests.tools.made import fresh
from tests.tools.test_makefile import targets
from tools import release
from tools.live import fetch

TABLE = tomllib.loads((ROOT / "tests" / "tools" / "commands.toml").read_text(encoding="utf-8"))
RUNS = {command: test for part in TABLE.values() for command, test in part.items()}
NAME = re.compile(r"(tests/[\w/]+\.py)::(\w+)")
IN_LONG = re.compile("in_long|COURSE_ALL_LESSONS")
"""In what marks a test."""


# ---- the table


def test_each_target_and_each_command_of_a_page_is_in_the_table_and_no_other():
    named = {*commands.named(), *(f"make {target}" for target in targets())}
    assert {"make lab", "python -m tools.book", "ptxsim run", "docker run"} <= named
    assert sorted(named - RUNS.keys()) == [], "which test runs it? tests/tools/commands.toml"
    assert sorted(RUNS.keys() - named) == [], "no page names it"
    assert len(RUNS) == sum(map(len, TABLE.values())), "a command has one row"


def test_the_rows_of_this_file_are_what_it_types():
    def of(test: str) -> list[str]:
        return sorted(
            command
            for part in ("on_each_change", "in_make_long")
            for command, runs in TABLE[part].items()
            if runs.endswith(f"::{test}")
        )

    assert of("test_a_command_ends_well") == sorted(
        head for line in TAKES_LONG for head in commands.commands(line)
    )
    together = [head for module in WRITERS for head in commands.commands(f"python -m {module}")]
    assert of("test_commands_write_what_stands_there") == sorted(together)
    assert all(
        RUNS[f"make {target}"].endswith("::test_commands_write_what_stands_there") for target in NEED_A_GPU
    )


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('make lab LAB="--no-browser"', ["make lab"]),
        ("COURSE_UNSAFE=yes make grade", ["make grade"]),
        ("../../.venv/bin/nbgrader export", ["nbgrader export"]),
        ("python3 -m hiding_latency lab", ["hiding-latency lab"]),
        ("venv/bin/ptxsim run reduce.cu", ["ptxsim run"]),
        ("python -m tools.book 02  # a preview", ["python -m tools.book"]),
        ("make", []),
        ("the course's make", []),
        ("ptxsim/README.md", []),
    ],
)
def test_a_line_is_read_as_a_command(line, found):
    assert commands.commands(line) == found


@cache
def marks(file: str) -> dict[str, str]:
    """Test of a file -> what marks it, its file's marks among them."""
    module = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    of_all = [ast.unparse(each) for each in module.body if ast.unparse(each).startswith("pytestmark")]
    return {
        each.name: " ".join([*of_all, *map(ast.unparse, each.decorator_list)])
        for each in module.body
        if isinstance(each, ast.FunctionDef)
    }


@pytest.mark.parametrize("part", TABLE)
def test_each_test_of_the_table_is_there_and_runs_when_it_says(part):
    for command, test in TABLE[part].items():
        found = NAME.search(test)
        assert found or part == "by_hand", command
        if not found:
            continue
        file, name = found.groups()
        assert name in marks(file), f"{command}: there is no {test}"
        if part != "by_hand":
            assert NAME.fullmatch(test), command
            assert bool(IN_LONG.search(marks(file)[name])) is (part == "in_make_long"), f"{command}: {test}"


# ---- a copy


class Copy:
    """A fresh copy of the course, in which commands are typed. It takes this environment for its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        of = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
        told = ("COURSE_", "MAKE", "MFLAGS", "WITH", "PYTHONPATH", "PYTEST_")
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(told)}
        self.env |= {name: str(folder / "build" / "jupyter") for name in of} | {"COURSE_BACKEND": "simulator"}

    def make(self, *words: str) -> list[str]:
        """The words of a command, `make` with its environment made."""
        return ["make", "--old-file=install", f"RUN={sys.executable}", *words]

    def types(self, *words: str, status: int = 0) -> str:
        """What it prints."""
        done = subprocess.run(words, cwd=self.folder, env=self.env, capture_output=True, text=True)
        assert done.returncode == status, (done.stdout + done.stderr)[-3000:]
        return done.stdout + done.stderr

    def started(self, *words: str) -> subprocess.Popen:
        """A process group of its own."""
        return subprocess.Popen(
            words, cwd=self.folder, env=self.env, stdout=subprocess.PIPE, text=True, start_new_session=True
        )

    def commit(self) -> None:
        """What git needs to compare with."""
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "x"]):
            self.types("git", "-c", "user.name=x", "-c", "user.email=x", *words)

    def changed(self) -> list[Path]:
        """Files that are not as they were."""
        return [path for path, text in self.before.items() if path.read_bytes() != text]


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Copy:
    return Copy(fresh(tmp_path_factory.mktemp("copy") / "course"))


# ---- on each change


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["lab", "LAB=--version"], r"notebooks made.*\n\d+\.\d+\.\d+\n"),
        (["news"], "No lesson has anything new"),
        (["serve", "SERVE=--help"], r"usage: hiding-latency serve .*--one-address"),
    ],
    ids=lambda words: words[0],
)
def test_a_target_begins_in_a_fresh_copy(copy, words, said):
    """Up to the program that it hands over to."""
    (copy.folder / "build" / "course").mkdir(parents=True, exist_ok=True)
    (copy.folder / "build" / "course" / "index.html").touch()  # or `make serve` writes a book first
    assert re.search(said, copy.types(*copy.make(*words)), re.DOTALL)


WRITERS = [
    "tools.author.colab",
    "tools.author.house",
    "tools.author.kinds",
    "tools.author.quoted",
    "tools.author.report_picture",
    "tools.author.short_ways",
    "tools.author.sittings",
    "tools.author.try_it",
    "tools.classroom.progress room",
]
NEED_A_GPU = ["record", "tune", "calibrate"]
"""Targets."""
ONE_AFTER_THE_OTHER = """
import runpy, sys
for module, *arguments in {}:
    sys.argv, status = [module, *arguments], None
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        status = ended.code
    print(module, "ended with", status or 0, flush=True)
"""
"""As `python -m` runs them; in one process, since what they import takes longer than they do."""


def test_commands_write_what_stands_there(copy):
    (copy.folder / "room").mkdir()
    (copy.folder / "room" / "ada.jsonl").write_text('{"exercise": "00.1", "solved": true, "answer": "x"}\n')
    called = [copy.types(*copy.make("--dry-run", target)) for target in NEED_A_GPU]
    on_a_gpu = [re.search(r"python\S* -m (tools\S+)\n", text)[1] for text in called]
    typed = [module.split() for module in (*WRITERS, *on_a_gpu)]
    said = copy.types(sys.executable, "-c", ONE_AFTER_THE_OTHER.format(typed))
    ended = dict(re.findall(r"^(\S+) ended with (\d)$", said, re.MULTILINE))
    assert ended == {each.split()[0]: "0" for each in WRITERS} | dict.fromkeys(on_a_gpu, "2")
    assert "ada" in said and "|lesson|sitting 1|" in said and said.count("GPU") >= len(on_a_gpu)
    assert copy.changed() == []


# ---- in make long

TAKES_LONG = [
    "make bench",
    "make outputs OUTPUTS=exercises/00",
    "make quick",
    "python -m tests.hiding_latency.compile_service.load --minutes 0.1 --clients 3",
    "python -m tools.author.card",
    "python -m tools.author.clock",
    "python -m tools.author.figures",
    "python -m tools.author.outputs exercises/00",
    "python -m tools.author.timelines",
    "python -m tools.book 00",
]


@in_long
@pytest.mark.parametrize("command", TAKES_LONG)
def test_a_command_ends_well(copy, command):
    program, *words = command.split()
    if command == "make quick":
        copy.commit()
    assert copy.types(*copy.make(*words) if program == "make" else [sys.executable, *words]).strip()
    assert copy.changed() == []


@in_long
def test_the_book_from_a_fresh_copy(tmp_path):
    """Installed by `make` itself: all lessons run, the book whose cells run is written, served and released, and
    nothing is done twice."""
    copy = Copy(fresh(tmp_path / "course"))
    copy.commit()
    place = [] if fetch.missing() else [f"LIVE={fetch.FOLDER}"]
    said = copy.types("make", "live", *place)
    book = copy.folder / "build" / "course"
    assert "Read the lessons: build/course/index.html" in said and (book / "playground.html").is_file()
    assert "is there" in copy.types(sys.executable, "-m", "tools.live.fetch")
    assert re.search(
        r"(\d+) of \1 notebooks: as before.*the book: as before", copy.types("make", "course"), re.DOTALL
    )
    with copy.started("make", "serve", "SERVE=--port=0") as server:
        host = re.search(r"http://(\S+)/", server.stdout.readline())[1]
        with closing(HTTPConnection(host)) as connection:
            connection.request("GET", "/")
            assert connection.getresponse().read() == (book / "index.html").read_bytes()
        os.killpg(server.pid, signal.SIGINT)
        assert "Stopped." in server.communicate(timeout=60)[0]
    copy.types("make", "release", f"TAG=v{release.project(ROOT, '.')['version']}")
    assert len(list((copy.folder / "build" / "release").glob("*.whl"))) == 3
    if chromium():
        assert "MB of memory of the tab when ready" in copy.types(sys.executable, "-m", "tools.live.measure")
    assert copy.changed() == []


def chromium() -> bool:
    found = bool(importlib.util.find_spec("playwright") and shutil.which("chromium"))
    assert found or not os.environ.get("COURSE_NOTHING_MISSING")
    return found
