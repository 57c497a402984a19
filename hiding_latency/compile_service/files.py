"""The files of the book: which one a path means, what it is, and whether it gets smaller."""

import gzip
import re
import threading
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".ipynb": "application/json",
    ".webmanifest": "application/manifest+json",
    ".wasm": "application/wasm",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".ico": "image/x-icon",
    ".txt": "text/plain; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
    ".py": "text/plain; charset=utf-8",
    ".cuh": "text/plain; charset=utf-8",
    ".xml": "application/xml",
    ".pdf": "application/pdf",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
    ".ttf": "font/ttf",
    ".zip": "application/zip",
    ".whl": "application/zip",
    ".gz": "application/gzip",
    ".tgz": "application/gzip",
}
"""Written out, because each system's own list is another one, and a browser runs WebAssembly of this type alone."""
OTHER = "application/octet-stream"
SHRINK = (
    *(".html", ".css", ".js", ".mjs", ".json", ".map", ".ipynb"),
    *(".wasm", ".svg", ".txt", ".md", ".py", ".ttf"),
)
"""Types that gzip makes smaller. The archives and pictures are packed already."""
WORTH_IT = range(1_000, 64 << 20)
"""Sizes of files that are packed."""

_packing = threading.Lock()


def find(root: Path, path: str) -> Path | None:
    """The file or folder that the path of a request means; None where there is none inside `root`."""
    name = unquote(path.partition("?")[0].partition("#")[0], errors="replace")
    parts = [part for part in name.split("/") if part]
    if "\0" in name or "\\" in name or any(part.startswith(".") for part in parts):
        return None  # also `..`, and files that are hidden
    try:
        found = root.joinpath(*parts).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        return None
    return found if found.is_relative_to(root.resolve()) else None  # no link leads out


def takes_gzip(accepted: str) -> bool:
    """Whether an Accept-Encoding has gzip, and not as what is not to be sent."""
    wanted = {}
    for part in accepted.lower().split(","):
        name, _, weight = part.partition(";")
        wanted[name.strip()] = not re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", weight)
    return wanted.get("gzip", wanted.get("*", False))


def type_of(file: Path) -> str:
    return TYPES.get(file.suffix.lower(), OTHER)


def tag_of(file: Path) -> str:
    """Another one when the file has changed."""
    about = file.stat()
    return f'"{about.st_mtime_ns:x}-{about.st_size:x}"'


def packed(file: Path) -> bytes | None:
    """The file in gzip's form, where that is smaller: made once, kept for all who ask."""
    if file.suffix.lower() not in SHRINK or file.stat().st_size not in WORTH_IT:
        return None
    with _packing:  # thirty who open a page at once wait for one
        return _packed(file, tag_of(file))


@lru_cache(maxsize=256)
def _packed(file: Path, tag: str) -> bytes:
    return gzip.compress(file.read_bytes(), 6, mtime=0)
