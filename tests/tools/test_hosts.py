"""Where the course opens besides a clone: the files for Binder, containers, Colab, VS Code and hosted CI.

None of these hosts is here; what can be is tested: the files are read, they name what exists, and versions agree.
"""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
import types
from pathlib import Path

import nbformat
import pytest
import yaml
from IPython.core.interactiveshell import InteractiveShell
from packaging.specifiers import SpecifierSet

from course_lib.lessons import colab as on_colab
from course_lib.lessons import sources
from hiding_latency import copies
from hiding_latency.packages import FOLDERS
from ptxsim.compiler import nvrtc
from tests.rules import ROOT
from tools.author import colab
from tools.live.pins import pins

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NOTEBOOKS = sorted(sources.NOTEBOOKS.rglob("[0-9][0-9]_*.ipynb"))
DOCKERFILE, WORKFLOW, PUBLISH = (
    "tools/hosts/Dockerfile",
    ".github/workflows/ci.yml",
    ".github/workflows/publish.yml",
)
DEVCONTAINER = ".devcontainer/devcontainer.json"


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def jsonc(name: str) -> dict:
    """JSON in which lines of comments may stand."""
    return json.loads(re.sub(r"^\s*//.*$", "", text(name), flags=re.MULTILINE))


def workflow_job() -> dict:
    return yaml.safe_load(text(WORKFLOW))["jobs"]["test"]


# ---- all of them


def test_all_hosts_have_the_same_python_and_the_lock_serves_it():
    versions = {
        text("binder/runtime.txt").strip().removeprefix("python-"),
        re.search(r"^FROM python:([\d.]+)", text(DOCKERFILE), re.MULTILINE)[1],
        jsonc(DEVCONTAINER)["image"].rpartition(":")[2],
        re.match(r"python:([\d.]+)", workflow_job()["container"])[1],
    }
    assert len(versions) == 1
    assert versions.pop() in SpecifierSet(PROJECT["requires-python"])


@pytest.mark.parametrize("name", [DOCKERFILE, DEVCONTAINER, WORKFLOW, "CONTRIBUTING.md", "README.md"])
def test_make_targets_that_are_named_exist(name):
    targets = re.search(r"^\.PHONY:(.*)$", text("Makefile"), re.MULTILINE)[1].split()
    named = set(re.findall(r'\bmake"?,? "?([a-z]+)\b', text(name)))
    assert named and named <= set(targets)


# ---- Binder


def test_binder_takes_this_folder_and_the_lock():
    lines = [line for line in text("binder/requirements.txt").splitlines() if not line.startswith("#")]
    ours = [f"-e ./{folder}" for folder in FOLDERS[:-1]]
    assert lines == ["-c ../requirements.lock", *ours, "-e .[lab]"]
    assert sorted(path.name for path in (ROOT / "binder").iterdir()) == ["requirements.txt", "runtime.txt"]


# ---- containers


def test_the_image_leaves_out_what_git_ignores_and_installs_as_a_user():
    """Docker takes what it leaves out from a file beside the Dockerfile, of the same name."""
    for file in (DOCKERFILE, "hiding_latency/compile_service/Dockerfile"):
        assert {".venv/", "build/", "my_lessons/"} <= set(text(f"{file}.dockerignore").split("\n"))
    lines = text(DOCKERFILE).splitlines()
    user = lines.index("USER learner")
    assert user < lines.index("RUN mkdir -p my_lessons"), "a volume that is empty takes its owner from it"
    (install,) = (number for number, line in enumerate(lines) if "make install" in line)
    assert user < install and not any(line.startswith("USER") for line in lines[user + 1 :])
    assert json.loads(re.search(r"^CMD (.*)$", text(DOCKERFILE), re.MULTILINE)[1])[:2] == ["make", "lab"]


def test_on_jupyterhub_copies_are_made_before_it_starts(tmp_path):
    """The command in docs/hosts.md, with its program replaced by one that says what it was given."""
    for name in ("hiding_latency", "course_lib", "notebooks", "pyproject.toml"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "jupyterhub-singleuser").write_text('#!/bin/sh\necho "started with $@"\n')
    (programs / "jupyterhub-singleuser").chmod(0o755)
    (programs / "python").symlink_to(sys.executable)
    command = ast.literal_eval(
        re.search(r"^c.DockerSpawner.cmd = (.*)$", text("docs/hosts.md"), re.MULTILINE)[1]
    )
    path = f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    asked = [*command, "--port=8888", "a b"]
    done = subprocess.run(asked, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "started with --port=8888 a b", done.stderr
    assert len(sources.notebooks(tmp_path / "my_lessons")) == len(sources.notebooks(sources.NOTEBOOKS))


def test_a_devcontainer_takes_a_gpu_where_there_is_one():
    assert jsonc(DEVCONTAINER)["hostRequirements"]["gpu"] == "optional"


def test_vs_code_begins_with_the_environment_that_make_makes():
    """Outside of a container it takes the `.venv` of the folder by itself."""
    settings = jsonc(DEVCONTAINER)["customizations"]["vscode"]["settings"]
    assert settings == {"python.defaultInterpreterPath": "${containerWorkspaceFolder}/.venv/bin/python"}
    assert (Path(sys.prefix) / "share" / "jupyter" / "kernels" / "python3" / "kernel.json").is_file()


# ---- hosted CI


def test_hosted_ci_runs_the_same_script_and_keeps_book_and_screenshots():
    steps = workflow_job()["steps"]
    assert [step["run"] for step in steps if "run" in step][1:] == ["bash .ci/run", "make course"]
    kept = {step["with"]["name"]: step["with"]["path"] for step in steps if "upload" in step.get("uses", "")}
    assert kept == {"book": "build/course", "screenshots": "build/screenshots"}
    assert (ROOT / ".ci" / "run").is_file()


# ---- Colab


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_first_code_is_colabs_and_stands_behind_the_introduction(path):
    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert cells[0].id == colab.CELL and notebook.cells[0].cell_type == "markdown"
    assert cells[0].source == colab.source(), "run `python -m tools.author.colab`"
    assert not cells[0].outputs


def test_writing_the_cells_again_changes_nothing():
    """Wherever the cell stood: `put` brings it behind the introduction, once."""
    notebook = nbformat.read(NOTEBOOKS[0], as_version=4)
    before = nbformat.writes(notebook)
    place = [cell.id for cell in notebook.cells].index(colab.CELL)
    for moved in (0, place, len(notebook.cells) - 1):
        notebook.cells.insert(moved, notebook.cells.pop(place))
        colab.put(notebook)
        assert nbformat.writes(notebook) == before


def test_the_cell_of_colab_stands_right_above_the_first_code():
    text, first = {"cell_type": "markdown", "source": "# Title"}, {"cell_type": "code", "source": "import x"}
    notebook = nbformat.from_dict({"cells": [text, text, first]})
    colab.put(notebook)
    assert [cell.get("id") for cell in notebook.cells] == [None, None, colab.CELL, None]


def test_another_release_is_no_new_version_of_a_lesson():
    cells = json.loads(NOTEBOOKS[0].read_text(encoding="utf-8"))["cells"]
    before = copies.fingerprint(cells)
    (cell,) = (cell for cell in cells if cell["id"] == colab.CELL)
    cell["source"] = ["another release"]
    assert copies.fingerprint(cells) == before


@pytest.fixture
def shell(monkeypatch):
    """A notebook's shell, and what its %pip was asked for."""
    asked = []
    shell = InteractiveShell()
    shell.register_magic_function(asked.append, magic_name="pip")
    yield shell, asked
    InteractiveShell.clear_instance()


def test_elsewhere_the_cell_is_silent_and_takes_no_time(shell, capsys):
    shell, asked = shell
    begin = time.thread_time()
    shell.run_cell(colab.source()).raise_error()
    assert time.thread_time() - begin < 0.5  # a first cell of a shell; it takes a millisecond or two
    assert not asked and capsys.readouterr() == ("", "")


def test_on_colab_it_fetches_the_release_of_this_version(shell, monkeypatch):
    shell, asked = shell
    prepared = []
    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    monkeypatch.setattr(on_colab, "prepare", lambda: prepared.append(True))
    for _ in range(2):  # running it again does no harm
        shell.run_cell(colab.source()).raise_error()
    options, _, release = asked[0].rpartition(" ")
    assert options == "install -q --no-deps" and prepared == [True, True]
    assert release == f"{PROJECT['urls']['Repository']}/archive/refs/tags/v{PROJECT['version']}.tar.gz"


@pytest.mark.parametrize("there", [True, False])
def test_colab_gets_a_compiler_only_where_there_is_none_and_never_a_cupy(monkeypatch, there):
    def version():
        if not there:
            raise nvrtc.NvrtcMissing("none")

    called = []
    monkeypatch.setattr(nvrtc, "version", version)
    monkeypatch.setattr(on_colab.subprocess, "run", lambda command, check: called.append(command))
    on_colab.prepare()
    assert len(called) == (not there)
    assert not any("cupy" in word for command in called for word in command)
    assert all("--no-deps" in command for command in called)


def test_what_is_published_is_made_of_the_pinned_pyodide():
    job = yaml.safe_load(text(PUBLISH))["jobs"]["publish"]
    runs = [step["run"] for step in job["steps"] if "run" in step]
    archive = f"pyodide-{pins().version}.tar.bz2"
    assert job["env"]["PYODIDE"] == archive and f"/{pins().version}/" in runs[0]
    assert [run.split(" LIVE=")[0] for run in runs[1:]] == ["make live"]
