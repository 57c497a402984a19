"""Which notebooks show what a file draws, in cells that no test compares: pictures, tables of speeds, times.

Such a cell has the tag nbval-ignore-output, and its output stays what it was when the code changes.
"""

import ast
import json
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = (
    "course_lib/draw",
    "course_lib/measure",
    "course_lib/timelines",
    "course_lib/instruments",
    "notebooks/figures",
)
STYLE = "cupy_or_sim/style.py"
FACES = ("course_lib/__init__.py", "course_lib/draw/__init__.py", "course_lib/instruments/__init__.py")
"""What cells import: a name of a face leads to the file that it comes from."""


def notebooks_that_show(changed: Iterable[str]) -> list[str]:
    """Of those that have not changed themselves."""
    changed = set(changed)
    words = [word for file in sorted(_leans_on(changed)) for word in _asked_as(file)]
    asked = re.compile("|".join(words)) if words else None
    paths = sorted((ROOT / "notebooks").rglob("*.ipynb"))
    named = {path.relative_to(ROOT).as_posix(): path for path in paths}
    return [
        name
        for name, path in named.items()
        if asked and name not in changed and asked.search(_not_compared(path))
    ]


def _leans_on(changed: set[str]) -> set[str]:
    """The files that draw and have changed, and those that import one of them, also through others."""
    found = {file for file in _imports() if file in changed}
    waiting = list(found)
    while waiting:
        file = waiting.pop()
        new = {other for other, imported in _imports().items() if file in imported} - found
        waiting += new
        found |= new
    return found


@cache
def _imports() -> dict[str, set[str]]:
    """Each file that draws -> the files that it imports; a face is none, since it imports all."""
    paths = [path for room in ROOMS for path in (ROOT / room).glob("*.py") if path.name != "__init__.py"]
    return {path.relative_to(ROOT).as_posix(): _imported(path) for path in [*paths, ROOT / STYLE]}


def _imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            above = path.relative_to(ROOT).parts[: -node.level] if node.level else ()
            module = "/".join([*above, *(node.module or "").split(".")]).strip("/")
            found |= {f"{module}.py", *(f"{module}/{each.name}.py" for each in node.names)}
    return found


def _asked_as(file: str) -> list[str]:
    """What a cell writes, as patterns, to have what the file draws."""
    if lesson := re.fullmatch(r"notebooks/figures/lesson_(\d\d)\.py", file):
        return [rf'\bfigure\("{lesson[1]}\.']
    beside = file.startswith("notebooks/figures/")
    defined = {
        node.name
        for node in ast.parse((ROOT / file).read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    return [rf"\b{name}\(" for name in sorted(defined if beside else defined & _on_a_face(file))]


def _on_a_face(file: str) -> set[str]:
    """The names that a face takes from a file."""
    return {
        each.name
        for face in FACES
        for node in ast.parse((ROOT / face).read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for each in node.names
        if (Path(face).parent / (node.module or "").replace(".", "/")).with_suffix(".py").as_posix() == file
    }


def _not_compared(path: Path) -> str:
    """The code of a notebook's cells whose outputs are not compared."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    tagged = (cell for cell in cells if "nbval-ignore-output" in cell["metadata"].get("tags", ()))
    return "\n".join("".join(cell["source"]) for cell in tagged if cell.get("outputs"))
