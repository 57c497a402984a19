"""Where the course's own files are: beside the package in the repository, inside the package when it was installed."""

import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

PACKAGE = Path(__file__).parents[1]
COMPILED = PACKAGE / "compiled"
"""What the compiler made of the lessons' kernels: a zip for each notebook, which `make outputs` writes."""
WITHOUT_COMPILER = (
    "Kernels that are not edited run without it: what the compiler makes of them ships with the course. "
    "Any other kernel has to be compiled here: `make install` installs what that needs. "
    "Where NVIDIA has none (macOS), ask a compile service on a Linux machine, or edit kernels on Binder or on Colab "
    "(docs/hosts.md)."
)
NOTEBOOKS = f"{PACKAGE.name}.notebooks"
"""As what Python knows the folder of the notebooks, in which their answers and figures stand."""


def place(name: str) -> Path:
    """The folder `notebooks` or `assets`."""
    inside = PACKAGE / name  # first: beside an installed package lie the folders of other packages
    return inside if inside.is_dir() else PACKAGE.parent / name


def modules(folder: str) -> list[str]:
    """The names of the modules in a folder of notebooks/."""
    return [each.name for each in iter_modules([str(place("notebooks") / folder)])]


def module(name: str) -> ModuleType:
    """A module that stands with the notebooks: `module("answers.lesson_02")` is notebooks/answers/lesson_02.py."""
    return import_module(f"{NOTEBOOKS}.{name}")


# In the repository that folder lies elsewhere than its name says.
sys.modules.setdefault(NOTEBOOKS, ModuleType(NOTEBOOKS)).__path__ = [str(place("notebooks"))]
