"""Where the lessons are, and where the learner's copies: in a clone, and with an installed course."""

from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from course_lib.lessons import folders, sources
from hiding_latency.packages import pyproject

ROOT = Path(__file__).resolve().parents[1]
"""The clone; of an installed course the folder of all packages."""
FOLDER, NAME = "my_lessons", "hiding-latency"
INSTALLED = folders.PACKAGE in sources.NOTEBOOKS.parents


@dataclass(frozen=True)
class Place:
    """The lessons, `notebooks`, and a learner's copies of them, `folder`."""

    notebooks: Path
    folder: Path
    version: str
    """The course's, such as "1.0.0"."""
    root: Path
    """What JupyterLab shows."""
    ran: Path
    """Where notebooks are kept as they ran."""
    alone: bool
    """Whether the copies lie alone, with no clone around them to which their links could lead."""


def clone(root: Path) -> Place:
    """A clone, and the copies in it."""
    return Place(
        root / "notebooks", root / FOLDER, version_of(root), root, root / "build" / "ran", alone=False
    )


def chosen(folder: Path) -> Place:
    """Copies in a folder that the learner chose, with no clone around them."""
    version = metadata.version(NAME) if INSTALLED else version_of(ROOT)
    return Place(sources.NOTEBOOKS, folder, version, folder, folder / ".ran", alone=True)


def here(folder: str | None = None) -> Place:
    """The place of who calls the command; without a folder its copies are in my_lessons."""
    if folder is None and not INSTALLED:
        return clone(ROOT)
    return chosen(Path(folder or FOLDER).absolute())


def version_of(root: Path) -> str:
    """The version of the course in a clone."""
    return str(pyproject(root)["project"]["version"])
