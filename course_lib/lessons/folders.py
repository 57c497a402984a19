"""Where the course's own files are: beside the package in the repository, inside the package when it was installed."""

from pathlib import Path

PACKAGE = Path(__file__).parents[1]
COMPILED = PACKAGE / "compiled"
"""What the compiler made of the lessons' kernels: a zip for each notebook, which `make outputs` writes."""
WITHOUT_COMPILER = (
    "Kernels that are not edited run without it: what the compiler makes of them ships with the course. "
    "Any other kernel has to be compiled here: `make install` installs what that needs. "
    "Where NVIDIA has none (macOS), ask a compile service on a Linux machine, or edit kernels on Binder or on Colab "
    "(docs/hosts.md)."
)


def place(name: str) -> Path:
    """The folder `notebooks` or `assets`."""
    inside = PACKAGE / name  # first: beside an installed package lie the folders of other packages
    return inside if inside.is_dir() else PACKAGE.parent / name
