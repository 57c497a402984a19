"""The commands of the simulator's pages, typed as they stand there, in a folder with the files that the page shows."""

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.rules import ROOT

PAGES = ("ptxsim/README.md", "ptxsim/docs/programs.md", "docs/hangs.md")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"\b([\w-]+\.cu)\b")
PTXSIM = re.compile(r"^(?:python -m |(?:venv/bin/)?)ptxsim (.+)$")
BEFORE = re.compile(r"^(?:python3 -m venv|venv/bin/pip install|pip install) ")
"""What needs an index of packages: it is read, and not run."""
NO_NVCC = "needs nvcc and g++ (pip install '.[nvcc]')"


def steps(page: str) -> list[tuple[str, str, str]]:
    """The page's blocks: the language, the text, and for a file its name: the last one in the words before it, or the
    first of the next command."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found, blocks = [], list(BLOCK.finditer(text))
    for number, block in enumerate(blocks):
        before = text[blocks[number - 1].end() if number else 0 : block.start()].strip().rpartition("\n\n")[2]
        later = "".join(other[2] for other in blocks[number:] if other[1] == "sh")
        names = NAMED.findall(before) if NAMED.search(before) else NAMED.findall(later)[:1]
        found.append((block[1], block[2], names[-1] if block[1] == "cuda" else ""))
    return found


def typed(line: str, folder: Path) -> str:
    """What it prints, on stdout and then on stderr."""
    words = shlex.split(PTXSIM.match(line)[1])
    if words[0] == "run" and not (shutil.which("g++") and nvcc_is_here()):
        pytest.skip(NO_NVCC)
    ran = subprocess.run([sys.executable, "-m", "ptxsim", *words], cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 1, ran.stdout + ran.stderr  # all of these pages have a fault to show
    return ran.stdout + ran.stderr


def nvcc_is_here() -> bool:
    from ptxsim.program.compile import BuildError, toolkit

    try:
        return bool(toolkit())
    except BuildError:
        return False


def plain(text: str) -> str:
    """Without the seconds that a run took."""
    return re.sub(r"\d+\.\d s\b", "T s", text)


@pytest.mark.parametrize("page", PAGES)
def test_commands_can_be_typed(page, tmp_path):
    blocks, printed = steps(page), ""
    for language, text, name in blocks:
        if language == "cuda":
            (tmp_path / name).write_text(text)
    for language, text, _ in blocks:
        if language == "sh":
            lines = [line for line in text.splitlines() if not BEFORE.match(line)]
            printed = "".join(typed(line, tmp_path) for line in lines)
        elif language == "python" and "print(" in text:
            ran = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True)
            printed = ran.stdout + ran.stderr
        elif language == "text":
            for line in plain(text).splitlines():
                shown = line.removesuffix("...")
                assert any(each.startswith(shown) for each in plain(printed).splitlines()), (line, printed)


@pytest.mark.parametrize("page", (*PAGES, "ptxsim/docs/compilers.md"))
def test_what_they_install_is_there(page):
    extras = tomllib.loads((ROOT / "ptxsim/pyproject.toml").read_text())["project"]["optional-dependencies"]
    text = (ROOT / page).read_text(encoding="utf-8")
    assert {*re.findall(r"ptxsim\[(\w+)\]", text)} <= extras.keys()
    for line in (
        line for language, block, _ in steps(page) if language == "sh" for line in block.splitlines()
    ):
        assert PTXSIM.match(line) or BEFORE.match(line), f"{page}: who types this? {line}"


def test_the_readme_says_what_run_needs():
    readme = (ROOT / "ptxsim/README.md").read_text(encoding="utf-8")
    assert '`pip install "./ptxsim[nvcc]"`' in readme and "g++" in readme
