"""What a right answer can do without: a remark behind "passed", which no test takes for a mistake."""

from collections.abc import Callable
from typing import Any

from course_lib.check.verdict import CheckFailed
from ptxsim.observe.events import Arrive, Barrier

from .common import Warps, without_each_barrier


def needless_barrier(kernel: Any, warps: Warps, enough: int, check: Callable[[Any], object]) -> str | None:
    """Which barrier of a kernel can go, in words: without it `check` raises nothing. It is asked only where one of the
    `warps` comes to more barriers than are `enough`."""
    meetings = max(sum(isinstance(event, Barrier | Arrive) for event in mine) for mine in warps)
    if meetings <= enough:
        return None
    lines = [line for line, source in without_each_barrier(kernel.code) if _is_right(check, kernel, source)]
    if not lines:
        return None
    which = "the barrier" if len(lines) == 1 else "one of the barriers"
    *others, last = dict.fromkeys(lines)
    where = f"lines {', '.join(map(str, others))} and {last}" if others else f"line {last}"
    return f"But {which} in {where} can go: all is right without it."


def _is_right(check: Callable[[Any], object], kernel: Any, source: str) -> bool:
    """Whether the check raises nothing for a kernel with this source."""
    try:
        check(type(kernel)(source, kernel.name, options=kernel.options))
    except CheckFailed:
        return False
    return True
