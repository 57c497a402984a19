"""Objects that the compiler made, kept between runs: each in a file of its own, with the hashes of all that it was made
from. Its name is the hash of the recipe: the command, and what else the compiler goes by.

The file is written whole or not at all, and checked when it is read. Where it cannot be written, nothing is kept.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from time import time

from ..ground import whole

MOST = 512 << 20
"""Bytes of all that is kept. What was not used for longest goes first."""
STALE = 3600
"""Seconds after which a part of a file is nobody's any more: who wrote it was killed."""
HEADERS = (".h", ".hh", ".hpp", ".hxx", ".cuh", ".inl")
"""How the names of files end that one includes."""


class Kept:
    """What lies in a folder. Programs that run at once may share it."""

    def __init__(self, folder: Path, most: int = MOST) -> None:
        self.folder, self.most = folder, most
        self._hashes: dict[str, str] = {}

    def read(self, recipe: Sequence[object], made: Path) -> list[Path] | None:
        """Write the object to `made`, if all that it was made from is as it was. The files that it was made from; None
        where there is no such object."""
        place = self._place(recipe)
        try:
            head, _, content = place.read_bytes().partition(b"\n")
            known = json.loads(head)
            if known["object"] != _hash(content) or any(
                self._hash_of(name) != wanted for name, wanted in known["files"].items()
            ):
                return None
            made.write_bytes(content)
            os.utime(place)
            return [Path(name) for name in known["files"]]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def write(self, recipe: Sequence[object], made: Path, files: Iterable[Path], began: float) -> None:
        """Keep an object. `files`: what the compiler read since `began`; what changed meanwhile is not known to it."""
        with suppress(OSError):
            names = [str(file) for file in files]
            if any(os.stat(name).st_mtime >= began for name in names):
                return
            content = made.read_bytes()
            known = {"object": _hash(content), "files": {name: self._hash_of(name) for name in names}}
            whole.write(self._place(recipe), json.dumps(known).encode() + b"\n" + content)
            self._shrink()

    def _place(self, recipe: Sequence[object]) -> Path:
        return self.folder / _hash(repr(recipe).encode(errors="surrogateescape"))

    def _hash_of(self, name: str) -> str:
        """Raises OSError."""
        if name not in self._hashes:
            self._hashes[name] = _hash(Path(name).read_bytes())
        return self._hashes[name]

    def _shrink(self) -> None:
        found = []
        for file in self.folder.iterdir():
            with suppress(OSError):  # another program may have removed it
                about = file.stat()
                found.append((about.st_mtime, about.st_size, file))
        left = sum(size for _, size, _ in found)
        for used, size, file in sorted(found):
            part = file.suffix == ".part"
            if used < time() - STALE if part else left > self.most:
                file.unlink(missing_ok=True)
                left -= size


def headers_in(folders: Iterable[Path]) -> list[list[str]]:
    """The names of what may be included from each: a new one may come before another of its name."""
    return [sorted(each.name for each in _files(folder) if each.suffix in HEADERS) for folder in folders]


def _files(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
