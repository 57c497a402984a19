"""The exercises of lesson 09, but the one on a whole program."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterable
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from io import StringIO
from math import ceil
from posixpath import basename, normpath
from typing import Any

import numpy as np

from cupy_or_sim.simulate import simulate
from ptxsim import Report
from ptxsim.__main__ import parser
from ptxsim.observe.events import Load, Work

from .common import demand, demand_kernel, demand_no_hazard, fail
from .needless import needless_barrier
from .untried import Untried

COLUMNS = 128, 256, 200, 1000, 1, 38_500
"""Of the rows that are tried: the author's own size first, then whole pieces, then what is left over: of eight pieces,
and of one. Last 301 pieces, for a kernel with a place for each piece, or a barrier in its first turns only."""
SOME = 1000
"""Of these, by which barriers are counted: two in each of its turns are enough."""
ROWS, THREADS = 2, 128
LONG = 4 * THREADS
"""Columns from which on all warps read x, also where a thread takes four numbers at a time."""
UNWRITTEN = np.uint32(0x7FC0_5EED)
"""What y is full of: a NaN that no arithmetic gives."""


def _running_sums(kernel: Any) -> str | None:
    """Right sums of any number of columns, by all warps. A needless barrier is told."""
    demand_kernel(kernel)
    reports = _summed(kernel, (*COLUMNS, *_more_columns(kernel)))
    turns = ceil(SOME / THREADS)
    return needless_barrier(
        kernel, reports[SOME].events, 2 * turns, partial(_summed, all_columns=COLUMNS[:5])
    )


def _summed(kernel: Any, all_columns: Iterable[int]) -> dict[int, Report]:
    """By columns, of rows that are right."""
    reports = {}
    for columns in all_columns:
        x = np.random.default_rng(9).integers(-3, 4, (ROWS, columns)).astype(np.float32)
        y = np.full(x.shape, UNWRITTEN).view(np.float32)
        reports[columns] = report = simulate(kernel, (ROWS,), (THREADS,), (x, y, np.int32(columns)))
        demand_no_hazard(report)
        wrong, missing = y != np.cumsum(x, axis=1), y.view(np.uint32) == UNWRITTEN
        demand(not missing.any(), f"with {columns} columns {missing.sum()} sums are missing.", "missing")
        notes = "".join(f" Note: {note}." for note in report.notes)
        causes = ("mask-by-chance",) if "__activemask()" in notes else ()
        nan = np.isnan(y)
        demand(not nan.any(), f"with {columns} columns {nan.sum()} sums are NaN.{notes}", *causes)
        first = np.argwhere(wrong)[0].tolist() if wrong.any() else []
        demand(
            not wrong.any(),
            f"with {columns} columns y{first} is the first of {wrong.sum()} sums that are wrong.",
            *["one-piece"] * (columns == THREADS),
        )
        _demand_shared_work(report, columns)
    return reports


def _more_columns(kernel: Any) -> list[int]:
    """Of rows for a kernel that treats a number of pieces apart."""
    numbers = Untried(kernel).k_tiles(THREADS, {columns // THREADS for columns in COLUMNS[:-1]}, 2)
    return [THREADS * pieces for pieces in numbers]


def _demand_shared_work(report: Report, columns: int) -> None:
    """A number of x is read once, and y never; lanes side by side; every warp reads some of a long row, and none adds
    for all."""
    requests, enough = report.counters.total.global_requests, 2 * ROWS * ceil(columns / 32)
    right = f"with {columns} columns the sums are right, but"
    reading = sum(any(isinstance(event, Load) for event in mine) for mine in report.events)
    all_read = reading == len(report.events)
    text = f"{right} {requests} loads and stores of warps move what {enough} can."
    demand(requests <= 2 * enough, text, "read-again" if all_read else "not-shared")
    read = round(sum(each.bytes for mine in report.events for each in mine if isinstance(each, Load)) / 4)
    row = read // (len(report.events) * 32 // THREADS)
    text = f"{right} for a row {row} numbers are read, and it has {columns}."
    demand(row <= columns, text, "read-again")
    text = f"{right} {reading} of {len(report.events)} warps read x."
    demand(columns < LONG or all_read, text, "not-shared")
    of_warps = [sum(each.wavefronts for each in mine if isinstance(each, Work)) for mine in report.events]
    busiest = max(of_warps)
    text = f"{right} one of {len(of_warps)} warps makes {busiest:.0f} of {sum(of_warps):.0f} accesses to shared memory."
    few = busiest <= THREADS / 2 * ceil(columns / THREADS)
    demand(few or busiest <= sum(of_warps) / 2, text, "not-shared")


SHAPE, APART, BOX = (440, 256), 2000, (64, 128)
"""Of the second exercise: elements, bytes, elements; the closest neighbours first."""


def _map(answer: Any) -> None:
    told = answer if isinstance(answer, tuple | list) else ()
    parts = [each.tolist() if isinstance(each, np.ndarray | np.generic) else each for each in told]
    if len(parts) == 3 and isinstance(parts[1], tuple | list) and len(parts[1]) == 1:
        parts[1] = parts[1][0]  # as C++ has it: apart[] = {2000}
    fits = len(parts) == 3 and isinstance(parts[1], int) and all(map(_is_pair, parts[::2]))
    demand(
        fits,
        f"the answer is three things, such as ((10, 20), 32, (8, 4)), and not {answer!r:.60}.",
        "wrong-form",
    )
    shape, apart, box = tuple(parts[0]), parts[1], tuple(parts[2])
    turned = shape[0] == SHAPE[1] < shape[1], box == BOX[::-1]
    rows_first = [f"the shape {shape}"] * turned[0] + [f"the box {box}"] * turned[1]
    demand(not rows_first, f"rows come first in {' and in '.join(rows_first)}.", "rows-first")
    demand(
        apart % 16 == 0,
        f"the driver refuses rows that are {apart} bytes apart: no multiple of 16.",
        "not-by-16",
    )
    demand(apart == APART, f"row 1 does not begin {apart} bytes behind row 0.", "other-distance")
    demand(shape[1] == SHAPE[1], f"A has not {shape[1]} rows.", "other-shape")
    comes = "numbers from beside A come" if shape[0] > SHAPE[0] else "zeros come for numbers of A"
    demand(shape == SHAPE, f"with {shape[0]} columns in the shape {comes}.", "other-shape")
    demand(box == BOX, f"a copy brings {box[0]} columns of {box[1]} rows.", "other-box")


def _is_pair(value: Any) -> bool:
    return (
        isinstance(value, tuple | list) and len(value) == 2 and all(isinstance(each, int) for each in value)
    )


BY_SHELL = re.compile(r"\d?>")
JOINED = re.compile(r"\d?>&\d")
"""For the shell as well, and it makes no file of it."""


def _command(answer: Any) -> None:
    demand(isinstance(answer, str), f"the answer is a text, and not {answer!r:.60}.", "wrong-form")
    words = _words(answer)
    by_python = len(words) > 1 and basename(words[0]).startswith("python") and words[1] == "-m"
    words = words[2:] if by_python else words
    begins = [basename(words[0]), *words[1:2]] if words else []
    demand(begins == ["ptxsim", "run"], f"the command begins with {' '.join(words[:2])!r}.", "wrong-form")
    turned = next((word for word in words if BY_SHELL.match(word)), "")
    text = f"{turned} is for the shell: the file gets all that is printed there, the program's own lines too."
    demand(not turned, text, "no-json")
    end = words.index("--") if "--" in words else len(words)
    asked, own = _as_taken(words[1:end]), words[end + 1 :]
    included = [*asked.include, *(each[2:] for each in asked.option if each.startswith("-I"))]
    files, folders = ([normpath(path) for path in paths] for paths in (asked.files, included))
    demand(files == ["src/softmax.cu"], f"the files are {', '.join(files)}.", "other-file")
    demand(own == ["8"], f"the program gets {own or 'nothing'}.", "other-arguments")
    text = f"reduce.cuh is not found: headers are looked for in {', '.join(folders) or 'no folder'}."
    demand("include" in folders, text, "no-header")
    text = f"--arch {asked.arch} is no compute capability: ptxsim run builds nothing."
    demand(re.fullmatch(r"[1-9]\d{1,2}[a-z]?", asked.arch), text, "other-gpu")
    demand(asked.arch == "80", f"its kernels are compiled for --arch {asked.arch}.", "other-gpu")
    demand(asked.sms is None, f"the program is told of a GPU with {asked.sms} SMs.", "other-sms")
    demand(asked.limit == 60, f"a launch may take {asked.limit:g} seconds.", "other-limit")
    report = normpath(asked.json) if asked.json else "stderr only"
    demand(report == "report.json", f"the report goes to {report}.", "no-json")


def _words(command: str) -> list[str]:
    """As a shell hands them over, in the project's folder; a prompt in front, or the ! of a notebook, is no word."""
    line = command.replace("\\\n", " ").strip().removeprefix("$ ").removeprefix("!")
    try:
        words = shlex.split(re.sub(r"\$PWD\b|\$\{PWD\}", ".", line))
        return [word for word in words if not JOINED.fullmatch(word)]
    except ValueError as reason:
        fail(f"a shell would wait for more: {str(reason).lower()}.", "wrong-form")


def _as_taken(words: list[str]) -> argparse.Namespace:
    """What `ptxsim` takes them for."""
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as said:
        try:
            return parser().parse_args(words)
        except SystemExit:
            reason = said.getvalue().rpartition("error: ")[2].strip()
    fail(f"ptxsim run says: {reason or 'help, and runs nothing'}.", "no-option")


EXERCISES = {"09.1": _running_sums, "09.2": _map, "09.4": _command}
