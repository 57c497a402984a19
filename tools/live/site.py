"""`_static/live/` beside the book: Python for a browser, the course as one archive, and one more for each lesson."""

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from course_lib.lessons import sources
from hiding_latency.copies import copy_of
from hiding_latency.packages import PACKAGES
from tools.live.bytecode import compile_in_place
from tools.live.fetch import FOLDER, ROOT
from tools.live.inside import playground
from tools.live.packages import LOCK, packed, write, write_packed, zipped
from tools.live.pins import pins

HERE = Path(__file__).parent
PACKED = (".wasm", ".asm.js")
"""Of the runtime, what gets much smaller."""
LEFT_OUT = {".pdf", ".svg", ".png", ".zip", ".md"}
"""Of the course's folders: pictures, and what the compiler made, which comes lesson by lesson."""
COURSE = (*PACKAGES, "notebooks", "assets")
NOT_THERE = ("__pycache__", "compile_service/", "pyproject.toml", "setup.cfg", ".egg-info/")
"""What a page has no use for."""


def build(target: Path, pyodide: Path = FOLDER) -> dict:
    """Write the folder; return what about.json says of it: versions, and bytes of each part of a first visit."""
    target.mkdir(parents=True, exist_ok=True)
    for script in sorted((HERE / "page").iterdir()):
        shutil.copy(script, target)
    sizes = put_python(target / "pyodide", pyodide)
    bytecode, sizes["course"] = put_course(target / "course.zip", pyodide)
    for archive in sorted((ROOT / "course_lib" / "compiled").rglob("*.zip")):
        place = target / "lessons" / archive.relative_to(ROOT / "course_lib" / "compiled")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(archive, place)
    put_copies(target / "copies")
    kernels = json.dumps(playground.kernels(), ensure_ascii=False, separators=(",", ":"))
    (target / "kernels.json").write_text(kernels, encoding="utf-8")
    about = {
        "pyodide": pins().version,
        "python": pins().python,
        "packages": {
            file.package: file.version for file in pins().files if file.package in ("numpy", "matplotlib")
        },
        "bytecode": bytecode,
        "bytes": {"first": sum(sizes.values()) - sizes["figures"], "figures": sizes["figures"]},
    }
    (target / "about.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    return about


def put_python(target: Path, pyodide: Path) -> Counter[str]:
    """The runtime, its library and the packages; the bytes of each part."""
    target.mkdir()
    ready, sizes = packed(pyodide), Counter[str]()
    shutil.copy(ready / LOCK, target)
    for file in pins().files:
        if file.is_archive:
            place = Path(shutil.copy(ready / f"{file.name}.packed", target))
            sizes[file.part] += place.stat().st_size
        elif file.name.endswith(PACKED):
            sizes[file.part] += write_packed(target / file.name, (pyodide / file.name).read_bytes())
        else:
            sizes[file.part] += Path(shutil.copy(pyodide / file.name, target)).stat().st_size
    return sizes


def put_course(archive: Path, pyodide: Path) -> tuple[bool, int]:
    """The library, the simulator, the lessons' code and the records: whether it is bytecode, and its bytes."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), course_files())
        bytecode = compile_in_place(Path(folder), pyodide)
        return bytecode, write_packed(archive, zipped(Path(folder)))


def put_copies(target: Path) -> None:
    """The notebooks as `make lab` copies them: with a reader's texts a page makes one of them a file to take home."""
    for lesson in sources.every_notebook(sources.NOTEBOOKS):
        place = target / lesson.relative_to(sources.NOTEBOOKS)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(copy_of(lesson), encoding="utf-8")


def course_files() -> Iterator[tuple[str, bytes]]:
    """Name and contents of each file that goes into the page's archive."""
    for path in [path for top in COURSE for path in sorted((ROOT / top).rglob("*"))]:
        name = path.relative_to(ROOT).as_posix()
        if path.is_file() and path.suffix not in LEFT_OUT and not any(part in name for part in NOT_THERE):
            yield name, code_alone(path.read_bytes()) if path.suffix == ".ipynb" else path.read_bytes()
    for path in sorted((HERE / "inside").glob("*.py")):
        yield f"inside/{path.name}", path.read_bytes()


def code_alone(notebook: bytes) -> bytes:
    """A notebook without texts and outputs: the page has these."""
    read = json.loads(notebook)
    cells = [cell for cell in read["cells"] if cell["cell_type"] == "code"]
    for cell in cells:
        cell["outputs"], cell["execution_count"] = [], None
    return json.dumps({**read, "cells": cells}, ensure_ascii=False).encode()
