"""The files of Python for a browser, as pyodide.toml pins them."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

LIST = Path(__file__).with_name("pyodide.toml")


@dataclass(frozen=True)
class File:
    """One file. `part`: "runtime", or what loads it: "numpy", which the simulator needs, or "figures". A wheel has
    the name and the version of its package, and what it is imported as."""

    name: str
    sha256: str
    bytes: int
    part: str
    package: str = ""
    version: str = ""
    imports: tuple[str, ...] = ()

    def is_this(self, data: bytes) -> bool:
        return hashlib.sha256(data).hexdigest() == self.sha256


@dataclass(frozen=True)
class Pins:
    """All of them; `package` is one on PyPI that holds them."""

    version: str
    python: str
    abi: str
    platform: str
    package: dict
    files: tuple[File, ...]

    def of(self, *parts: str) -> list[File]:
        return [file for file in self.files if file.part in parts]

    def lock(self) -> dict:
        """What Pyodide reads of packages: its pyodide-lock.json, of those that are here."""
        info = {"arch": "wasm32", "abi_version": self.abi, "platform": self.platform}
        info |= {"python": self.python, "version": self.version}
        return {
            "info": info,
            "packages": {file.package: _locked(file) for file in self.files if file.package},
        }


def _locked(file: File) -> dict:
    return {
        "name": file.package,
        "version": file.version,
        "file_name": file.name,
        "sha256": file.sha256,
        "imports": list(file.imports),
        "install_dir": "site",
        "package_type": "package",
        "depends": [],
        "unvendored_tests": False,
    }


@cache
def pins() -> Pins:
    """The list in pyodide.toml."""
    read = tomllib.loads(LIST.read_text(encoding="utf-8"))
    files = [File(**{**file, "imports": tuple(file.get("imports", ()))}) for file in read.pop("file")]
    return Pins(**read, files=tuple(files))
