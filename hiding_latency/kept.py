"""Notebooks as they ran: each is taken as it is until something changes that its run depends on. A clone has them in
`build/ran`.

That is: its own text; the lessons whose kernels it takes; the library with headers, compiled texts and records; the
locked versions; the machine. A hash of these lies in each file. A run that failed is not kept.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path

import nbformat

from hiding_latency.copies import NO_NOTEBOOK
from hiding_latency.packages import PACKAGES
from ptxsim.ground import foreign, whole

LIBRARY = (
    *PACKAGES,
    "notebooks/answers",
    "notebooks/figures",
    "assets/measurements",
    "pyproject.toml",
    "requirements.lock",
    "*.dist-info/METADATA",
)
"""Files and folders that every run depends on; beside an installed course lie all packages, with their versions."""
_LEFT_BY_OTHERS = re.compile(r"__pycache__/|\.egg-info/")
"""What Python and pip leave beside the files."""
_OWN = "ran"
"""The name under which hash and seconds stand in a kept notebook's metadata."""


def digest(parts: Iterable[str | bytes]) -> str:
    """One hash of texts and bytes."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        whole.update(b"%d " % len(data) + data)
    return whole.hexdigest()


def digest_of_files(root: Path, names: Iterable[str]) -> str:
    """A hash of these files of a repository and of all that lies in these folders; a name may be a pattern."""
    tops = [top for name in names for top in root.glob(name)]
    found = [path for top in tops for path in (top.rglob("*") if top.is_dir() else [top]) if path.is_file()]
    files = sorted(path for path in found if not _LEFT_BY_OTHERS.search(path.as_posix()))
    return digest(part for path in files for part in (path.relative_to(root).as_posix(), path.read_bytes()))


def keys(root: Path, notebooks: list[Path], machine: str) -> dict[Path, str]:
    """For each notebook a hash of all that its run depends on."""
    common = [digest_of_files(root, LIBRARY), machine]
    texts = {path: _text(path) for path in notebooks}
    lessons = [path for path in notebooks if path.parent.name != "exercises"]
    return {
        path: digest(
            [*common, *(texts[other] for other in lessons if _takes(path, texts[path], other)), texts[path]]
        )
        for path in notebooks
    }


def load(place: Path, key: str) -> tuple[nbformat.NotebookNode, float] | None:
    """The notebook kept in the file `place`, and the seconds that it ran; None without one, or with another key."""
    try:
        notebook = nbformat.read(place, as_version=4)
        kept = notebook.metadata.pop(_OWN)
        return (notebook, float(kept["seconds"])) if kept["key"] == key else None
    except (OSError, *NO_NOTEBOOK):
        return None


def save(place: Path, key: str, notebook: nbformat.NotebookNode, seconds: float) -> None:
    """Keep a notebook as it ran; a whole file or nothing."""
    kept = nbformat.from_dict(notebook)
    kept.metadata[_OWN] = {"key": key, "seconds": seconds}
    whole.write(place, nbformat.writes(kept))


def _text(path: Path) -> str:
    """A notebook without what running it writes; "" for a file that is no notebook."""
    try:
        notebook = foreign.json_of(foreign.text_of(path))
        for cell in notebook["cells"]:
            cell.pop("outputs", None), cell.pop("execution_count", None)
    except (OSError, *NO_NOTEBOOK):
        return ""
    return json.dumps(notebook)


def _takes(path: Path, text: str, lesson: Path) -> bool:
    """Whether a notebook uses kernels of a lesson: it names the lesson, or is its page of exercises."""
    named = rf"\"{lesson.stem}\"" in text
    return path != lesson and (named or path.stem == lesson.stem)
