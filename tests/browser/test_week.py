"""A learner's week with the installed course, in JupyterLab: `make long`.

Monday: a first start in an empty folder, a whole lesson, an exercise, a prediction. Tuesday: Lab opens what
was open; the changelog. Wednesday: the next lesson. Thursday: a newer wheel, with an edited copy and one that was only
run. Friday: what the copies show is tried. Saturday: another machine.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from course_lib.lessons import sources
from tests.browser.live import PATIENCE
from tests.browser.test_lab import at_rest, cell_with, menu, rewrite, save
from tests.lessons.reading import ANSWER, cells_of
from tests.rules import ROOT
from tests.tools.made import install_wheels
from tools.author.numbers import text_shown

FIRST, SECOND = "00_start_here.ipynb", "01_mainloop.ipynb"
NEWER = "9.9.0"
ROWS = ("threadIdx.x % 32", "threadIdx.x / 32", "m + n * M")
DAYS = 20  # minutes, on a busy machine


def newer(source: Path) -> None:
    """The next version: two lessons have another title."""
    for name in (FIRST, SECOND):
        lesson = source / "notebooks" / name
        text = lesson.read_text(encoding="utf-8")
        lesson.write_text(re.sub(r"# 0\d · [^\"\\]*", r"\g<0>, once more", text, count=1), encoding="utf-8")
    settings = source / "pyproject.toml"
    settings.write_text(re.sub("(?m)^version = .*", f'version = "{NEWER}"', settings.read_text()))


class Machine:
    """A computer of the learner's: a home, an installed course, perhaps copies from elsewhere."""

    def __init__(self, home: Path, site: Path) -> None:
        self.home, self.mine, self.process = home, home / "mine", None
        home.mkdir(exist_ok=True)
        self.install(site)

    def install(self, site: Path) -> None:
        """As pip does, in place of what was there."""
        own = {
            "HOME": str(self.home),
            "PYTHONPATH": str(site),
            "JUPYTER_PATH": str(site / "share" / "jupyter"),
        }
        self.env = os.environ | own | {"COURSE_BACKEND": "simulator"}
        for name in [
            name for name in self.env if name.startswith(("JUPYTER_CONFIG", "JUPYTERLAB_", "IPYTHONDIR"))
        ]:
            del self.env[name]

    def call(self, *words: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "hiding_latency", *words]
        return subprocess.run(command, cwd=self.home, env=self.env, capture_output=True, text=True)

    def lab(self) -> str:
        """Start Lab, as the learner types it; the address that opens."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        options = ["--", "--no-browser", f"--port={port}", "--IdentityProvider.token=x"]
        command = [sys.executable, "-m", "hiding_latency", "lab", "mine", *options]
        self.log = self.home / "lab.log"
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(command, cwd=self.home, env=self.env, stdout=log, stderr=log)
        until = time.monotonic() + 120
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return f"http://127.0.0.1:{port}/?token=x"
            except OSError:
                assert self.process.poll() is None and time.monotonic() < until, self.log.read_text()
                time.sleep(0.2)

    def evening(self) -> str:
        """End Lab; what it said on its way."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return self.log.read_text()


@pytest.fixture(scope="module")
def sites(tmp_path_factory) -> tuple[Path, Path]:
    """This version, installed, and the next one."""
    return tuple(
        install_wheels(tmp_path_factory.mktemp("wheel"), change) for change in (lambda _: None, newer)
    )


@pytest.fixture
def machine(tmp_path, sites):
    machines = []

    def make(name: str) -> Machine:
        machines.append(Machine(tmp_path / name, sites[0]))
        return machines[-1]

    yield make
    for each in machines:
        if each.process:
            each.evening()


def shown(page) -> str:
    """The name of the notebook on the screen, at rest."""
    page.wait_for_selector(
        ".jp-NotebookPanel:not(.lm-mod-hidden) .jp-CodeCell .jp-InputPrompt", timeout=PATIENCE
    )
    at_rest(page)
    return page.url.partition("/tree/")[2].partition("?")[0]


def address(page, name: str) -> str:
    """Of another file in the Lab of this page."""
    return f"{page.url.partition('/lab')[0]}/lab/tree/{name}?reset&token=x"


def lesson_cell(name: str, text: str) -> str:
    cells = json.loads((ROOT / "notebooks" / name).read_text(encoding="utf-8"))["cells"]
    return next(source for each in cells if text in (source := "".join(each["source"])))


def run_all(page) -> None:
    menu(page, "Run", "Run All Cells")
    page.wait_for_timeout(1000)
    at_rest(page, 60 * DAYS)
    save(page)


def errors(copy: Path) -> list[str]:
    """Cells that raised and were not meant to."""
    cells = json.loads(copy.read_text(encoding="utf-8"))["cells"]
    return [
        "".join(cell["source"])[:80]
        for cell in cells
        if "raises-exception" not in cell["metadata"].get("tags", ())
        and any(output["output_type"] == "error" for output in cell.get("outputs", ()))
    ]


def told(copy: Path) -> list[str]:
    """What `score` told."""
    return [match[0] for cell in cells_of(copy) for match in ANSWER.finditer(text_shown(cell))]


def test_a_week(machine, sites, open_page, keep):
    here = machine("home")
    # Monday
    page = open_page(here.lab())
    assert shown(page) == FIRST, "the first lesson is what opens"
    run_all(page)
    assert errors(here.mine / FIRST) == []
    assert told(here.mine / FIRST) == [], "nothing is told before it is predicted"
    answer = lesson_cell(FIRST, 'check_exercise("00.1"')
    for gap in ROWS:
        answer = answer.replace("____", gap, 1)
    cell = cell_with(page, 'check_exercise("00.1"')
    rewrite(page, cell, answer)
    at_rest(page)
    assert "00.1 passed" in cell.inner_text()
    rewrite(page, cell_with(page, "my_blocks = None"), "my_blocks = 4\nmy_idle_threads = 24")
    scored = cell_with(page, "my_blocks, ")
    scored.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    at_rest(page)
    assert "blocks: right, it is 4" in scored.inner_text()
    progress = cell_with(page, "# What you have solved")
    progress.locator(".jp-OutputArea, .jp-InputPrompt").first.click()
    page.keyboard.press("Control+Enter")
    progress.locator(".jp-OutputArea").get_by_text("✓ 00.1").wait_for(timeout=PATIENCE)
    save(page)
    keep(page, "week-monday")
    assert (
        page.outside == []
        and f"{len(sources.every_notebook(sources.NOTEBOOKS))} notebooks made" in here.evening()
    )
    # Tuesday
    page = open_page(here.lab())
    assert shown(page) == FIRST
    assert "Solved so far: 1 of" in here.log.read_text()
    page = open_page(address(page, "pages/CHANGELOG.md"))
    page.get_by_text("What is new, for a learner").first.wait_for(timeout=PATIENCE)
    # Wednesday
    page = open_page(address(page, SECOND))
    assert shown(page) == SECOND
    run_all(page)
    assert errors(here.mine / SECOND) == []
    here.evening()
    # Thursday
    edited = (here.mine / FIRST).read_bytes()
    here.install(sites[1])
    page = open_page(here.lab())
    shown(page)
    said = here.log.read_text()
    beside = FIRST.replace(".ipynb", f".new-{NEWER}.ipynb")
    assert f"The course is now {NEWER}" in said and "pages/CHANGELOG.md says what is new" in said
    assert (
        f"mine/{FIRST}: you changed it, so it stays as it is. The new version is beside it: {beside}" in said
    )
    assert f"mine/{SECOND}: replaced by the version of course {NEWER}" in said
    assert (here.mine / FIRST).read_bytes() == edited
    page = open_page(address(page, beside))
    page.locator("h1", has_text="once more").first.wait_for(timeout=PATIENCE)
    keep(page, "week-thursday")
    here.evening()
    # Friday
    done = here.call("test", "mine", "--lesson", "00")
    assert done.returncode == 0, done.stdout[-3000:]
    # Saturday
    there = machine("laptop")
    shutil.copytree(here.mine, there.mine)
    there.install(sites[1])
    page = open_page(there.lab())
    shown(page)
    said = there.log.read_text()
    assert "Solved so far: 1 of" in said and "made" not in said and "changed" not in said
    assert (there.mine / FIRST).read_bytes() == edited
    assert sorted(path.name for path in there.mine.glob("*.new-*")) == [beside]
