"""Run the lessons: those that changed since they ran last, or all; then one table."""

import asyncio
import os
from dataclasses import replace
from pathlib import Path

from course_lib.lessons import sources
from hiding_latency import kept, lab, places
from hiding_latency.outcome import Outcome, name_of, outcome, table
from hiding_latency.places import Place
from hiding_latency.run import run_all
from hiding_latency.safely import alone

MOST_AT_ONCE = 4
"""Lessons; each takes a core and half a gigabyte."""
THE_BOOK = "The book is no part of an installation: a release has it as a file, and `make course` in a clone writes it."


def run_course(notebooks: Path, library: Path, ran: Path, machine: str, again: bool = False) -> list[Outcome]:
    """Run the lessons of a folder, what goes deeper, and further exercises: those that changed, or all `again`. What
    all of them depend on lies in `library`; in `ran` they are kept as they ran."""
    found = sources.every_notebook(notebooks)
    others = sorted(path.name for path in notebooks.glob("*.ipynb") if path not in found)
    if others:
        print(f"left alone: {', '.join(others)} (a lesson is called NN_name.ipynb)", flush=True)
    keys = kept.keys(library, found, machine)
    places_of = {path: ran / f"{name_of(path)}.ipynb" for path in found}
    before = (
        {} if again else {path: run for path in found if (run := _as_before(places_of[path], keys[path]))}
    )
    left = [path for path in found if path not in before]
    if before:
        print(f"{len(before)} of {len(found)} notebooks: as before. AGAIN=1, or --again, runs them too.")
    at_once = 1 if machine == "cupy" else min(MOST_AT_ONCE, os.cpu_count() or 1)  # no times are disturbed
    if left:
        print(f"running {len(left)} notebooks, lessons and exercises, {at_once} at a time", flush=True)

    def keep(path: Path, outcome: Outcome) -> None:
        if not outcome.failures:
            kept.save(places_of[path], keys[path], outcome.notebook, outcome.seconds)

    now = dict(zip(left, asyncio.run(run_all(left, at_once, keep))))
    return [(before | now)[path] for path in found]


def _as_before(place: Path, key: str) -> Outcome | None:
    """What came of a notebook before, if it would come again."""
    run = kept.load(place, key)
    return replace(outcome(name_of(place), *run, []), before=True) if run else None


def main(place: Place, again: bool) -> int:
    """`hiding-latency course`: what `make course` does, without the book. Returns the exit status."""
    from cupy_or_sim import device

    machine = device.backend()
    lab.bring(place)
    try:
        with alone(place.ran / "lock", "Another one runs the lessons here: waiting for it."):
            outcomes = run_course(place.notebooks, places.ROOT, place.ran, machine, again)
    except KeyboardInterrupt:
        print("\nStopped. Run it again: it goes on.")
        return 130
    print(f"\n{table(outcomes, machine)}\n\n{THE_BOOK}")
    return 0 if outcomes and not any(each.failures for each in outcomes) else 1
