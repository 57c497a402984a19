"""Some functions of a course header, folded: those that are new in a lesson, in the header's own words."""

import html
import re
from dataclasses import dataclass

from cupy_or_sim.headers import course_header

FUNCTION = r"(?:^//.*\n)*^__device__ [^\n]*\b{}(?s:.*?)^\}}\n"
"""With the comment above it, up to the first brace at the margin."""
NAME = re.compile(r"\w+")


@dataclass(frozen=True)
class Functions:
    """What `header_functions` returns: a notebook shows it folded."""

    header: str
    names: tuple[str, ...]
    text: str

    def __repr__(self) -> str:
        return f"{', '.join(self.names)}: from course/{self.header}"

    def _repr_html_(self) -> str:
        title, text = (html.escape(each) for each in (repr(self), self.text))
        style = "white-space:pre;overflow-x:auto;line-height:1.35"
        return f"<details><summary>{title}</summary><pre style='{style}'>{text}</pre></details>"


def header_functions(header: str, *begins: str) -> Functions:
    """The functions whose names, or names and parameters, begin so: `header_functions("attention.cuh", "pack(")`.
    Raises ValueError for one that the header does not have, or has twice."""
    source = course_header(header)
    found = [re.findall(FUNCTION.format(re.escape(begin)), source, re.MULTILINE) for begin in begins]
    for begin, texts in zip(begins, found, strict=True):
        if len(texts) != 1:
            raise ValueError(f"{header} has {len(texts)} functions that begin with {begin!r}")
    names = tuple(match[0] for begin in begins if (match := NAME.match(begin)))
    return Functions(header, names, "\n".join(text for (text,) in found).rstrip("\n"))
