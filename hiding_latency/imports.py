"""Imports in a learner's cells that name what has moved: rewritten, so that the old names need no home."""

import re

MOVED = {"instruments": "course_lib.instruments", "compile_service": "hiding_latency.compile_service"}
"""A module's name of old -> its name now."""
_OLD = "|".join(MOVED)
_FROM = re.compile(rf"^([ \t]*from )({_OLD})(?=[. ])", re.MULTILINE)
_WHOLE = re.compile(rf"^([ \t]*)import ({_OLD})(?= as |[ \t]*(?:$|[;#]))", re.MULTILINE)


def renewed(text: str) -> str:
    """The text of a cell, its imports with today's names: `renewed("from instruments import sass")`."""
    text = _FROM.sub(lambda found: found[1] + MOVED[found[2]], text)
    return _WHOLE.sub(
        lambda found: f"{found[1]}from {MOVED[found[2]].rpartition('.')[0]} import {found[2]}", text
    )
