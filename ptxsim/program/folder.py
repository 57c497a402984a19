"""A folder for what is made on the way. A run that was killed could not remove its own: the next one does."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from time import time
from typing import IO

PREFIX, HELD = "ptxsim-", "held"
"""Of a folder's name; a file in it that is locked as long as somebody works there."""
YOUNG = 60
"""Seconds in which a folder may be one that is only being made."""


@contextmanager
def of_a_run() -> Iterator[Path]:
    _clear_what_was_left()
    with TemporaryDirectory(prefix=PREFIX) as name, open(Path(name, HELD), "w") as held:
        _lock(held)
        yield Path(name)


def _clear_what_was_left() -> None:
    for folder in Path(gettempdir()).glob(f"{PREFIX}*"):
        try:
            if time() - folder.stat().st_mtime < YOUNG:
                continue
            with open(folder / HELD, "r+") as held:
                _lock(held)
        except OSError:  # it is somebody's, or no such folder
            continue
        shutil.rmtree(folder, ignore_errors=True)


def _lock(file: IO[str]) -> None:
    """Raises OSError where another process has it."""
    import fcntl  # Windows has none, and need not: nothing is built there

    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
