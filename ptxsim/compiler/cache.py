"""What the compiler made of kernels, kept in files: `use(folder)` names a folder of them.

Kernels that were not edited so run on machines for which NVIDIA has no compiler, and start sooner on all others. A
folder holds zips: a text for each key, and `made_by`, the machine and the packages that made them. Where these packages
are installed as well, a text counts only if they are the same.
"""

import hashlib
import json
import os
import platform
import sys
import zipfile
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, partial
from importlib import metadata
from pathlib import Path

from ..ground import whole
from ..ground.interrupts import MessageOnly
from .headers import included

FOLDERS: list[Path] = []
"""Where kept texts are looked for."""
HINTS: list[str] = []
"""What to tell somebody who has no compiler, besides how to get one."""
IDLE: list[str] = []
"""How options begin that change nothing of a text."""
MADE_BY = "made_by"
KEEP = "PTXSIM_KEEP"
"""Environment variable: a folder into which every text is written that is asked for and, now, made anew."""
REUSE = "PTXSIM_REUSE"
"""Environment variable: a folder for texts of one compiler: what is not there yet is made and put there. Tests use it,
which compile the same kernels in every run and in several processes."""
PACKAGES = ("nvrtc", "runtime", "cccl", "crt", "nvdisasm")
"""Of NVIDIA's wheels, those on which the texts depend: compiler, headers, disassembler."""


class ToolMissing(MessageOnly, RuntimeError):
    """The compiler, or the disassembler, is not installed here."""

    def __init__(self, missing: str) -> None:
        super().__init__("\n".join([missing, *HINTS]))


def use(folder: Path, hint: str = "", idle: str = "") -> None:
    """Look for kept texts in this folder, too. `hint`: what to tell somebody who asks for another one and has no
    compiler. `idle`: how an option begins that changes nothing of them."""
    if folder not in FOLDERS:
        FOLDERS.append(folder)
        HINTS.extend([hint] * bool(hint))
        IDLE.extend([idle] * bool(idle))


def look_again() -> None:
    """After zips were added to a folder that is in use."""
    _archives.cache_clear()


def in_use() -> bool:
    """Whether anything is kept. Where nothing is, no key is needed: it would read all files of each -I folder."""
    return bool(FOLDERS or os.environ.get(KEEP) or os.environ.get(REUSE))


def key_of(kind: str, source: str, names: tuple[str, ...], options: tuple[str, ...]) -> str:
    """Key of a text of this kind. Of folders of headers those count that the source includes, by their text, not by
    where they lie; what is not in such a folder is the compiler's own."""
    folders = [Path(option[2:]) for option in options if option.startswith("-I")]
    others = tuple(option for option in options if not option.startswith(("-I", *IDLE)))
    parts = kind, source, names, others, *([included(source, folders)] if folders else ())
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:24]


def kept(key: str, make: Callable[[], str]) -> str:
    """The kept text with this key, or what `make` returns.

    Where `make` raises ToolMissing, a text counts whoever made it.
    """
    if folder := os.environ.get(KEEP):
        return _keep(Path(folder), key, make())
    if (text := find(key, made_by())) is not None:
        return text
    folder = os.environ.get(REUSE)
    return _or_found(key, partial(_reused, Path(folder), key, make) if folder else make)


def made_here(key: str, make: Callable[[], str]) -> str:
    """What `make` returns, whatever is kept; the kept text where it raises ToolMissing."""
    text = _or_found(key, make)
    return _keep(Path(folder), key, text) if (folder := os.environ.get(KEEP)) else text


def _or_found(key: str, make: Callable[[], str]) -> str:
    """What `make` returns; where it raises ToolMissing, the kept text, whoever made it."""
    try:
        return make()
    except ToolMissing:
        if (text := find(key)) is None:
            raise
        return text


@lru_cache(maxsize=1)
def made_by() -> str:
    """This machine's kind, and the versions of PACKAGES; "none" for one that pip did not install."""
    found = {"machine": f"{sys.platform} {platform.machine()}"}
    for name in (f"nvidia-cuda-{part}" for part in PACKAGES):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "none"
    return json.dumps(found, indent=1)


def find(key: str, by: str | None = None) -> str | None:
    """The kept text with this key: made by `by`, or by anybody."""
    for who, keys, archive in _archives(tuple(FOLDERS)):
        if by in (None, who) and key in keys:
            return archive.read(key).decode()
    return None


def write(path: Path, folder: Path) -> int:
    """Pack the texts in `folder` into a zip; return how many there are.

    A file that holds the same texts already stays: another zlib would write other bytes.
    """
    texts = {file.name: file.read_bytes().decode() for file in sorted(folder.iterdir()) if not file.suffix}
    if path.exists() and read(path) == (made_by(), texts):
        return len(texts)
    with (
        whole.replaced(path) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive,
    ):
        for name, text in {MADE_BY: made_by(), **texts}.items():
            entry = zipfile.ZipInfo(name)  # with the date 1980-01-01
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, text.encode(), compresslevel=9)
    return len(texts)


def read(path: Path) -> tuple[str, dict[str, str]]:
    """Who made a zip's texts, and the texts by their keys."""
    with zipfile.ZipFile(path) as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    return texts.pop(MADE_BY), texts


def _reused(folder: Path, key: str, make: Callable[[], str]) -> str:
    """The text of the file, below its hash in a line of its own; one that is not there, or damaged, is made again."""
    try:
        hashed, _, data = (folder / key).read_bytes().partition(b"\n")
        if hashed.decode() == hashlib.sha256(data).hexdigest():
            return data.decode()
    except (OSError, UnicodeDecodeError):
        pass
    text = make()
    with suppress(OSError):  # it is made without being kept
        data = text.encode()
        whole.write(folder / key, hashlib.sha256(data).hexdigest().encode() + b"\n" + data)
    return text


def _keep(folder: Path, key: str, text: str) -> str:
    whole.write(folder / key, text)
    return text


@lru_cache(maxsize=1)
def _archives(folders: tuple[Path, ...]) -> tuple[tuple[str, frozenset[str], zipfile.ZipFile], ...]:
    """Who made it, its keys, and the open file, of each zip."""
    found = []
    for path in sorted(path for folder in folders for path in folder.rglob("*.zip")):
        try:
            archive = zipfile.ZipFile(path)
            found.append((archive.read(MADE_BY).decode(), frozenset(archive.namelist()), archive))
        except (zipfile.BadZipFile, KeyError) as error:
            raise RuntimeError(f"{path} is damaged ({error}): get it again from where it came") from None
    return tuple(found)
