"""Notebooks run again by nbval, which compares what their cells print with what they show.

A plugin of pytest for the lessons, `conftest.py`, and for a learner's copies, `hiding-latency test`. A cell that a
learner changed is compared with what it printed when the copy was saved.
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from course_lib.exercises.logbook import PROGRESS_CELL
from course_lib.lessons import sources
from hiding_latency.kernels import KernelOfNbval
from hiding_latency.packages import brings

PICTURES = (
    "image/svg+xml",
    "text/html",
)  # nbval itself leaves PNG out; the text beside a picture is compared
CELL_SECONDS = 300
MISSING = "nbval is not installed here, only the course's library"


def pytest_collectstart(collector: Any) -> None:
    """Pictures and tables drawn as HTML differ between versions of what draws them."""
    if collector.__class__.__name__ == "IPyNbFile":
        collector.skip_compare += PICTURES
        # nbval has no setting for it
        starts_kernels: Any = sys.modules["nbval.kernel"]
        starts_kernels.KernelManager = KernelOfNbval


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """The lessons carry no execution counts, and by them nbval tells which cells were run: all of ours were, and of a
    learner's copy those that show something."""
    for item in items:
        if (cell := getattr(item, "cell", None)) and (cell.outputs or not _is_copy(item.parent.nb)):
            cell.execution_count = 1


def _is_copy(notebook: Any) -> bool:
    return any(cell.get("id") == PROGRESS_CELL for cell in notebook.cells)


def command(notebooks: list[Path]) -> list[str]:
    """How pytest is called, whatever settings of it lie around."""
    nbval = ["--nbval", "--nbval-current-env", f"--nbval-cell-timeout={CELL_SECONDS}"]
    alone = ["-c", os.devnull, f"--rootdir={notebooks[0].parent}", "-p", "no:cacheprovider", "--noconftest"]
    return [sys.executable, "-m", "pytest", "-q", "-p", __name__, *nbval, *alone, *map(str, notebooks)]


def main(folder: Path, lessons: list[str]) -> int:
    """`hiding-latency test`: the learner's copies, all or those of some lessons. Returns the exit status."""
    copies = [
        path
        for path in sources.every_notebook(folder)
        if not lessons or path.name.startswith(tuple(f"{number}_" for number in lessons))
    ]
    if not copies:
        print(
            f"There is no such lesson in {folder}. `hiding-latency update` makes the copies.", file=sys.stderr
        )
        return 2
    if find_spec("nbval") is None:
        print(f"{MISSING}: {brings('learn')} brings it.", file=sys.stderr)
        return 2
    print(
        f"{folder.name}: what {len(copies)} of its notebooks print is compared with what they show.",
        flush=True,
    )
    return subprocess.run(command(copies), cwd=folder).returncode
