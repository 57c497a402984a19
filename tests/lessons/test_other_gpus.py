"""The notebooks on GPUs that give a block less than an H100: each runs to its end and launches only what can run."""

from __future__ import annotations

import ast
from pathlib import Path

import nbformat
import pytest

from course_lib.lessons import sources
from tests.fake_gpu import RTX_3090, machine

FOLDER = Path(__file__).parents[2] / "notebooks"
LESSONS = {path.stem: path for path in sources.notebooks(FOLDER)}


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


@pytest.mark.parametrize("stem", LESSONS)
def test_with_99_kb_a_block(stem, monkeypatch):
    monkeypatch.chdir(FOLDER)
    machine(monkeypatch, RTX_3090)
    run(stem)
