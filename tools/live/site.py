"""`_static/live/` beside the book: Python for a browser, the course as one archive, and one more for each lesson."""

from __future__ import annotations

import gzip
import json
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from tools.live.bytecode import compile_in_place
from tools.live.fetch import FOLDER, ROOT
from tools.live.inside import playground
from tools.live.pins import pins

HERE = Path(__file__).parent
PACKED = (".wasm", ".asm.js")
"""Large texts and code: packed here, since plain servers send files as they are; the worker unpacks."""
LEFT_OUT = {".pdf", ".svg", ".png", ".zip", ".md", ".toml"}
"""Of the course's folders: pictures, and what the compiler made, which comes lesson by lesson."""
COURSE = ("course_lib", "ptxsim", "notebooks", "assets")
NOT_THERE = ("__pycache__", "course_lib/serve/")
"""What a page has no use for."""


def build(target: Path, pyodide: Path = FOLDER) -> dict:
    """Write the folder; return what about.json says of it: versions, and bytes of each part of a first visit."""
    target.mkdir(parents=True, exist_ok=True)
    for script in sorted((HERE / "page").iterdir()):
        shutil.copy(script, target)
    sizes = {"runtime": 0, "numpy": 0, "figures": 0}
    for file in pins().files:
        sizes[file.part] += _put(pyodide / file.name, target / "pyodide")
    lock = target / "pyodide" / "pyodide-lock.json"
    lock.write_text(json.dumps(pins().lock()), encoding="utf-8")
    bytecode = pack_course(target / "course.zip", pyodide)
    for archive in sorted((ROOT / "course_lib" / "compiled").rglob("*.zip")):
        place = target / "lessons" / archive.relative_to(ROOT / "course_lib" / "compiled")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(archive, place)
    kernels = json.dumps(playground.kernels(), ensure_ascii=False, separators=(",", ":"))
    (target / "kernels.json").write_text(kernels, encoding="utf-8")
    first = sizes["runtime"] + sizes["numpy"] + (target / "course.zip").stat().st_size
    about = {
        "pyodide": pins().version,
        "python": pins().python,
        "packages": {
            file.package: file.version for file in pins().files if file.package in ("numpy", "matplotlib")
        },
        "bytecode": bytecode,
        "bytes": {"first": first, "figures": sizes["figures"]},
    }
    (target / "about.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    return about


def _put(file: Path, folder: Path) -> int:
    """Copy a file, packed where that saves much; return its bytes there."""
    folder.mkdir(parents=True, exist_ok=True)
    if file.name.endswith(PACKED):
        place = folder / f"{file.name}.packed"
        place.write_bytes(gzip.compress(file.read_bytes(), 9, mtime=0))
    else:
        place = folder / file.name
        shutil.copy(file, place)
    return place.stat().st_size


def pack_course(archive: Path, pyodide: Path) -> bool:
    """The library, the simulator, the lessons' code and the records; whether it is bytecode."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, data in course_files():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(data)
        bytecode = compile_in_place(root, pyodide)
        with zipfile.ZipFile(archive, "w") as packed:
            for path in sorted(path for path in root.rglob("*") if path.is_file()):
                entry = zipfile.ZipInfo(path.relative_to(root).as_posix())  # with the date 1980-01-01
                packed.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED, 9)
    return bytecode


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
