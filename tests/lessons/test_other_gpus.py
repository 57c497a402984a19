"""The notebooks on GPUs that give a block less than an H100: each runs to its end and launches only what can run."""

import ast
import os
import re
from functools import partial
from pathlib import Path

import nbformat
import pytest

from course_lib import Gemm, benchmark, lesson_kernel, this_gpu
from course_lib.lessons import sources
from ptxsim import LaunchError
from tests.fake_gpu import RTX_3090, RTX_5090, T4, forget, machine
from tests.sample import one_in

FOLDER = Path(__file__).parents[2] / "notebooks"
LESSONS = {path.stem: path for path in sources.with_kernels(FOLDER)}


def run(stem: str) -> None:
    """Run the code cells of a notebook in this process, and show what each ends with."""
    names = {"__name__": "__main__", "display": repr}
    for number, cell in enumerate(nbformat.read(LESSONS[stem], 4).cells):
        if cell.cell_type != "code":
            continue
        tree = ast.parse(cell.source)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        try:
            exec(compile(tree, f"{stem} [{number}]", "exec"), names)
            if last:
                repr(eval(compile(ast.Expression(last.value), f"{stem} [{number}]", "eval"), names))
        except Exception as error:
            error.add_note(f"in cell [{number}] of {stem}")
            raise


WHOLE = bool(os.environ.get("COURSE_ALL_LESSONS"))
CASES = [
    *(
        (RTX_3090, stem) for stem in LESSONS if WHOLE or stem == "05_three_stage"
    ),  # which asks for more in most ways
    *((RTX_5090, stem) for stem in LESSONS if WHOLE and stem[:2] in ("06", "07")),
    *((T4, stem) for stem in LESSONS if stem == "00_start_here" or (WHOLE and stem[:2] in ("00", "01"))),
]


@pytest.fixture
def on(monkeypatch):
    """Put a GPU under the course: on(GPU)."""
    yield partial(machine, monkeypatch)
    monkeypatch.undo()
    forget()


@pytest.mark.parametrize(("gpu", "stem"), one_in(2, CASES), ids=lambda each: getattr(each, "name", each))
def test_a_notebook_runs_to_its_end(gpu, stem, on, monkeypatch):
    monkeypatch.chdir(FOLDER)
    on(gpu)
    run(stem)


def test_a_launch_that_does_not_fit_is_said_and_not_made(on, capsys):
    fake, gemm = on(RTX_3090), Gemm(256, 256, 256, "float16")
    kernel, launch = lesson_kernel("05_fastest", "fastest")
    with pytest.raises(
        LaunchError, match="fastest asks for 144 KB of shared memory a block, and NVIDIA GeForce RTX"
    ):
        gemm.prepare(kernel, gemm.inputs, launch)
    assert "check passed" in gemm.check(kernel, launch)
    row = benchmark(Gemm(4096, 4096, 4096, "float16"), {"fastest": (kernel, launch)}).rows[0]
    assert row.tflops and row.gpu.startswith("NVIDIA H")
    said = "gives 99 KB: it runs in the simulator, and its measurements are recorded ones.\n"
    assert capsys.readouterr().out.count(said) == 2
    assert not [each for each in fake.launched if each[0] == "fastest"]


def test_one_block_alone_on_an_h100_asks_for_what_its_record_holds():
    assert this_gpu().shared // 2 + 2048 == 116 * 1024


NEWEST = 9.0
"""Compute capability of a GPU that the course is recorded on."""


@pytest.mark.parametrize("stem", LESSONS)
def test_what_every_recorded_gpu_is_told_is_not_compared(stem):
    """With each of them something is printed, and without a GPU nothing: strict nbval holds on both."""
    for cell in nbformat.read(LESSONS[stem], 4).cells:
        asked = re.search(r'only_on\("([0-9.]+)"\)', cell.source) if cell.cell_type == "code" else None
        if asked and float(asked[1]) > NEWEST:
            assert "nbval-ignore-output" in cell.metadata.get("tags", ()), cell.id
