"""Who may import whom (pyproject.toml, [tool.importlinter]): the rules hold, and circles and arrows up break them."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.rules import ROOT
from tools.packages import PACKAGES

PLANTED = {
    "a circle of two modules": ("ptxsim/memory.py", "from .units import access"),
    "a circle by types": ("ptxsim/gpus.py", "if TYPE_CHECKING:\n    from .occupancy import Occupancy"),
    "an arrow up": ("course_lib/check/problem.py", "from ..measure import records"),
    "what a GPU is looks into the course": ("cupy_or_sim/power.py", "from course_lib.check.gemm import Gemm"),
    "the simulator imports the course": ("ptxsim/report.py", "from cupy_or_sim.launch import Launch"),
}


def lint(folder) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()"]
    environment = os.environ | {"PYTHONPATH": str(folder)}
    arguments = ["--config", str(ROOT / "pyproject.toml"), "--no-cache"]
    return subprocess.run([*command, *arguments], cwd=folder, env=environment, capture_output=True, text=True)


def test_the_rules_hold():
    done = lint(ROOT)
    assert done.returncode == 0 and "0 broken" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("what", PLANTED)
def test_what_breaks_them_is_found(what, tmp_path):
    place, line = PLANTED[what]
    for top in PACKAGES:
        shutil.copytree(ROOT / top, tmp_path / top, ignore=shutil.ignore_patterns("*.zip", "__pycache__"))
    text = (tmp_path / place).read_text(encoding="utf-8")
    (tmp_path / place).write_text(f"{text}\n\nfrom typing import TYPE_CHECKING\n{line}\n", encoding="utf-8")
    done = lint(tmp_path)
    assert done.returncode == 1 and "0 broken" not in done.stdout, done.stdout + done.stderr
