"""The figures of single lessons: lesson_NN.py has those of lesson NN, one function each."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from .. import style


def figure(name: str, *values: object, **options: object) -> None:
    """Show a lesson's figure: `figure("02.turn", ...)` is `turn(...)` of lesson_02.py, which returns the figure and its
    description in words. Raises ValueError for a name that is none."""
    lesson, _, drawn = name.partition(".")
    room = f"{__name__}.lesson_{lesson}"
    module = import_module(room) if lesson.isalnum() and find_spec(room) else None
    made = getattr(module, drawn, None)
    if made is None:
        known = (
            [
                each
                for each, value in vars(module).items()
                if getattr(value, "__module__", "") == room and each[0] != "_"
            ]
            if module
            else []
        )
        raise ValueError(
            f"there is no figure {name!r}"
            + (f"; those of lesson {lesson}: {', '.join(known)}" if known else "")
        )
    style.show(*made(*values, **options))
