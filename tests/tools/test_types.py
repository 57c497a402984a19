"""The types of packages and of most tools hold (pyproject.toml, [tool.mypy]): functions use of a machine, a launch or a
decoder what their types say, and the real ones have all of it."""

import os
import subprocess
import sys

from tests.rules import ROOT

HEAD = """
from collections.abc import Callable

from ptxsim.instructions.registry import Operands
from ptxsim.lanes import Lanes
from ptxsim.machine.decode import Decoder
from ptxsim.machine.machine import Machine
from ptxsim.machine.stuck import Stuck
from ptxsim.observe.recorder import Recorder

def real_ones(machine: Machine, decoder: Decoder) -> tuple[Stuck, Operands]:
    return machine, decoder

"""
PLANTED = {
    "what lanes have not": "def f(machine: Lanes) -> None:\n    machine.shadow",
    "what a launch has not": "def f(machine: Lanes) -> None:\n    machine.launch.grid",
    "by another name": "def f(machine: Lanes) -> None:\n    launch = machine.launch\n    launch.code.blocks",
    "in a function in it": "def f(machine: Lanes) -> None:\n    def g() -> None:\n        machine.R",
    "in a step": "def f() -> Callable[[Lanes], None]:\n    return lambda machine: machine.turns.add(0, None)",
    "of itself": "class Mine(Recorder):\n    def f(self) -> None:\n        self.machine.R",
    "no type": "def f(machine):\n    machine.shadow",
    "a machine that lacks something": "def f(machine: Lanes) -> Stuck:\n    return machine",
    "of a tool": "from tools.author import marked\n\nmarked.between(1, 'begin', 'table')",
    "a method with another parameter": "class Mine(Machine):\n    def exit(self, warp: int) -> None: ...",
}


def mypy(*arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "mypy", "--no-error-summary", *arguments]
    environment = os.environ | {"MYPYPATH": str(ROOT)}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


def test_the_types_hold():
    done = mypy()
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_breaks_them_is_found(tmp_path):
    for number, text in enumerate(PLANTED.values()):
        (tmp_path / f"planted_{number}.py").write_text(f"{HEAD}{text}\n", encoding="utf-8")
    done = mypy(*map(str, sorted(tmp_path.glob("*.py"))))
    found = {
        line.partition(":")[0].rpartition("_")[2] for line in done.stdout.splitlines() if ": error:" in line
    }
    assert found == {f"{number}.py" for number in range(len(PLANTED))}, done.stdout + done.stderr
    assert done.stdout.count(": error:") == len(PLANTED), done.stdout
