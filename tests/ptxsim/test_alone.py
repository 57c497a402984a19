"""The simulator alone: installed without the course and with nothing but what it declares, it runs its README."""

import re
import subprocess
import sys
import tomllib
import venv
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.rules import ROOT

README = (ROOT / "ptxsim/README.md").read_text(encoding="utf-8")
SOURCE = re.search(r"```cuda\n(.*?)```", README, re.DOTALL)[1]
REPORTED = re.search(r"```text\n(.*?)```", README, re.DOTALL)[1]


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> Path:
    return installed(tmp_path_factory, "ptxsim")


def installed(tmp_path_factory, *packages: str, with_files_of: tuple[str, ...] = ()) -> Path:
    """The python of an environment with `pip install ./PACKAGE ...` and links to the files of what they need, no more.
    `with_files_of`: folders that such a package takes along."""
    environment, source = tmp_path_factory.mktemp("alone"), tmp_path_factory.mktemp("source")
    venv.create(environment, symlinks=True)
    place = next(environment.glob("lib/python*/site-packages"))
    listed = subprocess.run(
        ["git", "ls-files", *packages, *with_files_of], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for file in listed.split():  # from a copy: a build writes beside its sources
        (source / file).parent.mkdir(parents=True, exist_ok=True)
        (source / file).write_bytes((ROOT / file).read_bytes())
    pip = [sys.executable, "-m", "pip", "install"]
    alone = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run(
        [*pip, *alone, "--target", str(place), *(str(source / name) for name in packages)], check=True
    )
    for name in packages:
        project = tomllib.loads((ROOT / name / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        others = [line for line in project["dependencies"] if not line.startswith(packages)]
        for other in needed(others):
            link_files(other, place)
    return environment / "bin/python"


def needed(requirements: list[str]) -> list[str]:
    """Names of packages, with what they need in turn."""
    found: dict[str, None] = {}
    asked = [Requirement(text) for text in requirements]
    while asked:
        one = asked.pop()
        if one.name not in found and (one.marker is None or one.marker.evaluate({"extra": ""})):
            found[one.name] = None
            asked += map(Requirement, metadata.requires(one.name) or [])
    return list(found)


def link_files(package: str, place: Path) -> None:
    for file in metadata.files(package) or []:
        link, there = place / file, Path(file.locate()).resolve()
        if (
            ".." not in file.parts
            and "__pycache__" not in file.parts
            and there.exists()
            and not link.exists()
        ):
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(there)


def run(python: Path, *words: str, cwd: Path) -> subprocess.CompletedProcess:
    """`-I`: without this process's paths, and so without the course."""
    return subprocess.run([python, "-I", *words], cwd=cwd, capture_output=True, text=True)


def test_the_readmes_kernel_runs_and_its_report_is_the_readmes(alone, tmp_path):
    program = re.search(r"```python\n(.*?)```", README, re.DOTALL)[1]
    (tmp_path / "reverse.cu").write_text(SOURCE)
    ran = run(alone, "-c", program, cwd=tmp_path)
    assert ran.stdout == REPORTED, ran.stderr


def test_a_file_is_checked_from_the_command_line(alone, tmp_path):
    (tmp_path / "reverse.cu").write_text(SOURCE)
    words = re.search(r"^python (-m ptxsim check .*)$", README, re.MULTILINE)[1].replace('"', "").split()
    ran = run(alone, *words, cwd=tmp_path)
    assert (ran.returncode, "reverse.cu:4" in ran.stdout) == (1, True), ran.stdout + ran.stderr
    (tmp_path / "reverse.cu").write_text(SOURCE.replace("    x[", "    __syncthreads();\n    x["))
    assert run(alone, *words, cwd=tmp_path).returncode == 0
    ran = run(alone, *words, "--arg", "int32=1", cwd=tmp_path)
    assert (ran.returncode, ran.stderr.partition(": ")[0]) == (2, "reverse.cu"), "it cannot run"


def test_nothing_of_the_course_is_loaded():
    loaded = "import sys, ptxsim; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    ran = subprocess.run([sys.executable, "-c", loaded], cwd=ROOT, capture_output=True, text=True, check=True)
    strangers = {"course_lib", "matplotlib", "cupy", "IPython", "notebooks", "tests"}
    assert not strangers & set(ran.stdout.split())
