"""What the pages for contributors, and the docstrings that list modules, say is there, and all of it."""

import ast
import json
import re
import subprocess

import pytest

from course_lib.lessons import sources
from hiding_latency.packages import PACKAGES
from tests.rules import ROOT

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def commands() -> set[str]:
    """What the tools call themselves by, in the first line of their docstrings: `python -m tools.ROOM.NAME`."""
    first_lines = (
        path.read_text(encoding="utf-8").partition("\n")[0] for path in (ROOT / "tools").glob("*/*.py")
    )
    return {found[0] for line in first_lines for found in re.finditer(r"python -m tools[.\w]+", line)}


def test_each_command_is_told_to_those_who_need_it():
    pages = CONTRIBUTING + "".join(
        (ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "docs/instructor.md")
    )
    assert {"python -m tools.author.sittings", "python -m tools.classroom.progress"} <= commands()
    assert [command for command in commands() if command not in pages] == []


def test_the_root_has_few_entries_and_each_has_its_line():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    there = {name.partition("/")[0] + "/" * ("/" in name) for name in listed.splitlines()}
    told = re.findall(r"^\| \[?`([\w./]+)`", CONTRIBUTING.partition("## Which command")[0], re.MULTILINE)
    assert sorted(word for word in told if not word.startswith("make")) == sorted(there) and len(there) <= 25


def test_each_file_that_contributing_names_is_there():
    """Every path in code quotes that has a slash or an ending; test_pages.py follows the links."""
    words = re.findall(r"`(?:python |bash )?([\w./-]+)`", CONTRIBUTING)
    paths = [word for word in words if re.search(r"/|\.(py|md|toml|lock|yml|json|ipynb)$", word)]
    patterns = {
        path: path.rstrip("/").replace("NN_name", "NN_*").replace("NN", "[0-9][0-9]") for path in paths
    }
    assert len(paths) > 12 and [path for path, glob in patterns.items() if not list(ROOT.glob(glob))] == []


def test_each_command_that_contributing_names_is_there():
    for module in re.findall(r"python -m ([\w.]+)", CONTRIBUTING):
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), module


def test_the_readme_has_a_row_for_each_lesson():
    rows = re.findall(r"^\| `(\d\d_\w+)` \|", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [path.stem for path in sources.notebooks(sources.NOTEBOOKS)]


ROOMS = [path for top in (*PACKAGES, "tools") for path in sorted((ROOT / top).glob("*/__init__.py"))]
FLAT = [
    ROOT / top / "__init__.py" for top in PACKAGES if not any(ROOT / top in path.parents for path in ROOMS)
]
"""Packages without rooms say themselves what is in them."""


@pytest.mark.parametrize("room", ROOMS + FLAT, ids=lambda room: ".".join(room.relative_to(ROOT).parts[:-1]))
def test_a_room_says_what_is_in_it(room):
    said = ast.get_docstring(ast.parse(room.read_text(encoding="utf-8"))) or ""
    modules = {path.stem for path in room.parent.glob("*.py")} - {"__init__", "__main__"}
    left = modules - set(re.findall(r"\w+", said))
    assert said and (left == set() or room.parent.name == "instructions"), left
    rows = re.findall(r"^(?:\| )?([\w./, ]+?)(?: {2,}| \| )\S", said, re.MULTILINE)
    named = [name.strip() for row in rows if row != "file" for name in row.split(",")]
    there = [room.parent / name for name in named]
    assert [path.name for path in there if not path.exists() and not path.with_suffix(".py").exists()] == []


def test_notebooks_import_from_the_face_alone():
    beside = r"(?!course_lib\.(?:instruments|check\.attention|notebooks\.figures\.\w+) import)"
    deeper = re.compile(
        rf"(?:from|import) {beside}(?:(?:course_lib|cupy_or_sim|matmul)\.[\w.]+|ptxsim[\w.]*)"
    )
    for path in sources.every_notebook(sources.NOTEBOOKS):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        assert deeper.findall("\n".join("".join(cell["source"]) for cell in cells)) == [], path.name
