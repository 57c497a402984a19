"""Files that are written whole or not at all, however the program ends."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replaced(path: Path) -> Iterator[IO[bytes]]:
    """A new file beside `path` that takes its place at the end; if something is raised it is removed, and `path` stays
    as it was. Nothing is written through a link: neither through one at `path` nor one that has the other name."""
    part = path.with_name(f".{path.name}.{threading.get_native_id()}.part")  # of this thread alone
    part.unlink(missing_ok=True)
    try:
        with open(part, "xb") as file:
            yield file
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write(path: Path, content: str | bytes) -> None:
    """Write a whole file or nothing, and the folders above it. Lines of a text end as they do there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replaced(path) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)
