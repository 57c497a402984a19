"""The figures of single lessons: notebooks/figures/lesson_NN.py has those of lesson NN, one function each."""

from collections.abc import Callable
from inspect import isfunction

from cupy_or_sim import style

from ..lessons import folders


def figure(name: str, *values: object, **options: object) -> None:
    """Show a lesson's figure: `figure("02.turn", ...)` is `turn(...)` of lesson_02.py, which returns the figure and its
    description in words. Raises ValueError for a name that is none."""
    lesson, _, drawn = name.partition(".")
    known = _figures(lesson)
    if drawn not in known:
        raise ValueError(
            f"there is no figure {name!r}; those of lesson {lesson}: {', '.join(known) or 'none'}"
        )
    style.show(*known[drawn](*values, **options))


def _figures(lesson: str) -> dict[str, Callable]:
    """The figures of a lesson by name: the public functions that its file defines."""
    name = f"lesson_{lesson}"
    if name not in folders.modules("figures"):
        return {}
    room = folders.module(f"figures.{name}")
    return {
        name: value
        for name, value in vars(room).items()
        if isfunction(value) and value.__module__ == room.__name__ and not name.startswith("_")
    }
