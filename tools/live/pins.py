"""The files of Python for a browser, as pyodide.toml pins them."""

import builtins
import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SITE_PACKAGES = "/lib/python3.12/site-packages"
LIST = Path(__file__).with_name("pyodide.toml")


@dataclass(frozen=True)
class File:
    """One file. `part`: "runtime", or what loads it: "numpy", which the simulator needs, or "figures". A wheel has
    the name and the version of its package, and what it is imported as. `without`: what of it no page needs;
    `docstrings`: modules that keep theirs."""

    name: str
    sha256: str
    bytes: int
    part: str
    package: str = ""
    version: str = ""
    imports: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    docstrings: tuple[str, ...] = ("",)

    def is_this(self, data: builtins.bytes) -> bool:
        return hashlib.sha256(data).hexdigest() == self.sha256

    @property
    def is_archive(self) -> bool:
        return self.name.endswith((".zip", ".whl"))

    @property
    def place(self) -> str:
        """Where the modules of an archive lie in the page."""
        return SITE_PACKAGES if self.package else "/lib/python312.zip"

    def needs(self, name: str) -> bool:
        """Whether a page needs this part of an archive."""
        return not any(
            name.endswith(each[1:]) if each.startswith("*") else name.startswith(each)
            for each in self.without
        )


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

    def lock(self, sha256: Mapping[str, str] | None = None) -> dict:
        """What Pyodide reads of packages: its pyodide-lock.json, of those that are here. `sha256`: of files that were
        packed anew."""
        info = {"arch": "wasm32", "abi_version": self.abi, "platform": self.platform}
        info |= {"python": self.python, "version": self.version}
        return {
            "info": info,
            "packages": {
                file.package: _locked(file, (sha256 or {}).get(file.name, file.sha256))
                for file in self.files
                if file.package
            },
        }


def _locked(file: File, sha256: str) -> dict:
    return {
        "name": file.package,
        "version": file.version,
        "file_name": file.name,
        "sha256": sha256,
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
    files: list[dict] = [
        {name: tuple(value) if isinstance(value, list) else value for name, value in file.items()}
        for file in read.pop("file")
    ]
    return Pins(**read, files=tuple(File(**each) for each in files))
