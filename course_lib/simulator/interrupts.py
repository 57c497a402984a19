"""What a notebook shows when something ends: a message, and no traceback full of paths."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class MessageOnly:
    """Mixed into an exception: a notebook shows its message, and no traceback full of paths."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


class Interrupted(MessageOnly, KeyboardInterrupt):
    """Ctrl-C, or the stop button of a notebook."""


@contextmanager
def interruptible(what: str) -> Iterator[None]:
    """A Ctrl-C meanwhile is raised with the words what it stopped."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(f"{what} was stopped") from None
