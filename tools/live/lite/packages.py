"""Packages as the site ships them: bytecode in place of sources, which a page would compile whenever it is opened.

It takes Pyodide's own compiler, under Node, and half a minute for all of Pyodide's packages; what was compiled is kept
by the hash of its file. Without Node the sources ship.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from tools.live.bytecode import Place, compile_in_place
from tools.live.pins import SITE_PACKAGES

COMPILED = "bytecode"
"""In the folder of Pyodide's files: what was compiled."""


def put_compiled(archives: Sequence[Path], target: Path, pyodide: Path) -> None:
    """Copy wheels, and zips of modules, to a folder, their modules compiled."""
    made = {archive: pyodide / COMPILED / f"{_hash(archive)}.zip" for archive in archives}
    _compile([archive for archive in archives if not made[archive].is_file()], made, pyodide)
    target.mkdir(parents=True, exist_ok=True)
    for archive in archives:
        shutil.copy(made[archive] if made[archive].is_file() else archive, target / archive.name)


def _compile(archives: list[Path], made: dict[Path, Path], pyodide: Path) -> None:
    """All at once: most of the time Python starts."""
    if not archives:
        return
    with tempfile.TemporaryDirectory() as folder:
        for archive in archives:
            with zipfile.ZipFile(archive) as packed:
                packed.extractall(Path(folder, archive.name))
        places = {archive.name: Place(SITE_PACKAGES) for archive in archives}
        if not compile_in_place(Path(folder), pyodide, places):
            return
        (pyodide / COMPILED).mkdir(exist_ok=True)
        for archive in archives:
            _pack(Path(folder, archive.name), made[archive])


def _pack(folder: Path, archive: Path) -> None:
    part = archive.with_suffix(".part")
    with zipfile.ZipFile(part, "w") as packed:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix())  # with the date 1980-01-01
            packed.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED, 9)
    part.replace(archive)


def _hash(archive: Path) -> str:
    return hashlib.sha256(archive.read_bytes()).hexdigest()
