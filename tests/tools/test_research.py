"""research/ is no product, and its programs are not run here: they compile, and what they import and name is there."""

import ast
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from hiding_latency.packages import PACKAGES
from tests.rules import ROOT

RESEARCH = ROOT / "research"
PROGRAMS = sorted([*RESEARCH.glob("*.py"), *RESEARCH.glob("*.sh")])
OURS = (*PACKAGES, "research", "tests", "tools", "docs", "assets", "notebooks")
NAMED = re.compile(rf"(?<![\w./])(?:{'|'.join(OURS)})/[\w./*-]*[\w*]")
"""The path of a file, or a pattern of some."""


@cache
def names(path: Path) -> set[str]:
    """All that a module binds, at whatever depth."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                found.add(node.name)
            case ast.Name(ctx=ast.Store()):
                found.add(node.id)
            case ast.alias():
                found.add((node.asname or node.name).partition(".")[0])
    return found


def missing_imports(text: str) -> list[str]:
    """What a program imports of ours that is not there."""
    asked = [
        (node.module, each.name)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in OURS
        for each in node.names
    ]
    return [f"{module}.{name}" for module, name in asked if not there(ROOT / module.replace(".", "/"), name)]


def there(place: Path, name: str) -> bool:
    """Whether a module, or a package, has that name."""
    if (place / f"{name}.py").is_file() or (place / name).is_dir():
        return True
    files = [path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()]
    return any(names(path) & {name, "__getattr__"} for path in files)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_a_program_compiles_and_what_it_imports_is_there(path):
    if path.suffix == ".sh":
        assert subprocess.run(["bash", "-n", path]).returncode == 0
        return
    text = path.read_text(encoding="utf-8")
    compile(text, path.name, "exec")
    assert missing_imports(text) == []


@pytest.mark.parametrize("path", [*PROGRAMS, RESEARCH / "README.md"], ids=lambda path: path.name)
def test_the_files_that_it_names_are_there(path):
    named = NAMED.findall(path.read_text(encoding="utf-8"))
    assert [name for name in named if not any(ROOT.glob(name))] == []


def test_its_page_has_all_that_is_there():
    page = (RESEARCH / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in RESEARCH.iterdir() if path.is_file() and path.name not in page] == [
        "README.md"
    ]


def test_what_is_not_there_is_found():
    assert missing_imports(
        "from matmul.plans import Shape, Nothing\nfrom tools.author import gone, tune\n"
    ) == [
        "matmul.plans.Nothing",
        "tools.author.gone",
    ]


def test_nothing_of_the_product_imports_it():
    asked = ["git", "grep", "-lE", r"^\s*(from|import) research", "--", "*.py", "*.ipynb"]
    found = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True).stdout.split()
    assert [name for name in found if not name.startswith("research/")] == []
