"""Run the lessons in the simulator and keep what they print: `make outputs`, or `python -m tools.outputs 02 03`.

For whoever edits a lesson: the notebooks are kept with the outputs that a machine without a GPU gives, and the tests
compare them. Measured numbers in them come from assets/measurements/.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from course_lib import lessons

HOW = (
    "--to", "notebook", "--execute", "--inplace",
    "--ExecutePreprocessor.record_timing=False",
    "--ExecutePreprocessor.coalesce_streams=True",  # prints of one cell are one output, whenever they come
)  # fmt: skip


def main() -> int:
    """0 when all that were asked for ran; one that fails is left as it was."""
    numbers = tuple(sys.argv[1:])
    chosen = [path for path in lessons.notebooks(lessons.NOTEBOOKS) if path.name.startswith(numbers or "")]
    if not chosen:
        print(f"No lesson begins with {' or '.join(numbers)}.", file=sys.stderr)
        return 2
    return max(run(path) for path in chosen)


def run(path: Path) -> int:
    environment = {**os.environ, "COURSE_BACKEND": "simulator"}
    command = [sys.executable, "-m", "nbconvert", *HOW, str(path)]
    return subprocess.run(command, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
