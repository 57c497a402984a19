"""Files that several processes may use, one at a time. Needs nothing but Python, since `tools/install.py` runs before
anything is installed."""

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


def _own(path: str, flags: int) -> int:
    """No link that somebody laid there: the file that it leads to would be made."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0))


@contextlib.contextmanager
def alone(path: Path, busy: str) -> Iterator[None]:
    """Hold a lock; when another process holds it, say `busy` and wait. It goes with the process, however that ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", opener=_own) as file:
        if not _took(file):
            print(busy, flush=True)
            while not _took(file):
                time.sleep(0.2)
        yield
