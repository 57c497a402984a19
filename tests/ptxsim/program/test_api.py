"""A program from Python, from pytest, and as a step of GitHub Actions."""

import ast
import re
import shlex
import subprocess
import sys

import pytest
import yaml

from ptxsim import program
from ptxsim.__main__ import main, parser
from ptxsim.program import fixture
from ptxsim.program.report import Launch, ProgramReport, Refusal
from tests.lessons.reading import by_id, text_of
from tests.ptxsim.program.test_programs import CU
from tests.rules import ROOT

ACTION = yaml.safe_load((ROOT / "ptxsim/action.yml").read_text(encoding="utf-8"))


def test_from_python(nvcc, tmp_path):
    with (tmp_path / "printed").open("w") as printed:
        report = program.run(CU / "add.cu", options=["-DNOTHING"], cwd=tmp_path, stdout=printed)
    assert report.ok and report.status == 0 and report.hazards == ()
    assert (tmp_path / "printed").read_text() == "PASS no error\n"
    (launch,) = report.launches
    assert (launch.kernel, launch.grid, launch.block) == ("add", (4, 1, 1), (256, 1, 1))
    assert launch.at.endswith("add.cu:19")


def test_the_command_starts_where_no_program_can_be_run():
    """On Windows Python has no `resource`."""
    hidden = "import sys; sys.modules['resource'] = None; import ptxsim.__main__"
    subprocess.run([sys.executable, "-c", hidden], check=True, cwd=ROOT)


def test_the_fixture(monkeypatch):
    check = fixture.cuda_program.__wrapped__()
    right = ProgramReport("a.cu", launches=(Launch(1, "f", (1, 1, 1), (1, 1, 1), 0.0),))
    monkeypatch.setattr(fixture, "run", lambda *sources, **how: right)
    assert check("a.cu") is right
    wrong = ProgramReport("a.cu", refused=(Refusal("cudaFree", "an error", "why"),))
    monkeypatch.setattr(fixture, "run", lambda *sources, **how: wrong)
    with pytest.raises(pytest.fail.Exception, match="cudaFree gives an error: why"):
        check("a.cu")


def test_the_fixture_is_a_plugin(tmp_path):
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["ptxsim.program.fixture"]\n')
    (tmp_path / "test_it.py").write_text("def test_it(cuda_program): assert cuda_program\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n0",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:nbval",
        str(tmp_path),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_action_types_what_the_command_knows():
    asked = ACTION["inputs"]
    steps = ACTION["runs"]["steps"]
    used = set(re.findall(r"inputs\.([\w-]+)", str(steps)))
    assert used == set(asked)
    line = (
        steps[-1]["run"]
        .replace("$FILES", "a.cu b.cu")
        .replace("$OPTIONS", "-I include --arch 80 --limit 120")
    )
    typed, _, arguments = line.partition(" -- ")
    found = parser().parse_args(typed.split()[1:])
    assert (found.files, found.include, found.arch, found.limit) == (["a.cu", "b.cu"], ["include"], "80", 120)
    assert arguments == "$ARGUMENTS"


def test_lesson_09_types_what_the_command_takes():
    cells = by_id("09_your_own_kernel")
    typed = re.search(r'my_command = "ptxsim (run .+)"', text_of(cells["e3s"]))[1]
    command, _, own = typed.partition(" -- ")
    asked = parser().parse_args(shlex.split(command))
    assert (asked.files, asked.include, asked.arch) == (["src/softmax.cu"], ["include"], "80")
    assert (asked.limit, asked.json, own) == (60, "report.json", "8")
    step = yaml.safe_load(re.search(r"```yaml\n(.+?)```", text_of(cells["own-ci"]), re.DOTALL)[1])[1]
    assert step["with"].keys() <= ACTION["inputs"].keys()
    parser().parse_args(["run", step["with"]["files"], *shlex.split(step["with"]["options"])])


def test_lesson_09_checks_its_kernel_alone(tmp_path, monkeypatch, capsys):
    cells = by_id("09_your_own_kernel")
    typed = re.search(r"^ptxsim (check .+)$", text_of(cells["own"]), re.MULTILINE)[1]
    program_text = ast.parse(text_of(cells["program"])).body[0].value.value
    (tmp_path / "softmax.cu").write_text(program_text)
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(typed)) == 1
    said = capsys.readouterr().out
    assert "softmax.cu:32: out-of-bounds" in said and "softmax.cu:38: write-after-read" in said
