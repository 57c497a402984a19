"""Lines of stores and barriers that the compiler has joined: two in the source, one in the PTX, and no line there.

The line before in the PTX is another statement's. The source says which lines store to an array of that name: the next
of them is taken, from the last line that is known.
"""

import re

from .signature import without_comments

_BARRIER = re.compile(r"\b__syncthreads\s*\(|\bsync\s*\(\s*\)")
_STORE = r"\b{0}\b[^;=<>!,?]*=(?!=)|\batomic\w+\s*\([^;,]*\b{0}\b|\b{0}\b[^;=<>!,?]*(?:\+\+|--)|(?:\+\+|--)\s*{0}\b"


def store_behind(source: str, line: int, name: str) -> int:
    """The first line from this one on that stores to this array; 0 if there is none."""
    return _first(source, line, re.compile(_STORE.format(re.escape(name))))


def barrier_behind(source: str, line: int) -> int:
    """The same of `__syncthreads()`, or of a `sync()`."""
    return _first(source, line, _BARRIER)


def _first(source: str, line: int, what: re.Pattern) -> int:
    lines = without_comments(source).splitlines()
    return next((n for n, text in enumerate(lines, 1) if n >= line and what.search(text)), 0)
