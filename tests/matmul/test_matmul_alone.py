"""`matmul` alone: installed without the course, with the simulator and what that needs, it multiplies."""

import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

from tests.ptxsim.test_alone import link_files, needed, run
from tests.rules import ROOT

README = (ROOT / "matmul/README.md").read_text(encoding="utf-8")
PACKED = ("ptxsim", "cupy_or_sim", "matmul")


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> Path:
    """The python of an environment with `pip install ./ptxsim ./matmul` and what they need, no more."""
    environment, source = tmp_path_factory.mktemp("alone"), tmp_path_factory.mktemp("source")
    venv.create(environment, symlinks=True)
    place = next(environment.glob("lib/python*/site-packages"))
    command = ["git", "ls-files", *PACKED]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for file in listed.split():  # a build writes beside its sources
        (source / file).parent.mkdir(parents=True, exist_ok=True)
        (source / file).write_bytes((ROOT / file).read_bytes())
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
    ]
    folders = [str(source / name) for name in ("ptxsim", "matmul")]
    subprocess.run([*pip, "--target", str(place), *folders], check=True)
    for folder in folders:
        project = tomllib.loads(Path(folder, "pyproject.toml").read_text(encoding="utf-8"))["project"]
        others = [line for line in project["dependencies"] if not line.startswith("ptxsim")]
        for name in needed(others):
            link_files(name, place)
    return environment / "bin/python"


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


def test_its_versions_and_needs_are_the_courses():
    read = {
        name: tomllib.loads((ROOT / name / "pyproject.toml").read_text(encoding="utf-8"))
        for name in ("", "ptxsim", "matmul")
    }
    course, simulator, own = (read[name]["project"] for name in ("", "ptxsim", "matmul"))
    assert own["version"] == course["version"]
    assert own["requires-python"] == course["requires-python"]
    assert read["matmul"]["build-system"] == read[""]["build-system"]
    assert f"ptxsim>={simulator['version'].rpartition('.')[0]},<2" in own["dependencies"]
    extras = course["optional-dependencies"]
    for extra in ("cuda12", "cuda13"):
        assert own["optional-dependencies"][extra] == [
            line for line in extras[extra] if line.startswith("cupy")
        ]
    drawn = next(line for line in course["dependencies"] if line.startswith("matplotlib"))
    assert own["optional-dependencies"]["pictures"] == [drawn]
