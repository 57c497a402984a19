"""What is asked: JSON, read and judged before a compiler sees it."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from cupy_or_sim.device import HEADERS, HOPPER, OPTIONS

from .limits import Limits

ALLOWED = re.compile(
    r"""--?std=c\+\+(11|14|17|20)
    | -D[A-Za-z_]\w*(=[\w.+-]*)? | -U[A-Za-z_]\w*
    | --?(ftz|prec-div|prec-sqrt|fmad)=(true|false) | --?use_fast_math
    | --?maxrregcount=\d{1,3} | -lineinfo | --generate-line-info | -w | --?disable-warnings
    | (-arch|--gpu-architecture)=(sm|compute)_\d{2,3}[af]?""",
    re.VERBOSE,
)
"""Options that say how a text is compiled, and name no file."""
IN_WORDS = (
    "-std=, -D, -U, -ftz=, -prec-div=, -prec-sqrt=, -fmad=, -use_fast_math, -maxrregcount=, -w and -arch="
)
ARCH = re.compile(r"(sm|compute)_\d{2,3}[af]?")
KINDS = ("ptx", "log", "code")
LONGEST_OPTION = 200


class Refused(Exception):
    """A request that is not answered: its status, and one sentence for who asked."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True)
class Question:
    """A text to compile: to PTX, or (kind "log") to ptxas's report of it, or ("code") to machine code, listed."""

    source: str
    options: tuple[str, ...]
    names: tuple[str, ...] = ()
    kind: str = "ptx"

    @classmethod
    def of(cls, given: dict) -> "Question":
        """What `asdict` made of one, after JSON."""
        return cls(given["source"], tuple(given["options"]), tuple(given["names"]), given["kind"])


def read(body: bytes, limits: Limits) -> Question:
    """The question in a request's body. Raises Refused."""
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(400, 'The request is no JSON; send {"source": text, "options": [...]}.') from None
    if not isinstance(given, dict) or not isinstance(given.get("source"), str):
        raise Refused(400, 'The request has no source; send {"source": text, "options": [...]}.')
    if unknown := sorted(set(given) - {"source", "options", "names", "arch", "kind"}):
        raise Refused(
            400, f"The request has {_short(unknown[0])}; allowed are source, options, names, arch and kind."
        )
    options = _texts(given, "options", limits)
    for option in options:
        _check_option(option)
    if "arch" in given:
        arch = given["arch"]
        if not isinstance(arch, str) or not ARCH.fullmatch(arch):
            raise Refused(400, f"arch is {_short(arch)}; write it like sm_80 or compute_90a.")
        options += (f"-arch={arch}",)
    kind = given.get("kind", "ptx")
    if kind not in KINDS:
        raise Refused(400, f"kind is {_short(kind)}; it can be ptx, log or code, and is ptx without it.")
    return Question(_source(given["source"], limits), options, _texts(given, "names", limits), kind)


def _source(text: str, limits: Limits) -> str:
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise Refused(
            400, "The source has half of a character in it (a lone surrogate): remove it."
        ) from None
    if "\0" in text:
        raise Refused(
            400, "The source has a character with the number 0 in it, where a compiler stops: remove it."
        )
    if size > limits.text:
        raise Refused(
            413, f"The source has {size:,} bytes, and at most {limits.text:,} are compiled: shorten it."
        )
    return text


def _texts(given: dict, name: str, limits: Limits) -> tuple[str, ...]:
    texts = given.get(name, [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise Refused(400, f'{name} is no list of texts; write it like [] or ["-std=c++17"].')
    if len(texts) > limits.names:
        raise Refused(400, f"There are {len(texts)} {name}; at most {limits.names} are allowed.")
    for text in texts:
        if len(text) > LONGEST_OPTION or not text.isprintable():
            raise Refused(
                400,
                f"{_short(text)} of {name} is too long or not printable; allowed are {LONGEST_OPTION} characters.",
            )
    return tuple(texts)


def check_options(options: Iterable[str]) -> None:
    """Raise Refused at an option of a kernel that may name a file; the course's own, with its headers, are allowed."""
    for option in options:
        if option not in HOPPER:
            _check_option(option)


def _check_option(option: str) -> None:
    if not ALLOWED.fullmatch(option):
        raise Refused(
            400,
            f"The option {_short(option)} is not one of those that are allowed here: {IN_WORDS}. Leave it out.",
        )
    mine = next(each for each in OPTIONS if each.startswith(HEADERS))
    if option.startswith(HEADERS) and option != mine:
        raise Refused(
            400,
            "Your page has the course's headers in another version than this service: load the page again.",
        )


def _short(what: object) -> str:
    text = json.dumps(what)
    return text if len(text) <= 40 else f"{text[:36]}..."
