"""Where the course's own files are: beside the package in the repository, inside the package when it was installed."""

from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def place(name: str) -> Path:
    """The folder `notebooks` or `assets`."""
    inside = PACKAGE / name  # first: beside an installed package lie the folders of other packages
    return inside if inside.is_dir() else PACKAGE.parent / name
