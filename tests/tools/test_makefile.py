"""The Makefile: help, what a target installs first, what it leaves alone."""

import os
import re
import shutil
import subprocess

import pytest

from tests.rules import ROOT


def make(*arguments: str) -> subprocess.CompletedProcess:
    """As typed in a shell, also where the tests themselves run under a make that was told things."""
    told = {"MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS", "MAKELEVEL", "WITH"}
    env = {name: value for name, value in os.environ.items() if name not in told}
    return subprocess.run(["make", "-C", str(ROOT), *arguments], capture_output=True, text=True, env=env)


def targets() -> list[str]:
    line = re.search(r"^\.PHONY:(.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    return line[1].split()


@pytest.mark.parametrize(
    ("file", "text", "stays"),
    [
        ("submitted/kim/a/a.ipynb", "{}", True),
        ("nbgrader_config.py", "# a teacher's own", True),
        ("nbgrader_config.py", "# ours", False),
        ("release/a/a.ipynb", "{}", False),
    ],
)
def test_make_clean_leaves_what_no_command_makes_again(tmp_path, file, text, stays):
    shutil.copy(ROOT / "Makefile", tmp_path)
    for path, said in (("tools/classroom/nbgrader_config.py", "# ours"), (f"build/classroom/{file}", text)):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(said)
    (tmp_path / "build" / "course").mkdir()
    done = subprocess.run(["make", "clean"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert (tmp_path / "build" / "classroom" / file).exists() == stays == ("stays" in done.stdout)
    assert not (tmp_path / "build" / "course").exists()


@pytest.mark.parametrize("target", sorted(set(targets()) - {"help", "clean", "install"}))
def test_every_target_makes_the_environment_first(target):
    text = make("-n", target).stdout
    assert "-m tools.install" in text
    assert text.index("-m tools.install") < text.index(".venv/bin/python")


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        (["lab"], ""),
        (["course"], ""),
        (["course", "AGAIN=1"], ""),
        (["test"], "dev"),
        (["quick"], "dev"),
        (["outputs"], "dev"),
        (["record"], "dev"),
        (["bench"], "dev"),
        (["grade"], "classroom"),
        (["rest"], "dev browser classroom"),
        (["long"], "browser classroom dev"),
        (["judges"], "dev nvcc"),
        (["test", "WITH=browser classroom"], "browser classroom dev"),
        (["test", "WITH=browser classroom nvcc"], "browser classroom nvcc dev"),
    ],
)
def test_a_target_asks_for_what_it_needs(arguments, asked):
    installs = re.search(r"-m tools\.install(.*?);", make("-n", *arguments).stdout)[1]
    assert installs.split() == ["--with", *asked.split()] * bool(asked)


def test_help_names_every_target():
    text = make("help").stdout
    assert re.findall("^To .*", text, re.MULTILINE) == ["To learn", "To change the course", "To teach"]
    assert [name for name in targets() if name != "help" and text.count(f"  make {name} ") != 1] == []


@pytest.mark.parametrize(("step", "well"), [("true", True), ("false", False)])
def test_make_test_ends_as_its_steps_do(step, well):
    """Each step is `$(RUN) -m ...`; the environment is taken as made."""
    assert (make("--old-file=install", "test", f"RUN={step}").returncode == 0) is well


def test_make_says_when_python_is_too_old(tmp_path):
    old = tmp_path / "python3"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.2\nexit 1\n')
    old.chmod(0o755)
    result = make("install", f"PYTHON={old}")
    assert result.returncode != 0
    assert "No suitable Python" in result.stderr and "3.11 or later" in result.stderr


def test_ci_calls_make_test_and_behind_it_the_rest():
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    wanted = lines.index('with="browser classroom"')
    *fetched, tested, rest = [line for line in lines if "make " in line]
    assert lines.index(tested) > wanted
    assert [tested, rest] == ['make test WITH="$with"', 'exec make rest WITH="$with"']
    assert [line.rpartition("make ")[2] for line in fetched] == [
        'install WITH="$with nvcc dev"; then',
        'install WITH="$with compilers dev"; then',
    ]
    for step in ("ruff check .", "ruff format --check .", "pytest --nbval"):
        assert step in make("-n", "test").stdout
