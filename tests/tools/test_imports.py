"""Who may import whom (pyproject.toml, [tool.importlinter]): the rules hold, and circles and arrows up break them."""

import os
import re
import shutil
import subprocess
import sys
import tomllib

import ptxsim
from hiding_latency.packages import PACKAGES
from tests.rules import ROOT

PLANTED = {
    # a circle of two modules, and one by types
    "ptxsim.ground.memory -> ptxsim.units.access": "from ..units import access",
    "ptxsim.front.kernel -> ptxsim.front.occupancy": "if TYPE_CHECKING:\n    from .occupancy import Occupancy",
    # arrows up
    "course_lib.check.problem -> course_lib.measure": "from ..measure import records",
    "cupy_or_sim.power -> course_lib.check.gemm": "from course_lib.check.gemm import Gemm",
    "ptxsim.front.report -> cupy_or_sim.launch": "from cupy_or_sim.launch import Launch",
    "course_lib.check.gemm -> tools.install": "from tools.install import ROOT",
    # past the face of the simulator
    "matmul.plans -> ptxsim.races.shadow": "from ptxsim.races import shadow",
    # and among the tools
    "tools.book.front -> tools.course": "if TYPE_CHECKING:\n    from tools.course import bind",
    # among the commands
    "hiding_latency.outcome -> hiding_latency.run": "from hiding_latency.run import run_all",
}
"""What each line adds that is not allowed, by the module in which it is planted."""


def lint(folder) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()"]
    environment = os.environ | {"PYTHONPATH": str(folder)}
    arguments = ["--config", str(ROOT / "pyproject.toml"), "--no-cache"]
    return subprocess.run([*command, *arguments], cwd=folder, env=environment, capture_output=True, text=True)


def test_the_rules_hold():
    done = lint(ROOT)
    assert done.returncode == 0 and "0 broken" in done.stdout, done.stdout + done.stderr


def test_what_breaks_them_is_found(tmp_path):
    for top in (*PACKAGES, "tools"):
        shutil.copytree(ROOT / top, tmp_path / top, ignore=shutil.ignore_patterns("*.zip", "__pycache__"))
    for arrow, line in PLANTED.items():
        place = tmp_path / f"{arrow.partition(' ->')[0].replace('.', '/')}.py"
        with place.open("a", encoding="utf-8") as module:
            module.write(f"\nfrom typing import TYPE_CHECKING\n\n{line}\n")
    done = lint(tmp_path)
    assert done.returncode == 1 and " 0 kept" in done.stdout, "each rule is broken by one of them"
    assert [arrow for arrow in PLANTED if arrow not in done.stdout] == []


def test_the_face_of_the_simulator_is_what_its_docstring_says():
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    ignored = next(each["ignore_imports"] for each in rules if each["type"] == "protected")
    allowed = {each.removeprefix("** -> ") for each in ignored if each.startswith("** -> ")}
    assert set(re.findall(r"`(ptxsim\.[\w.]+)`", ptxsim.__doc__ or "")) == allowed
