"""Predictions: what a learner said, beside what came out.

Who has said nothing is not told what came out, unless they ask: `score([...], tell=True)`. Where COURSE_TELL is set it
is told always: so run the lessons of the repository, whose outputs the book shows below a fold.
"""

import os
import re
from collections.abc import Iterable
from typing import Any

from . import logbook

TELL = "COURSE_TELL"
"""The environment variable."""
NONE_YET = "no prediction yet"
HOW = (
    "Write yours into the Predict cell above, run that cell, then this one.\n"
    "Or ask: put `, tell=True` behind the list, as in score([...], tell=True), and run this cell."
)
NEAR = 1.05
"""A number that is off by a smaller factor is as good as right."""
NEAR_WHOLE = 1.01
"""A whole number, which can be counted, is nearly right: of 240 registers 232 are one step off, and wrong."""
RATIO = 2
"""Shares and factors are below it, and may be meant in percent."""
WRITTEN = re.compile(r"\s*(\d+\.?\d*)\s*(%?)\s*")
"""A number in a text."""


def score(predictions: Iterable[tuple], tell: bool = False) -> None:
    """Print of each (question, what the learner predicted, what is right) whether it is right, or how far off, and
    below it, where a fourth text says so, why. Without a prediction, which is None, it says how to give one; with
    `tell` what is right. None in the place of what is right: there is no record."""
    missing = False
    for question, mine, right, *why in predictions:
        if given := _is_given(mine):
            logbook.keep_prediction(question, mine)
        if given or tell or os.environ.get(TELL):
            print(
                f"{question}: {_compared(mine, right) if given else f'it is {_shown(right)}'}",
                *why,
                sep="\n    ",
            )
        else:
            print(f"{question}: {NONE_YET}")
            missing = True
    if missing:
        print(HOW)


def _is_given(mine: Any) -> bool:
    """Whether the learner wrote something, and into each place where there are more."""
    return None not in mine if isinstance(mine, tuple | list) else mine is not None


def _compared(mine: Any, right: Any) -> str:
    mine, unit = _as_meant(mine, right)
    said, known = _shown(mine, unit), _shown(right, unit)
    if right is not None and (_same(mine, right) or said == known):
        return f"right, it is {known}"
    off = _factor(mine, right)
    if off and off < (NEAR if isinstance(right, float) else NEAR_WHOLE):
        return f"{'right' if isinstance(right, float) else 'nearly right'}: you said {said}; it is {known}"
    return f"you said {said}{_how_far(mine, right, off)}; it is {known}"


def _as_meant(mine: Any, right: Any) -> tuple[Any, str]:
    """The prediction as a number where a number is right, and its unit: 40.6 is 40.6 % where 0.406 is right."""
    if not _is_number(right):
        return mine, ""
    if isinstance(mine, str) and (text := WRITTEN.fullmatch(mine)):
        return float(text[1]) / (100 if text[2] else 1), text[2]
    may_be_percent = isinstance(right, float) and right < RATIO and _is_number(mine)
    if may_be_percent and _factor(mine, right) > _factor(mine / 100, right):
        return mine / 100, "%"
    return mine, ""


def _same(mine: Any, right: Any) -> bool:
    """Whether both say the same: words in any spelling, lists as tuples."""
    if isinstance(right, tuple) and isinstance(mine, tuple | list):
        return len(mine) == len(right) and all(map(_same, mine, right))
    mine_read, right_read = (re.sub(r"[\W_]", "", str(each)).casefold() for each in (mine, right))
    return mine == right or (isinstance(mine, str) and mine_read == right_read)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _factor(mine: Any, right: Any) -> float:
    """How many times one is the other; 0 where this cannot be said."""
    if not (_is_number(mine) and _is_number(right) and mine > 0 and right > 0):
        return 0
    return max(mine / right, right / mine)


def _how_far(mine: Any, right: Any, off: float) -> str:
    """How far off a number is, in words."""
    if not off:
        return ""
    side = "too high" if mine > right else "too low"
    return f" ({off:.2g} times {side})" if off >= 1.5 else f" ({100 * abs(mine / right - 1):.0f} % {side})"


def _shown(value: Any, unit: str = "") -> str:
    if value is None:
        return "not known here: no record"
    if unit:
        return f"{100 * value:.3g} {unit}"
    return f"{value:.3g}" if isinstance(value, float) and abs(value) < 1000 else str(value)
