"""Notebooks executed, each from its first cell in a fresh kernel of this Python, some at the same time.

A cell that raises counts as failed, except one tagged `raises-exception`, which has to raise.
"""

import asyncio
import contextlib
import itertools
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import nbformat
from jupyter_client.client import KernelClient
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError

from course_lib.exercises.predictions import TELL
from hiding_latency.kernels import OwnKernel
from hiding_latency.outcome import Outcome, name_of, outcome
from ptxsim.ground import foreign

CELL_SECONDS = 300


class Executor(NotebookClient):
    """An executor that Ctrl-C stops."""

    async def async_start_new_kernel_client(self) -> KernelClient:
        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(RuntimeError):  # on Windows there is nothing to take off
                # nbclient's own handler would end the kernel and go on, as if the notebook had failed.
                asyncio.get_running_loop().remove_signal_handler(number)
        return await super().async_start_new_kernel_client()


class InvalidNotebook(ValueError):
    """A file is no notebook; the message says why."""


def read(path: Path) -> nbformat.NotebookNode:
    """A notebook with the outputs that it has. Raises InvalidNotebook."""
    try:
        text = foreign.text_of(path)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidNotebook(error) from error
    if not text.strip():
        raise InvalidNotebook("it is empty")
    try:
        foreign.json_of(text)  # it names line and column, as nbformat does not
    except ValueError as error:
        reason = f"it is not JSON, {error}" if isinstance(error, json.JSONDecodeError) else str(error)
        raise InvalidNotebook(reason) from error
    try:
        notebook = nbformat.reads(text, as_version=4)
        nbformat.validate(notebook)
    except Exception as error:  # over JSON that is no notebook, nbformat stumbles in its own code
        reason = str(error).partition("\n")[0]
        raise InvalidNotebook(f"it is JSON, and nbformat says: {reason}") from error
    return notebook


def committed(path: Path) -> Outcome:
    """A notebook as it lies there, without a run."""
    return outcome(name_of(path), read(path), 0.0, [])


def without_outputs(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook, emptied: nothing committed may pass for a result of this run."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return notebook


async def execute(notebook: nbformat.NotebookNode, folder: Path) -> list[str]:
    """Run all cells in place and return what stopped the run, which is nothing when it came to the end.

    A cell that raises does not stop it. What came out is told without a prediction: the book folds it.
    """
    client = Executor(
        notebook,
        resources={"metadata": {"path": str(folder)}},
        timeout=CELL_SECONDS,
        allow_errors=True,
        shutdown_kernel="immediate",
        kernel_manager_class=OwnKernel,
    )
    try:
        await client.async_execute(env=os.environ | {TELL: "1"})
    except CellTimeoutError:
        return [f"a cell took longer than {CELL_SECONDS} s; the cells after it did not run"]
    except DeadKernelError:
        if (task := asyncio.current_task()) and task.cancelling():  # by Ctrl-C, which nbclient takes for this
            raise asyncio.CancelledError from None
        return ["the kernel ended by itself; the cells after it did not run"]
    return []


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


async def run_all(
    paths: list[Path], at_once: int, keep: Callable[[Path, Outcome], None] = lambda *_: None
) -> list[Outcome]:
    """Run these notebooks, so many at the same time; each is handed to `keep`. Outcomes have the order of the paths."""
    # Ctrl-C ends the kernels; that is no news
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    places, done = asyncio.Semaphore(at_once), itertools.count(1)

    async def run(path: Path) -> Outcome:
        async with places:
            outcome = await run_lesson(path)
        keep(path, outcome)
        print(f"{next(done)} of {len(paths)}, {outcome.name}: {outcome.seconds:.0f} s", flush=True)
        return outcome

    # none is alone at the end
    longest_first = sorted(paths, key=lambda path: path.stat().st_size, reverse=True)
    outcomes = await asyncio.gather(*map(run, longest_first))
    return sorted(outcomes, key=lambda outcome: [name_of(path) for path in paths].index(outcome.name))
