"""Python's library and packages with bytecode in place of sources, which a page would compile whenever it is opened.

Pyodide's own compiler makes it, under Node, in half a minute; without Node the sources ship. What was made is kept
beside the fetched files, which do not change: for the book's cells without what a page has no use for, and packed; for
notebooks whole.
"""

import gzip
import hashlib
import io
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ptxsim import whole
from tools.live.bytecode import SCRIPT, Place, compile_in_place, node
from tools.live.pins import LIST, File, pins

LOCK = "pyodide-lock.json"
COMPILED = "bytecode"
"""In the folder of Pyodide's files: what was compiled of whole archives."""
WHOLE = File("", "", 0, "", package="any")
"""An archive in site-packages of which all is needed."""


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


def put_compiled(archives: Sequence[Path], target: Path, pyodide: Path) -> None:
    """Copy wheels, and zips of modules, to a folder: whole, their modules compiled."""
    kept = {archive: pyodide / COMPILED / f"{_hash(archive)}.zip" for archive in archives}
    if new := {archive: WHOLE for archive in archives if not kept[archive].is_file()}:
        with tempfile.TemporaryDirectory() as folder:
            made = _unpack(new, Path(folder), pyodide)
            for archive in new if made else ():
                whole.write(kept[archive], zipped(Path(folder, archive.name), zipfile.ZIP_DEFLATED))
    target.mkdir(parents=True, exist_ok=True)
    for archive in archives:
        shutil.copy(kept[archive] if kept[archive].is_file() else archive, target / archive.name)


def _hash(archive: Path) -> str:
    return hashlib.sha256(archive.read_bytes()).hexdigest()


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


def zipped(folder: Path, how: int = zipfile.ZIP_STORED) -> bytes:
    """A folder as a zip; not compressed where it is packed as a whole, which is smaller and the browser unpacks."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", how, compresslevel=9) as made:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix())  # with the date 1980-01-01
            made.writestr(entry, path.read_bytes(), how)
    return archive.getvalue()


def write_packed(place: Path, data: bytes) -> int:
    """Write it for the worker to unpack, since plain servers send files as they are; return its bytes there."""
    made = gzip.compress(data, 9, mtime=0)
    place.with_name(f"{place.name}.packed").write_bytes(made)
    return len(made)
