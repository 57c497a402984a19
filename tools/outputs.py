"""Run all notebooks, simulated, and keep what they print: `make outputs`. Some: `python -m tools.outputs 02 exercises`.

For whoever edits a lesson: the notebooks are kept with the outputs that a machine without a GPU gives, and the tests
compare them. Measured numbers in them come from assets/measurements/.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import nbclient
import nbformat

from course_lib import lessons

CELL_TIMEOUT = 600  # seconds


def main(begins: tuple[str, ...]) -> int:
    """0 when all that were asked for ran; a lesson that fails is left as it was."""
    folder = lessons.NOTEBOOKS
    paths = lessons.notebooks(folder) + lessons.exercise_notebooks(folder)
    chosen = [path for path in paths if path.relative_to(folder).as_posix().startswith(begins or "")]
    if not chosen:
        print(f"No notebook begins with {' or '.join(begins)}.", file=sys.stderr)
        return 2
    os.environ["COURSE_BACKEND"] = "simulator"  # the notebooks' kernels inherit it
    return max(run(path) for path in chosen)


def run(path: Path) -> int:
    start, notebook = time.monotonic(), nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,  # prints of one cell are one output, whenever they come
        resources={"metadata": {"path": str(path.parent)}},
    )
    try:
        client.execute()
    except (nbclient.exceptions.CellExecutionError, nbclient.exceptions.CellTimeoutError) as error:
        print(f"{path.name} failed, and is left as it was\n{error}")
        return 1
    part = path.with_suffix(".partial")
    nbformat.write(notebook, part)
    os.replace(part, path)
    print(f"{path.name}: {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(tuple(sys.argv[1:])))
