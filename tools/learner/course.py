"""Run every lesson, write the book, print one table. `make course` calls this.

Each notebook is executed from its first cell in a fresh kernel of this Python. A cell that raises counts as
failed, except one tagged `raises-exception`, which has to raise. The book lies in `build/course/` (tools/book).
A notebook that ran without a failure runs again only when something changed that it depends on (kept.py), or with
`--again`; the book is written again only when something in it changed.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import nbformat
from jupyter_client import AsyncKernelManager, KernelClient
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError

from course_lib.lessons import sources
from tools.book.build import LITE, BookError, write_book
from tools.install import alone
from tools.learner import copies, kept
from tools.live import fetch
from tools.packages import PACKAGES

ROOT = Path(__file__).resolve().parents[2]
CELL_SECONDS = 300
MOST_AT_ONCE = 4  # lessons; each takes a core and half a gigabyte
IN_THE_BOOK = ("tools", "docs", "assets", *PACKAGES, "*.md", "pyproject.toml")
"""What makes the book, and what pages of it show or link to, besides the notebooks."""
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class ThisPython(KernelSpecManager):
    """Every kernel name stands for the Python that runs this file, whatever kernels are registered."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        command = [sys.executable, "-m", "ipykernel_launcher", "--log-level=ERROR", "-f", "{connection_file}"]
        return KernelSpec(argv=command, language="python", display_name="Python")


class Executor(NotebookClient):
    """An executor whose kernel is this Python, and that Ctrl-C stops."""

    def create_kernel_manager(self) -> AsyncKernelManager:
        self.km = AsyncKernelManager(kernel_spec_manager=ThisPython())
        return self.km

    async def async_start_new_kernel_client(self) -> KernelClient:
        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(RuntimeError):  # on Windows there is nothing to take off
                # nbclient's own handler would end the kernel and go on, as if the notebook had failed.
                asyncio.get_running_loop().remove_signal_handler(number)
        return await super().async_start_new_kernel_client()


class InvalidNotebook(ValueError):
    """A file is no notebook; the message says why."""


@dataclass(frozen=True)
class Outcome:
    """What happened in one notebook. `failures` says where and why, one line each; `notebook` is as it ran, now or, if
    nothing changed that it depends on, `before`."""

    name: str
    title: str
    cells: int
    checks: int
    seconds: float
    failures: tuple[str, ...]
    notebook: nbformat.NotebookNode = field(repr=False, compare=False)
    before: bool = False

    @property
    def ended(self) -> str:
        """One or two words for the table."""
        return "FAILED" if self.failures else "as before" if self.before else "ok"


async def execute(notebook: nbformat.NotebookNode, folder: Path) -> list[str]:
    """Run all cells in place and return what stopped the run, which is nothing when it came to the end.

    A cell that raises does not stop it.
    """
    client = Executor(
        notebook,
        resources={"metadata": {"path": str(folder)}},
        timeout=CELL_SECONDS,
        allow_errors=True,
        shutdown_kernel="immediate",
    )
    try:
        await client.async_execute()
    except CellTimeoutError:
        return [f"a cell took longer than {CELL_SECONDS} s; the cells after it did not run"]
    except DeadKernelError:
        if asyncio.current_task().cancelling():  # by Ctrl-C, which nbclient takes for this
            raise asyncio.CancelledError from None
        return ["the kernel ended by itself; the cells after it did not run"]
    return []


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """The code cells that hold something."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def texts(cell: nbformat.NotebookNode) -> list[str]:
    """The text of each output of a cell."""
    return [output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.outputs]


def count_checks(notebook: nbformat.NotebookNode) -> int:
    """How many checks passed: lines of output that start with "check passed"."""
    lines = [line for cell in code_cells(notebook) for text in texts(cell) for line in text.splitlines()]
    return sum(line.startswith("check passed") for line in lines)


def checked(outcome: Outcome) -> str:
    """What was checked: in a lesson its own results. Further exercises hold nothing that could pass before a learner
    fills it in, so there they are counted."""
    if not outcome.name.startswith("exercises/"):
        return f"{outcome.checks} passed"
    given = sum("exercise" in cell.metadata.get("tags", []) for cell in outcome.notebook.cells)
    return f"{given} exercises"


def failures(notebook: nbformat.NotebookNode) -> list[str]:
    """One line for each code cell that did not do what it should."""
    found = []
    for number, cell in enumerate(code_cells(notebook), start=1):
        raised = [output for output in cell.outputs if output.output_type == "error"]
        expected = "raises-exception" in cell.metadata.get("tags", [])
        if raised and not expected:
            reason = _COLOUR.sub("", raised[0].evalue).strip().partition("\n")[0]
            found.append(f"code cell {number} raised {raised[0].ename}: {reason}")
        elif expected and not raised:
            found.append(f"code cell {number} should have raised an exception and did not")
        found += [
            f"code cell {number}: {t.splitlines()[0]}" for t in texts(cell) if t.startswith("check failed")
        ]
    return found


def title_of(notebook: nbformat.NotebookNode, name: str) -> str:
    """The first heading of a notebook, or its name."""
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    heading = re.search(r"^#\s+(.+)$", text, re.MULTILINE)
    return heading[1].strip() if heading else name


def table(outcomes: list[Outcome], machine: str) -> str:
    """The one table that is printed: a line for each notebook, then what went wrong."""
    head = ("notebook", "cells", "checks", "seconds", "backend", "")
    rows = [(o.name, str(o.cells), checked(o), f"{o.seconds:.1f}", machine, o.ended) for o in outcomes]
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in [head, *rows]]
    lines += [f"{outcome.name}, {failure}" for outcome in outcomes for failure in outcome.failures]
    return "\n".join(lines)


def read(path: Path) -> nbformat.NotebookNode:
    """A notebook with the outputs that it has. Raises InvalidNotebook."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidNotebook(error) from error
    if not text.strip():
        raise InvalidNotebook("it is empty")
    try:
        json.loads(text)  # it names line and column, as nbformat does not
        notebook = nbformat.reads(text, as_version=4)
        nbformat.validate(notebook)
    except json.JSONDecodeError as error:
        raise InvalidNotebook(f"it is not JSON, {error}") from error
    except Exception as error:  # over JSON that is no notebook, nbformat stumbles in its own code
        reason = str(error).partition("\n")[0]
        raise InvalidNotebook(f"it is JSON, and nbformat says: {reason}") from error
    return notebook


def without_outputs(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook, emptied: nothing committed may pass for a result of this run."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return notebook


def name_of(path: Path) -> str:
    """What the table and the book call a notebook: `01_mainloop`, and with its folder what is not on the way:
    `deeper/01_banks`, `exercises/01_mainloop`."""
    return f"{path.parent.name}/{path.stem}" if path.parent.name in ("deeper", "exercises") else path.stem


async def run_lesson(path: Path) -> Outcome:
    """Execute one notebook, and say how it went."""
    begin = time.monotonic()
    try:
        notebook = without_outputs(read(path))
        stopped = await execute(notebook, path.parent)
    except InvalidNotebook as error:
        stopped = [f"cannot be used as a notebook: {error}. Restore or move {path.parent.name}/{path.name}"]
        text = f"# {path.stem}\n\n```text\n{stopped[0]}\n```"
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text)])
    seconds = time.monotonic() - begin
    return outcome(name_of(path), notebook, seconds, stopped)


def outcome(name: str, notebook: nbformat.NotebookNode, seconds: float, stopped: list[str]) -> Outcome:
    """What a notebook says that has run, and why it stopped, if it did."""
    title, cells, found = title_of(notebook, name), len(code_cells(notebook)), failures(notebook) + stopped
    return Outcome(name, title, cells, count_checks(notebook), seconds, tuple(found), notebook)


async def run_all(
    paths: list[Path], at_once: int, keep: Callable[[Path, Outcome], None] = lambda *_: None
) -> list[Outcome]:
    """Run these notebooks, so many at the same time; each is handed to `keep`. Outcomes have the order of the paths."""
    asyncio.get_running_loop().set_exception_handler(
        lambda *_: None
    )  # Ctrl-C ends the kernels; that is no news
    places, done = asyncio.Semaphore(at_once), itertools.count(1)

    async def run(path: Path) -> Outcome:
        async with places:
            outcome = await run_lesson(path)
        keep(path, outcome)
        print(f"{next(done)} of {len(paths)}, {outcome.name}: {outcome.seconds:.0f} s", flush=True)
        return outcome

    longest_first = sorted(
        paths, key=lambda path: path.stat().st_size, reverse=True
    )  # none is alone at the end
    outcomes = await asyncio.gather(*map(run, longest_first))
    return sorted(outcomes, key=lambda outcome: [name_of(path) for path in paths].index(outcome.name))


def run_course(notebooks: Path, machine: str, again: bool = False) -> list[Outcome]:
    """Run the lessons of a folder, what goes deeper, and further exercises: those that changed, or all `again`."""
    found = sources.every_notebook(notebooks)
    others = sorted(path.name for path in notebooks.glob("*.ipynb") if path not in found)
    if others:
        print(f"left alone: {', '.join(others)} (a lesson is called NN_name.ipynb)", flush=True)
    keys = kept.keys(ROOT, found, machine)
    before = {} if again else {path: run for path in found if (run := as_before(path, keys[path]))}
    left = [path for path in found if path not in before]
    if before:
        print(f"{len(before)} of {len(found)} notebooks: as before. make course AGAIN=1 runs them too.")
    at_once = 1 if machine == "cupy" else min(MOST_AT_ONCE, os.cpu_count() or 1)  # no times are disturbed
    if left:
        print(f"running {len(left)} notebooks, lessons and exercises, {at_once} at a time", flush=True)

    def keep(path: Path, ran: Outcome) -> None:
        if not ran.failures:
            kept.save(place_of(path), keys[path], ran.notebook, ran.seconds)

    ran = dict(zip(left, asyncio.run(run_all(left, at_once, keep))))
    return [(before | ran)[path] for path in found]


def place_of(path: Path) -> Path:
    """Where a notebook is kept as it ran."""
    return ROOT / "build" / "ran" / f"{name_of(path)}.ipynb"


def as_before(path: Path, key: str) -> Outcome | None:
    """What came of a notebook before, if it would come again."""
    run = kept.load(place_of(path), key)
    return replace(outcome(name_of(path), *run, []), before=True) if run else None


def bind(outcomes: list[Outcome], machine: str, out: Path) -> bool:
    """Write the book into `out` and say so, unless it is there and nothing in it changed; False when that failed."""
    begin, stamp = time.monotonic(), out / "made-of"
    ran = [text for o in outcomes for text in (o.name, nbformat.writes(o.notebook), *o.failures)]
    live = not fetch.missing()
    beside = str((out / LITE).is_dir())
    made_of = kept.digest([kept.digest_of_files(ROOT, IN_THE_BOOK), machine, str(live), beside, *ran])
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == made_of:
        print("the book: as before", flush=True)
        return True
    try:
        remarks = write_book(outcomes, machine, out, live)
    except BookError as error:
        print(f"The book could not be written; {out.name} is as it was. Sphinx said:\n{error}", flush=True)
        return False
    stamp.write_text(made_of, encoding="utf-8")
    print("\n".join([*remarks, f"the book: {time.monotonic() - begin:.0f} s"]), flush=True)
    return True


def bring_copies() -> None:
    """The learner's copies, also for whoever opens them without `make lab`; without them the course runs as well."""
    try:
        print("".join(f"{line}\n" for line in copies.update(ROOT)), end="", flush=True)
    except OSError as error:
        print(f"{copies.FOLDER} stays as it is: {error}")


def main(again: bool = False) -> int:
    """Run what changed of the course, or all of it `again`; return the exit status: 0 when everything ran, every check
    passed and the book is there."""
    from cupy_or_sim import device

    out, machine = ROOT / "build" / "course", device.backend()
    try:
        with alone(ROOT / "build" / "course.lock", "Another make course runs here: waiting for it."):
            bring_copies()
            outcomes = run_course(ROOT / "notebooks", machine, again)
            bound = bind(outcomes, machine, out)
    except KeyboardInterrupt:
        print(
            "\nStopped. The book in build/course, if there is one, is of an earlier run. Run it again: it goes on."
        )
        return 130
    print(f"\n{table(outcomes, machine)}")
    if bound:
        print(f"\nRead the lessons: {(out / 'index.html').relative_to(ROOT)}")
    return 0 if bound and outcomes and not any(outcome.failures for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(again="--again" in sys.argv))
