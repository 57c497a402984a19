"""Notebooks, processes and installations that tests of tools make."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat

from hiding_latency.packages import FOLDERS, PACKAGES
from tests.rules import ROOT

PIP = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
IN_A_WHEEL = (
    *(f"{package}/" for package in PACKAGES),
    "notebooks/",
    "assets/",
    "docs/",
    "tools/lab_extension/",
)


def write_notebook(path: Path, *cells: str | tuple[str, str]) -> None:
    """A notebook of code cells; a tuple is a cell and its tag."""
    pairs = [cell if isinstance(cell, tuple) else (cell, "") for cell in cells]
    made = [
        nbformat.v4.new_code_cell(source, metadata={"tags": [tag] if tag else []}) for source, tag in pairs
    ]
    heading = nbformat.v4.new_markdown_cell("# A & B")
    nbformat.write(nbformat.v4.new_notebook(cells=[heading, *made]), path)


def started(code: str, *arguments: object) -> subprocess.Popen:
    """A Python of its own in this folder that runs the code."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def build_wheels(folder: Path, change: Callable[[Path], None] = lambda _: None) -> list[Path]:
    """Build the three wheels of this checkout in a folder; `change` makes another version of the copy that they are
    built from."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    for name in filter(None, tracked.decode().split("\0")):  # pip would leave build/ in the checkout
        if name.startswith(IN_A_WHEEL) or "/" not in name:
            copy = folder / "source" / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes((ROOT / name).read_bytes())
    change(folder / "source")
    build = ["wheel", "--no-deps", "--no-build-isolation", "-w", folder]
    sources = [folder / "source" / each for each in FOLDERS]
    built = subprocess.run([*PIP, *build, *sources], check=True, capture_output=True, text=True)
    assert "Warning" not in built.stdout + built.stderr, "a teacher reads it under `make wheelhouse`"
    return sorted(folder.glob("*.whl"))


def install_wheels(folder: Path, change: Callable[[Path], None] = lambda _: None) -> Path:
    """Build them and install them into `site` there, without what they need."""
    wheels = build_wheels(folder, change)
    install = ["install", "--no-deps", "--target", folder / "site", *wheels]
    subprocess.run([*PIP, *install], check=True, capture_output=True)
    return folder / "site"


def fresh(course: Path) -> Path:
    """What git has of the course, and what it would take in, in a new folder."""
    course.mkdir()
    listed = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    there = "\0".join(name for name in names if name and (ROOT / name).is_file())  # not what was just deleted
    subprocess.run(
        ["xargs", "-0", "cp", "--parents", "-t", course], input=there.encode(), check=True, cwd=ROOT
    )
    return course
