"""Files that several processes may use: one at a time, and whole or not at all. Needs nothing but Python, since
`tools/install.py` runs before anything is installed."""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO


def _took(file: IO) -> bool:
    """Take the lock of an open file, unless another process has it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return True  # a file system without locks: better two runs at once than none
    return True


@contextlib.contextmanager
def alone(path: Path, busy: str) -> Iterator[None]:
    """Hold a lock; when another process holds it, say `busy` and wait. It goes with the process, however that ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a") as file:
        if not _took(file):
            print(busy, flush=True)
            while not _took(file):
                time.sleep(0.2)
        yield


def write_whole(path: Path, text: str) -> None:
    """Write a whole file or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)
