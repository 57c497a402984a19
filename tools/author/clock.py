"""`python -m tools.author.clock` writes how near the clock is: four files of rows, clock_*.csv, beside
ptxsim/docs/clock.md."""

import csv
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.course_lib.timelines import test_modelled_and_recorded as timelines
from tests.kernels.golden import FOLDER
from tests.kernels.timed import memory as memory_kernels
from tests.ptxsim.clock import test_lessons

DOCS = Path(__file__).resolve().parents[2] / "ptxsim" / "docs"
PAGE = DOCS / "clock.md"
MODELLED, MEASURED = (
    json.loads((FOLDER / f"put_aside_{name}.json").read_text(encoding="utf-8"))
    for name in ("modelled", "nvidia-h100-80gb-hbm3")
)
"""Kernels that nobody looked at while the clock was built, modelled and then measured: research/put_aside.py."""
PREDICTED, TIMED = (
    json.loads((FOLDER / f"memory_{name}.json").read_text(encoding="utf-8"))
    for name in ("modelled", "nvidia-h200")
)
"""Kernels that are no products, modelled and then measured: research/put_aside_memory.py."""


def main() -> int:
    write("lessons", lessons())
    write("timelines", turns())
    write("put_aside", put_aside())
    write("memory", memory(memory_kernels.points()))
    print(f"what stands beside {PAGE.name} is written")
    return 0


def lessons() -> list[list[str]]:
    """A row for each kernel of the lessons, at 4096 x 4096 x 4096, under their header."""
    rows = [["lesson", "kernel", "ms, H100", "ms, model", "model / H100"]]
    for notebook in test_lessons.PLACES:
        for name, each in test_lessons.compared(notebook).items():
            times = (f"{ms:.3f}" for ms in (each.measured, each.modelled.ms))
            rows.append([notebook[:2], name, *times, f"{each.ratio:.2f}"])
    return rows


def turns() -> list[list[str]]:
    """A turn and its waits, recorded and modelled, under their header."""
    rows = [
        [
            "lesson",
            "kernel",
            "turn, recorded",
            "turn, model",
            "model / recorded",
            "waits, recorded",
            "waits, model",
        ]
    ]
    for key in timelines.MARKED:
        if both := timelines.both(*key):
            waits = (f"{timelines.waits(one):.0%}" for one in both)
            turns = (f"{one.turn:,}" for one in both)
            rows.append([key[0][:2], key[1], *turns, f"{1 + timelines.off(*key):.2f}", *waits])
    return rows


def put_aside() -> list[list[str]]:
    """What was predicted of kernels that nobody had looked at, beside what was measured, under their header."""
    rows = [["kernel, problem", f"us, {MEASURED['gpu']}", "us, model", "model / GPU"]]
    for name, modelled in MODELLED["kernels"].items():
        us, found = MEASURED["kernels"][name]["us"], modelled["us"]
        rows.append([name, f"{us:.1f}", *([f"{found:.1f}", f"{found / us:.2f}"] if found else ["", ""])])
    return rows


def memory(points: Iterable[memory_kernels.Point]) -> list[list[str]]:
    """The same of kernels that are no products, and what the clock says of them today, under their header."""
    rows = [
        [
            "kernel, problem",
            f"us, {TIMED['gpu']}",
            "us, predicted",
            "predicted / GPU",
            "us, model",
            "model / GPU",
        ]
    ]
    for point in points:
        us = TIMED["kernels"][point.name]["us"]
        before, today = PREDICTED["kernels"][point.name]["us"], memory_kernels.model(point)
        found = (
            f"{number:.{digits}f}"
            for each in (before, today)
            for number, digits in ((each, 1), (each / us, 2))
        )
        rows.append([point.name, f"{us:.1f}", *found])
    return rows


def written(name: str) -> list[list[str]]:
    """The rows of clock_NAME.csv, with their header."""
    with (DOCS / f"clock_{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def write(name: str, rows: Iterable[Sequence[str]]) -> None:
    with (DOCS / f"clock_{name}.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    sys.exit(main())
