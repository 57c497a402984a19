"""`matmul` alone: installed without the course, with the simulator and what that needs, it multiplies."""

import re
from pathlib import Path

import pytest

from tests.ptxsim.test_alone import installed, run
from tests.rules import ROOT

README = (ROOT / "matmul/README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> Path:
    return installed(tmp_path_factory, "ptxsim", "matmul", with_files_of=("cupy_or_sim",))


def test_the_readmes_program_prints_what_the_readme_says(alone, tmp_path):
    program, printed = re.findall(r"```(?:python|text)\n(.*?)```", README, re.DOTALL)
    ran = run(alone, "-c", program, cwd=tmp_path)
    assert ran.stdout == printed, ran.stderr


def test_the_sweeps_come_along_and_the_course_does_not(alone, tmp_path):
    program = """
import sys
from matmul import matmul_source, tuned
assert "__global__" in matmul_source(7) and "matplotlib" not in sys.modules
print(len(tuned().chosen), "course_lib" in sys.modules, matmul_source.__module__)
"""
    ran = run(alone, "-c", program, cwd=tmp_path)
    assert ran.stdout.split() == ["30", "False", "matmul.ready"], ran.stderr
