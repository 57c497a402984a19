"""What others wrote: files that may be huge, cut, nested without end or no files at all, and texts that may hold what a
terminal obeys. Whoever reads or prints such a thing does it through here."""

import errno
import json
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

LARGEST = 64 << 20
"""Bytes of a file. A notebook with many pictures has a tenth of that."""
DEEPEST = 100
"""Lists and objects of JSON within each other. Python copies and prints what it has read by functions that call
themselves."""
KEPT = "\n\t\xa0\u202f"
"""Ends of lines, tabs, and the spaces at which no line breaks."""


def text_of(path: Path, most: int = LARGEST, errors: str = "strict") -> str:
    """The text of a file. Raises OSError where it cannot be read, is no file (a pipe, a device: some never end), or has
    more than `most` bytes, and UnicodeDecodeError, a ValueError, where it is not UTF-8."""
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # of a folder Python has words of its own
        raise OSError(errno.EINVAL, "it is no plain file", str(path))
    with open(path, "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
    return data.decode("utf-8", errors)


def json_of(text: str | bytes) -> Any:
    """What a text says as JSON. Raises ValueError for one that is none, and for one that is nested too deeply."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise _too_deep() from None
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [inner for each in level for inner in _within(each)]
        if not level:
            return value
    raise _too_deep()


def _within(value: Any) -> Iterable[Any]:
    """What a list or an object holds; of anything else nothing."""
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _too_deep() -> ValueError:
    return ValueError(f"it has more than {DEEPEST} lists or objects within each other")


def printable(text: object) -> str:
    """The text with each character that a terminal obeys, or that nobody sees, written out: `\\x1b` for ESC.

    A terminal takes some characters as orders: clear all, write over another line, write from the right.
    """
    shown = str(text)
    if shown.isprintable():
        return shown
    return "".join(each if each.isprintable() or each in KEPT else _written_out(each) for each in shown)


def printable_line(text: object) -> str:
    """The same in one line, for a table or a list: ends of lines and rows of spaces are one space."""
    return printable(" ".join(str(text).split()))


def _written_out(character: str) -> str:
    return ascii(character)[1:-1]  # no codec: a compile service prints where no file can be opened
