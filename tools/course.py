"""Run every lesson, write the book, print one table. `make course` calls this.

A notebook that ran without a failure runs again only when something changed that it depends on (learner/kept.py), or
with `--again`; the book, in build/course, is written again only when something in it changed.
"""

import asyncio
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import nbformat

from course_lib.lessons import sources
from tools.book.build import LITE, BookError, write_book
from tools.install import ROOT, alone
from tools.learner import copies, kept
from tools.learner.outcome import Outcome, name_of, outcome, table
from tools.learner.run import run_all
from tools.live import fetch
from tools.packages import PACKAGES

MOST_AT_ONCE = 4
"""Lessons; each takes a core and half a gigabyte."""
IN_THE_BOOK = ("tools", "docs", "assets", *PACKAGES, "*.md", "pyproject.toml")
"""What makes the book, and what pages of it show or link to, besides the notebooks."""


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
