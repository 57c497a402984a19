"""Run every lesson, write the book, print one table. `make course` calls this.

A notebook that ran without a failure runs again only when something changed that it depends on
(hiding_latency/kept.py), or with `--again`; the book, in build/course, is written again only when something in it
changed.
"""

import sys
import time
from pathlib import Path

import nbformat

from hiding_latency import copies, kept, lessons, places
from hiding_latency.outcome import Outcome, table
from hiding_latency.packages import PACKAGES
from tools.book.build import BookError, write_book
from tools.install import ROOT, alone
from tools.live import fetch

IN_THE_BOOK = ("tools", "docs", "assets", *PACKAGES, "*.md", "pyproject.toml")
"""What makes the book, and what pages of it show or link to, besides the notebooks."""


def run_course(notebooks: Path, machine: str, again: bool = False) -> list[Outcome]:
    """Run the lessons that changed, or all `again`."""
    return lessons.run_course(notebooks, ROOT, ROOT / "build" / "ran", machine, again)


def bind(outcomes: list[Outcome], machine: str, out: Path) -> bool:
    """Write the book into `out` and say so, unless it is there and nothing in it changed; False when that failed."""
    begin, stamp = time.monotonic(), out / "made-of"
    ran = [text for o in outcomes for text in (o.name, nbformat.writes(o.notebook), *o.failures)]
    live = not fetch.missing()
    made_of = kept.digest([kept.digest_of_files(ROOT, IN_THE_BOOK), machine, str(live), *ran])
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
        print("".join(f"{line}\n" for line in copies.update(places.clone(ROOT))), end="", flush=True)
    except OSError as error:
        print(f"{places.FOLDER} stays as it is: {error}")


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
