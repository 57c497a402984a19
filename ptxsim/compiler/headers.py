"""Headers in memory: the compiler is handed all that a text may include, and opens no file.

A header is known by the name that stands in an #include. Inside a header, `#include "near.h"` means the file beside it;
among headers in memory NVRTC does not look there, so such a name is written out when the headers are read.
"""

import posixpath
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

Headers = dict[bytes, bytes]
"""Name in an #include -> text, as NVRTC takes them."""

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
_QUOTED = re.compile(r'^([ \t]*#[ \t]*include[ \t]*)"([^"\n]+)"', re.MULTILINE)


def read(folders: Iterable[str | Path]) -> Headers:
    """All files of these folders; of two with one name the first counts, as with -I."""
    roots = list(dict.fromkeys(Path(folder) for folder in folders))
    found: dict[str, str] = {}
    for root in roots:
        inner = [other for other in roots if other != root and other.is_relative_to(root)]
        for path in sorted(root.rglob("*")):
            if path.is_file() and not any(path.is_relative_to(folder) for folder in inner):
                name = path.relative_to(root).as_posix()
                found.setdefault(name, path.read_text(encoding="utf-8", errors="replace"))
    return {name.encode(): _written_out(name, text, found).encode() for name, text in found.items()}


def _written_out(name: str, text: str, known: dict[str, str]) -> str:
    """The text with the names of headers beside it as they are known."""

    def full(match: re.Match) -> str:
        near = posixpath.normpath(posixpath.join(posixpath.dirname(name), match[2]))
        return f'{match[1]}"{near}"' if near in known else match[0]

    return _QUOTED.sub(full, text)


def included(source: str, folders: Sequence[Path]) -> dict[str, str]:
    """The headers in these folders that a source includes, also through another header, or may include: {name: text},
    sorted by name."""
    found: dict[str, str] = {}
    waiting = _INCLUDE.findall(source)
    while waiting:
        name = waiting.pop()
        path = next((folder / name for folder in folders if (folder / name).is_file()), None)
        if path and name not in found:
            found[name] = path.read_text(encoding="utf-8")
            waiting += _INCLUDE.findall(found[name])
    return dict(sorted(found.items()))
