"""Texts that do not ship: the serving host's compiler is asked, or, where the reader allows it, a public one.

`ptxsim.compiler.elsewhere` calls for it; the worker sends, since only JavaScript can. A public one knows no headers of
the course: they are written into the text.
"""

import json
import re
from collections.abc import Callable

from cupy_or_sim import device
from ptxsim.compiler import MAIN_FILE, cache, elsewhere

NONE = "This text does not ship with the course, and a browser has no CUDA compiler."
"""Said where nobody was asked, or nobody answered."""
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<(course/[\w./]+)>[^\n]*$", re.MULTILINE)


def ask_by(send: Callable[[str], str]) -> None:
    """`send` takes a question as JSON and returns [status, answer]. A question has what a compile service wants, and
    `whole`: the text with the course's headers in it."""

    def ask(asked: dict) -> tuple[int, dict]:
        status, answer = json.loads(send(json.dumps({**asked, "whole": with_headers(asked["source"])})))
        return status, answer

    elsewhere.ask_with(ask)
    cache.HINTS.clear()  # they say what to install, and nothing can be installed here


def with_headers(source: str) -> str:
    """The text with the course's headers in the places of their #include; lines keep their numbers and files."""
    seen: set[str] = set()
    return f'#line 1 "{MAIN_FILE}"\n{_inlined(source, MAIN_FILE, seen)}'


def _inlined(text: str, file: str, seen: set[str]) -> str:
    def include(match: re.Match) -> str:
        name, path = match[1], device.INCLUDE / match[1]
        following = text.count("\n", 0, match.start()) + 2
        if name in seen:
            return ""
        if not path.is_file():
            return match[0]
        seen.add(name)
        header = _inlined(path.read_text(encoding="utf-8"), name, seen)
        return f'#line 1 "{name}"\n{header}\n#line {following} "{file}"'

    return _INCLUDE.sub(include, text)
