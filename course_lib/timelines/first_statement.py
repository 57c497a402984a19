"""The text of a kernel with a statement more at its begin."""

import re


def with_first(source: str, name: str, statement: str, parameter: str = "") -> str:
    """The source of kernel `name` with a first statement, and with one parameter more at the end."""
    found = re.search(rf"__global__[^;{{}}]*?\b{name}\s*\(", source)
    if not found:
        raise ValueError(f"no __global__ function {name} in the source")
    close = _closing(source, found.end())
    body = source.index("{", close) + 1
    last = f", {parameter}" if parameter else ""
    return f"{source[:close]}{last}{source[close:body]} {statement}{source[body:]}"


def _closing(source: str, start: int) -> int:
    """Where the parenthesis closes that was opened before `start`."""
    depth = 1
    for at in range(start, len(source)):
        depth += {"(": 1, ")": -1}.get(source[at], 0)
        if not depth:
            return at
    raise ValueError("a parenthesis of the kernel's parameters is not closed")
