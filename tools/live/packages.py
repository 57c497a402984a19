"""Python's library and its packages as a page gets them: without what it has no use for, as bytecode, packed.

Made once and kept beside the fetched files: it takes half a minute, and they do not change.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from tools.live.bytecode import SCRIPT, Place, compile_in_place, node
from tools.live.pins import LIST, File, pins

LOCK = "pyodide-lock.json"


def packed(pyodide: Path) -> Path:
    """The folder that has each archive, packed, and Pyodide's list of them."""
    kept = pyodide.with_name(f"{pyodide.name}-packed")
    folder = kept / _key()
    if not folder.is_dir():
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(parents=True)
        part = Path(tempfile.mkdtemp(dir=kept))
        _make(part, pyodide)
        os.replace(part, folder)
    return folder


def _key() -> str:
    """Of all that the archives depend on."""
    parts = (LIST.read_bytes(), SCRIPT.read_bytes(), Path(__file__).read_bytes(), str(bool(node())).encode())
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


def _make(target: Path, pyodide: Path) -> None:
    archives = [file for file in pins().files if file.is_archive]
    sha256 = {}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for file in archives:
            write(root / file.name, needed_of(pyodide / file.name, file))
        compile_in_place(root, pyodide, {file.name: Place(file.place, file.docstrings) for file in archives})
        for file in archives:
            data = stored(root / file.name)
            sha256[file.name] = hashlib.sha256(data).hexdigest()
            write_packed(target / file.name, data)
    (target / LOCK).write_text(json.dumps(pins().lock(sha256)), encoding="utf-8")


def needed_of(archive: Path, file: File) -> Iterator[tuple[str, bytes]]:
    """Name and contents of each file of an archive that a page needs."""
    with zipfile.ZipFile(archive) as opened:
        for name in opened.namelist():
            if not name.endswith("/") and file.needs(name):
                yield name, opened.read(name)


def write(folder: Path, files: Iterable[tuple[str, bytes]]) -> None:
    """Write files by name and contents."""
    for name, data in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def stored(folder: Path) -> bytes:
    """A folder as a zip that is not compressed: compressed as a whole it gets smaller, and the browser unpacks it."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as made:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix())  # with the date 1980-01-01
            made.writestr(entry, path.read_bytes())
    return archive.getvalue()


def write_packed(place: Path, data: bytes) -> int:
    """Write it for the worker to unpack, since plain servers send files as they are; return its bytes there."""
    made = gzip.compress(data, 9, mtime=0)
    place.with_name(f"{place.name}.packed").write_bytes(made)
    return len(made)
