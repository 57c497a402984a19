"""Renew everything that was recorded on a GPU, after a kernel was edited: `make record`, on an H100.

Runs every lesson with COURSE_RECORD set, so that `benchmark`, `timeline`, `waves` and `profile` write down what they
measure; then the timelines of all kernels at three sizes. It may be stopped, and goes on with the lesson or the kernel
in which it was. Then the new record takes the place of this GPU's old one. Entries of kernels that are gone go with
it. Then come the frozen results that the tests compare with, the lessons' outputs and the numbers in their prose, and
the README's table and pictures.
"""

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import nbclient
import nbformat

from course_lib.lessons import sources
from course_lib.lessons.environment import measures_here
from course_lib.measure import records
from cupy_or_sim import timing
from hiding_latency.kernels import OwnKernel
from ptxsim.gpus import file_name
from tools.author import sizes

ROOT = Path(__file__).resolve().parents[2]
CELL_TIMEOUT = 600  # seconds
AFTERWARDS = (
    "tools.author.frozen",  # results of the tests' and the lessons' kernels
    "tools.author.frozen_ncu",  # what Nsight Compute counts of them
    "tools.author.outputs",  # the lessons, with the new record
    "tools.author.numbers",  # what their prose says of it
    "tools.author.figures",  # the README, docs/measurements.md
    "tools.author.timelines",  # docs/timelines.csv
    "tools.author.card",  # the quick-reference card
)


def main() -> int:
    """0 when the record was replaced, 1 when a notebook failed, 2 without a GPU."""
    if not measures_here("make record"):
        return 2
    fresh, target = ROOT / "build" / "record.json", records.FOLDER / file_name(timing.name())
    fresh.parent.mkdir(exist_ok=True)
    done = Done(fresh.with_name("recorded.json"), fresh)
    os.environ["COURSE_RECORD"] = str(fresh)  # the notebooks' kernels inherit it
    for path in sources.with_kernels(ROOT / "notebooks"):
        print(f"{path.name} ...", end=" ", flush=True)
        if done.has(path):
            print("was recorded before")
            continue
        start = time.monotonic()
        try:
            run(path)
        except (nbclient.exceptions.CellExecutionError, nbclient.exceptions.CellTimeoutError) as error:
            print(
                f"failed\n{error}\n{target.name} is left as it was; the lessons before are kept for the next call."
            )
            return 1
        done.add(path)
        print(f"{time.monotonic() - start:.0f} s")
    if not fresh.exists():
        print("No notebook measured anything.")
        return 1
    sizes.record()
    target.parent.mkdir(parents=True, exist_ok=True)
    os.replace(fresh, target)
    done.forget()
    record = json.loads(target.read_text(encoding="utf-8"))
    counts = ", ".join(f"{len(record.get(part, {}))} {part}" for part in records.PARTS)
    print(f"{counts} of {record['provenance']['gpu']} are in {target.relative_to(ROOT)}")
    del os.environ["COURSE_RECORD"]
    return afterwards()


class Done:
    """Which lessons are in the new record, as they stand now, on this commit: kept in a file, for a call that goes on
    where one was stopped."""

    def __init__(self, file: Path, record: Path) -> None:
        self.file = file
        self.state: dict = {"commit": timing.commit(), "lessons": {}}
        before = json.loads(file.read_text(encoding="utf-8")) if file.exists() and record.exists() else {}
        if before.get("commit") == self.state["commit"]:
            self.state = before
        else:
            record.unlink(missing_ok=True)

    def has(self, lesson: Path) -> bool:
        """Whether it ran to its end, with this text."""
        return self.state["lessons"].get(lesson.name) == self._text(lesson)

    def add(self, lesson: Path) -> None:
        self.state["lessons"][lesson.name] = self._text(lesson)
        self.file.write_text(json.dumps(self.state), encoding="utf-8")

    def forget(self) -> None:
        self.file.unlink(missing_ok=True)

    @staticmethod
    def _text(lesson: Path) -> str:
        return hashlib.sha256(lesson.read_bytes()).hexdigest()


def afterwards() -> int:
    """Run what else hangs on the kernels; 1 when one of it failed."""
    failed = [
        module for module in AFTERWARDS if subprocess.run([sys.executable, "-m", module], cwd=ROOT).returncode
    ]
    print(
        f"failed: {', '.join(failed)}" if failed else "All is new. `make test` compares; commit what changed."
    )
    return 1 if failed else 0


def run(path: Path) -> None:
    """Run a notebook from top to bottom; the file is not changed."""
    notebook = nbformat.read(path, as_version=4)
    where = {"metadata": {"path": str(path.parent)}}
    nbclient.NotebookClient(
        notebook, timeout=CELL_TIMEOUT, kernel_manager_class=OwnKernel, resources=where
    ).execute()


if __name__ == "__main__":
    sys.exit(main())
