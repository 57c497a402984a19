"""Under which names measurements are kept: the key of a kernel's text and options."""

import hashlib
import re

from ptxsim.compiler.headers import included

from .device import HEADERS, INCLUDE
from .headers import in_one_piece

MARKS = "course/timeline.cuh"
_TOKEN = re.compile(
    r"""(?P<skip>//[^\n]*|/\*.*?\*/|[^\S\n]+) | (?P<newline>\n) | "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*'
    | \.?\d(?:[eEpP][+-]|[\w.'])* | \w+ | \+\+|--|&&|\|\||<<|>>|->|::|[-+*/%&|^=!<>]= | .""",
    re.VERBOSE | re.DOTALL,
)


def canonical(source: str) -> str:
    """CUDA source without comments and white space: a token per line; preprocessor lines keep their end."""
    tokens, directive = [], False
    for match in _TOKEN.finditer(source.replace("\\\n", " ")):
        if match["newline"]:
            tokens += [""] if directive else []
            directive = False
        elif not match["skip"]:
            directive = directive or match[0] == "#"
            tokens.append(match[0])
    return "\n".join(tokens)


def digest(*parts: object) -> str:
    """A short hash of these things as Python writes them."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def course_headers(source: str) -> dict[str, str]:
    """Every course header that the source includes, also through another header: {name: text}."""
    return included(source, [INCLUDE])


def source_key(name: str, source: str) -> str:
    """Key of a kernel's text, in one piece, and its course headers; comments and white space do not change it, nor does
    the header of the marks, whose macros are empty in a kernel that is timed."""
    source = in_one_piece(source)
    headers = [text for name, text in course_headers(source).items() if name != MARKS]
    return digest(name, canonical(source), [canonical(text) for text in headers])


def options_that_count(options: tuple[str, ...]) -> list[str]:
    """Options without paths, and without the fingerprint of headers that the kernel may not include."""
    kept, path_follows = [], False
    for option in options:
        if not path_follows and not option.startswith(("-I", "--include-path", HEADERS)):
            kept.append(option)
        path_follows = option in ("-I", "--include-path")
    return kept
