"""Run all notebooks, simulated, and keep what they print: `make outputs`.

Some of them: `python -m tools.author.outputs 02` for a lesson with its exercises and deeper notebooks;
`... 02_producer_consumer exercises/03` for one each, by how its path begins.

For whoever edits a lesson: the notebooks are kept with the outputs that a machine without a GPU gives, and the tests
compare them. Measured numbers in them come from assets/measurements/. What the compiler made on the way, and what it
makes of the folded solutions, ships with the course (ptxsim/compiler/cache.py).
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbclient
import nbformat

from course_lib.exercises.predictions import TELL
from course_lib.lessons import sources
from course_lib.lessons.folders import COMPILED
from cupy_or_sim import device
from hiding_latency.kernels import OwnKernel
from ptxsim.compiler import cache, nvrtc
from ptxsim.ground import whole

CELL_TIMEOUT = 600  # seconds


def main(begins: tuple[str, ...]) -> int:
    """0 when all that were asked for ran; a lesson that fails is left as it was."""
    paths = sources.every_notebook(sources.NOTEBOOKS)
    chosen = [path for path in paths if not begins or any(is_named(path, name) for name in begins)]
    if not chosen:
        print(f"No notebook begins with {' or '.join(begins)}.", file=sys.stderr)
        return 2
    os.environ["COURSE_BACKEND"] = "simulator"  # the notebooks' kernels inherit it
    renewed = [renew(path) for path in chosen]
    for left in set(COMPILED.rglob("*.zip")) - {archive_of(path) for path in paths}:
        left.unlink()  # its notebook has gone
    return int(not all(renewed))


def is_named(path: Path, name: str) -> bool:
    """Whether `name` is the number of the notebook's lesson, or how its path begins."""
    if re.fullmatch(r"\d\d", name):
        return path.name.startswith(name)
    return path.relative_to(sources.NOTEBOOKS).as_posix().startswith(name)


def archive_of(path: Path) -> Path:
    """Where the texts ship that the compiler makes for a notebook."""
    return COMPILED / path.relative_to(sources.NOTEBOOKS).with_suffix(".zip")


def renew(path: Path) -> bool:
    """Run a notebook and solve its exercises. Whether both went well: then its outputs are kept, and what the compiler
    made."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        notebook = compile_anew(path, Path(folder))
        if notebook is None:
            print(f"{named(path)} failed, and is left as it was")
            return False
        whole.write(path, nbformat.writes(notebook) + "\n")
        archive_of(path).parent.mkdir(parents=True, exist_ok=True)
        texts = cache.write(archive_of(path), Path(folder))
    print(f"{named(path)}: {time.monotonic() - start:.0f} s; {texts} texts of the compiler")
    return True


def named(path: Path) -> str:
    """A notebook with its folder: exercises have the names of their lessons."""
    return "/".join(path.parts[-2:])


def compile_anew(path: Path, folder: Path) -> nbformat.NotebookNode | None:
    """Run a notebook and solve its exercises; what the compiler makes on the way comes into `folder`.

    Returns the notebook with its outputs, None after a failure, which is printed.
    """
    os.environ[cache.KEEP] = str(folder)
    notebook = execute(path)
    compile_kernels(path)
    return notebook if notebook and solved(path) else None


def compile_kernels(path: Path) -> None:
    """A notebook's kernels in one piece, as other notebooks and the playground ask for them."""
    found = sources.kernels(path.stem) if path in sources.with_kernels(sources.NOTEBOOKS) else {}
    for source in found.values():
        nvrtc.compile_ptx(source, options=device.options_for(source))


def solved(path: Path) -> bool:
    """Whether the folded solutions of a notebook pass their checks, as its readers may try them."""
    names = dict.fromkeys(re.findall(r'check_exercise\(\\"(\d\d\.\d+)', path.read_text(encoding="utf-8")))
    tests = [f"tests/lessons/test_lesson_kernels.py::test_solution_passes[{name}]" for name in names]
    if not tests:
        return True
    root = Path(__file__).parents[2]
    return (
        subprocess.run([sys.executable, "-m", "pytest", "-q", *tests], cwd=root, check=False).returncode == 0
    )


def execute(path: Path) -> nbformat.NotebookNode | None:
    """The notebook with its outputs; None, and the error printed, when a cell failed."""
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        kernel_manager_class=OwnKernel,
        record_timing=False,
        coalesce_streams=True,  # prints of one cell are one output, whenever they come
        resources={"metadata": {"path": str(path.parent)}},
    )
    try:
        return without_counts(client.execute(env=os.environ | {TELL: "1"}))
    except (nbclient.exceptions.CellExecutionError, nbclient.exceptions.CellTimeoutError) as error:
        print(error)
        return None


def without_counts(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Numbers that say in which order cells ran would change with every cell that comes or goes."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.execution_count = None
            for output in cell.outputs:
                if output.output_type == "execute_result":
                    output.execution_count = None
    return notebook


if __name__ == "__main__":
    sys.exit(main(tuple(sys.argv[1:])))
