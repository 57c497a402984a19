"""How deep a text of CUDA C++ may be nested.

The compiler reads what stands within something else with its stack, and one that is full ends the whole process: no
exception says so. So brackets, and operators in a row, are counted before; C++ compilers promise 256 and no more. For
what nests without a bracket (`else if`, `a ? b : c ? d : e`) the compiler has a larger stack than a thread usually has.
"""

import re

from ..ptx.program import MAIN_FILE
from .signature import without_comments

MOST_DEEP = 500
"""Brackets that are open at a time, and operators in front of a value."""
STACK = 512 << 20
"""Bytes of address space. 30,000 operators in a row take 80 MB of it."""
_BRACKET = re.compile(r"[()\[\]{}\n]")
_OPERATORS = re.compile(rf"(?:[-+!~*&]\s*+|\b[A-Za-z_]\w*+\s*+<\s*+){{{MOST_DEEP}}}")


def too_deep(source: str) -> str:
    """The compiler's error for a text that it could not read; "" for one that it can."""
    if sum(map(source.count, "([{-+!~*&<")) <= MOST_DEEP:
        return ""
    text = without_comments(source)
    if line := _full(text):
        what = f"more than {MOST_DEEP} brackets are open here, one within the other"
    elif found := _OPERATORS.search(text):
        line, what = text.count("\n", 0, found.start()) + 1, f"{MOST_DEEP} operators, or <, stand in a row"
    else:
        return ""
    return (
        f"{MAIN_FILE}({line}): error: {what}, and more are not compiled. Give a part of it a name of its own"
    )


def _full(text: str) -> int:
    """The line in which too many brackets are open; 0 where there is none."""
    line, depth = 1, 0
    for found in _BRACKET.finditer(text):
        line += found[0] == "\n"
        depth += (found[0] in "([{") - (found[0] in ")]}")
        if depth > MOST_DEEP:
            return line
    return 0
