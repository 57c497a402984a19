"""Python's library and packages with bytecode in place of sources, which a page would compile whenever it is opened.

Pyodide's own compiler makes it, under Node, in half a minute; without Node the sources ship. What was made is kept
beside the fetched files, which do not change: without what a page has no use for, and packed.
"""

import gzip
import hashlib
import io
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
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
    archives = {pyodide / file.name: file for file in pins().files if file.is_archive}
    sha256 = {}
    with tempfile.TemporaryDirectory() as folder:
        _unpack(archives, Path(folder), pyodide)
        for archive in archives:
            data = zipped(Path(folder, archive.name))
            sha256[archive.name] = hashlib.sha256(data).hexdigest()
            write_packed(target / archive.name, data)
    (target / LOCK).write_text(json.dumps(pins().lock(sha256)), encoding="utf-8")


def _unpack(archives: Mapping[Path, File], root: Path, pyodide: Path) -> bool:
    """Each archive as a folder, its modules compiled, all at once: most of the time Python starts. False without
    Node."""
    for archive, file in archives.items():
        write(root / archive.name, needed_of(archive, file))
    places = {archive.name: Place(file.place, file.docstrings) for archive, file in archives.items()}
    return compile_in_place(root, pyodide, places)


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


def zipped(folder: Path) -> bytes:
    """A folder as a zip, not compressed: it is packed as a whole, which is smaller, and the browser unpacks."""
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
