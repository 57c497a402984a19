"""Notebooks that run: what counts as right, and several at a time."""

import asyncio
import gc
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
import pytest

from hiding_latency import compared
from hiding_latency.kernels import OwnKernel
from hiding_latency.outcome import Outcome, outcome, table
from hiding_latency.run import run_all
from tests.rules import ROOT
from tests.tools.made import write_notebook


def ran(folder: Path) -> list[Outcome]:
    """What came of the notebooks of a folder."""
    return asyncio.run(run_all(sorted(folder.glob("*.ipynb")), at_once=2))


def test_the_runner_tells_right_from_wrong(tmp_path):
    write_notebook(tmp_path / "01_a.ipynb", "print('check passed: 2 cases')", ("1 / 0", "raises-exception"))
    write_notebook(
        tmp_path / "02_b.ipynb", "print('check passed: x')", "1 / 0", ("2", "raises-exception"), "print(3)"
    )
    write_notebook(tmp_path / "03_c.ipynb", "import os; os._exit(1)", "print('check passed')")
    good, bad, dead = ran(tmp_path)
    assert (good.cells, good.checks, good.failures) == (2, 1, ())
    assert (bad.cells, bad.checks) == (4, 1)
    assert [failure.partition(":")[0] for failure in bad.failures] == [
        "code cell 2 raised ZeroDivisionError",
        "code cell 3 should have raised an exception and did not",
    ]
    assert dead.checks == 0 and "the kernel ended by itself" in dead.failures[0]
    assert "FAILED" in table([bad], "simulator") and "FAILED" not in table([good], "simulator")
    assert "1 passed" in table([good], "simulator")


def test_the_books_notebooks_tell_what_came_out(tmp_path):
    """Below a fold; in a learner's copy the same cell says how to predict it (tests/tools/live/test_inside.py)."""
    write_notebook(tmp_path / "01_a.ipynb", "from course_lib import score\n\nscore([('blocks', None, 4)])")
    (told,) = ran(tmp_path)
    assert [cell.outputs[0].text for cell in told.notebook.cells if cell.get("outputs")] == [
        "blocks: it is 4\n"
    ]


def test_the_table_counts_what_a_page_of_exercises_holds():
    cells = [nbformat.v4.new_code_cell("x", metadata={"tags": ["exercise"]}) for _ in range(4)]
    pages = outcome("exercises/01_a", nbformat.v4.new_notebook(cells=cells), 1.0, [])
    shown = table([pages], "simulator")
    assert "4 exercises" in shown and "passed" not in shown


def with_cells(cells: str) -> str:
    """The text of a notebook file with these cells, right or wrong."""
    return f'{{"nbformat": 4, "nbformat_minor": 5, "metadata": {{}}, "cells": {cells}}}'


BROKEN = {
    "": "it is empty",
    '{"cells": [': "line 1 column 12",
    "<<<<<<< HEAD\n{}": "line 1 column 1",
    "[]": "it is JSON, and nbformat says",
    "\udcff": "can't decode byte 0xff in position 0",
    with_cells("null"): "it is JSON, and nbformat says",
    with_cells('[{"cell_type": "code"}]'): "missing an expected key: metadata",
    with_cells('[{"cell_type": "raw", "id": "a", "metadata": {}, "source": 3}]'): "not valid under any",
}
"""Text of a file that is no notebook -> what the runner says of it."""


def test_a_broken_notebook_fails_and_the_others_run(tmp_path):
    for number, text in enumerate(BROKEN):
        (tmp_path / f"{number:02}_broken.ipynb").write_bytes(text.encode(errors="surrogateescape"))
    write_notebook(tmp_path / "99_good.ipynb", "print('check passed')")
    *broken, good = ran(tmp_path)
    assert good.checks == 1 and good.failures == ()
    for each, why in zip(broken, BROKEN.values(), strict=True):
        (line,) = each.failures
        assert line.startswith("cannot be used as a notebook: ") and why in line and "\n" not in line
        assert "cannot be used" in each.notebook.cells[0].source, "and no page of an earlier run stays"
    assert "00_broken, cannot be used as a notebook: it is empty" in table(broken, "simulator")


def test_committed_results_do_not_count(tmp_path):
    """A cell that never runs keeps no old output."""
    write_notebook(tmp_path / "01_a.ipynb", "import os; os._exit(1)", "print('check passed')")
    notebook = nbformat.read(tmp_path / "01_a.ipynb", as_version=4)
    notebook.cells[2].outputs = [nbformat.v4.new_output("stream", text="check passed\n")]
    nbformat.write(notebook, tmp_path / "01_a.ipynb")
    (dead,) = ran(tmp_path)
    assert dead.checks == 0 and dead.failures


WAITS = """
import pathlib, time
deadline = time.monotonic() + 60
while not pathlib.Path("here").exists():
    assert time.monotonic() < deadline, "the other lesson did not run meanwhile"
    time.sleep(0.05)
"""


def test_lessons_run_at_the_same_time_and_keep_their_order(tmp_path, capsys):
    write_notebook(tmp_path / "01_a.ipynb", WAITS)
    write_notebook(tmp_path / "02_b.ipynb", "open('here', 'w').close()")
    first, second = ran(tmp_path)
    assert (first.name, first.failures, second.name, second.failures) == ("01_a", (), "02_b", ())
    said = re.sub(r"\d+ s", "- s", capsys.readouterr().out).splitlines()
    assert [line.partition(",")[0] for line in said] == ["1 of 2", "2 of 2"], "how far it is"
    assert sorted(line.partition(", ")[2] for line in said) == ["01_a: - s", "02_b: - s"]


TAKEN = """
import socket

from jupyter_client.connect import LocalPortCache

other = socket.socket()
other.bind(("127.0.0.1", 0))
other.listen()
LocalPortCache.find_available_port = lambda cache, ip: other.getsockname()[1]
"""
"""A plugin of pytest: another program takes each port after Jupyter found it free."""
ALONE = f"""{TAKEN}
from tests.hiding_latency.test_run import Path, ran

ran(Path.cwd())
"""


@pytest.mark.skipif(os.name == "nt", reason="there kernels talk through ports")
@pytest.mark.parametrize("runner", ["make course", "nbval"])
def test_a_port_that_is_taken_meanwhile_ends_no_kernel(tmp_path, runner):
    write_notebook(tmp_path / "01_a.ipynb", "open('ran', 'w').close()")
    (tmp_path / "taken.py").write_text(TAKEN)
    by_nbval = [*compared.command([tmp_path / "01_a.ipynb"]), "-p", "taken"]
    command = by_nbval if runner == "nbval" else [sys.executable, "-c", ALONE]
    env = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert (tmp_path / "ran").exists(), done.stdout + done.stderr


@pytest.mark.parametrize(("folder", "transport"), [("short", "ipc"), ("long" * 25, "tcp")])
def test_where_a_kernel_talks(tmp_path_factory, monkeypatch, folder, transport):
    """Through sockets in a folder that goes with it, where their path is not too long for the system."""
    with tempfile.TemporaryDirectory() as short:
        (where := Path(short, folder)).mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(where))
        kernel = OwnKernel()
        assert kernel.transport == transport
        assert len(list(where.iterdir())) == 1
        del kernel
        gc.collect()
        assert list(where.iterdir()) == []
