"""What `make test` ran whole and found right, kept in build/tested: `make rest` leaves it out of `make long`.

A line for each test, by what it is and what it was given: its name alone may stand for another case in a sample. Each
process of a run has a file of its own.
"""

import hashlib
import os
import pprint
import re
import shutil

import pytest

from tests import sample
from tests.rules import ROOT

FOLDER = ROOT / "build" / "tested"
WHOLE = ["tests", "notebooks"]
"""What is asked for in `make test`, `make rest` and `make long`."""
LONG_ONLY = (
    "tests/browser/test_live_lessons.py",
    "tests/browser/test_book.py",
    "tests/browser/test_lab.py",
    "tests/tools/test_every_command.py::test_a_command_ends_well",
    "tests/tools/test_every_command.py::test_the_book_from_a_fresh_copy",
    "tests/tools/classroom/test_walk.py",
    "tests/tools/classroom/test_classroom.py::test_hostile_submissions_hold_up_nobody",
    "tests/ptxsim/compiler/test_cache.py::test_all_that_ships_is_what_the_compiler_makes_now",
    "tests/ptxsim/compiler/test_cache.py::test_an_unedited_lesson_runs_without_nvrtc",
)
"""With every lesson each takes minutes, half an hour together, and one has a minute by the clock: in `make long`, not
in `make rest`."""
OF_LESSONS = (
    "tests/tools/classroom/test_classroom.py::test_the_solutions_get_all_points_wrong_answers_and_the_stubs_none",
    "tests/lessons/test_other_gpus.py::test_a_notebook_runs_to_its_end",
)
"""In `make rest` of the lessons alone, a quarter of an hour less: banks and deeper pages go the same way."""
LESSONS = {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}


def key(item: pytest.Item) -> str:
    """The same in each process, and another one where another case has the name."""
    given = getattr(getattr(item, "callspec", None), "params", {})
    # a set's own order differs from process to process; pprint sorts it, where it does not fit into a line
    words = re.sub(r" at 0x[0-9a-f]+", "", pprint.pformat(given, width=1))
    return f"{hashlib.sha256(words.encode()).hexdigest()[:12]} {item.nodeid}"


def rest(items: list[pytest.Item], ran: set[str]) -> list[pytest.Item]:
    """What is still to be run: of a notebook all cells or none."""
    left = {item for item in items if key(item) not in ran}
    notebooks = {item.path for item in left if _notebook(item)}
    return [item for item in items if item in left or item.path in notebooks]


def _in_long_alone(item: pytest.Item) -> bool:
    if not item.nodeid.startswith(OF_LESSONS):
        return item.nodeid.startswith(LONG_ONLY)
    given = item.callspec.params.values()
    return LESSONS.isdisjoint(str(each).removeprefix("assignment_") for each in given)


def _notebook(item: pytest.Item) -> bool:
    return item.path.suffix == ".ipynb"


def pytest_sessionstart(session: pytest.Session) -> None:
    """Forget the run before this one."""
    config = session.config
    if _noted(config) and not hasattr(config, "workerinput") and not config.option.collectonly:
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir(parents=True)


def _noted(config: pytest.Config) -> bool:
    return config.args == WHOLE and not sample.EVERY


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item):
    """A test that passed, or a cell that is not compared and did not fail; not one that took a sample itself."""
    report = yield
    done = report.passed or (report.skipped and _notebook(item))
    if _noted(item.config) and report.when == "call" and done and item.nodeid not in sample.cut:
        FOLDER.mkdir(parents=True, exist_ok=True)  # a test may take a sample inside a run that takes none
        with (FOLDER / os.environ.get("PYTEST_XDIST_WORKER", "one")).open("a", encoding="utf-8") as file:
            file.write(key(item) + "\n")
    return report


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not (sample.REST and config.args == WHOLE):  # who asks for one test means this one
        return
    ran = {line for path in FOLDER.glob("*") for line in path.read_text(encoding="utf-8").splitlines()}
    left = set(rest([item for item in items if not _in_long_alone(item)], ran))
    config.hook.pytest_deselected(items=[item for item in items if item not in left])
    items[:] = [item for item in items if item in left]
