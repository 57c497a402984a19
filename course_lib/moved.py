"""What moved: what notebooks of versions 1.1 and 2.0 import works through 2.x, and says once where it is now.

Nothing here is imported before somebody asks for it, so that the course does not depend on what stands above it.
"""

import sys
import warnings
from functools import cache, partial
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

COURSE = __name__.partition(".")[0]
NAMES = {
    "HazardError": "ptxsim",
    "checklist": "instruments",
    "cublas": "cupy_or_sim",
    "device": "cupy_or_sim",
    "matmul": "matmul",
    "matmul_source": "matmul",
    "ncu": "instruments",
    "profile": "instruments",
    "progress": "course_lib.so_far",
    "sass": "instruments",
    "spans": "instruments",
    "tensor_map": "cupy_or_sim",
    "timed": "instruments",
    "tune": "matmul",
    "tuned": "matmul",
    "waves": "instruments",
}
"""Name of `course_lib` -> where it is now; behind a dot what it is called there, if that is another word."""
MODULES = {
    "backend": "cupy_or_sim",
    "backend.colab": "course_lib.lessons.colab",
    "backend.gpu": "cupy_or_sim.timing",
    "backend.ncu": "course_lib.measure.ncu",
    "device": "cupy_or_sim.device",
    "explore": "course_lib.draw.explore",
    "instruments": "instruments",
    "matmul": "matmul",
    "measure.k_block": "instruments",
    "measure.loads_ahead": "instruments",
    "pictures": "course_lib.draw",
    "simulator": "ptxsim",
    "simulator.instructions": "ptxsim.instructions",
    "simulator.instructions.tensor": "ptxsim.instructions.tensor",
    "style": "cupy_or_sim.style",
}
"""Module below `course_lib` -> the one that has its names now."""
CALLS = {"matmul.hopper_source": ("matmul_source", 7)}
"""Function of an old module -> the one that took its place, and what it is called with."""


def name(old: str) -> object:
    """What `course_lib` had under this name, one of NAMES."""
    package, _, renamed = NAMES[old].partition(".")
    found = getattr(import_module(package), renamed or old)
    _say(f"{COURSE}.{old}", f"from {package} import {renamed or old}", above=4)
    return found


class Moved(MetaPathFinder, Loader):
    """Finds the old modules: each has the names of the new one."""

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        old = name.removeprefix(f"{COURSE}.")
        return ModuleSpec(name, self, is_package=True) if old != name and old in MODULES else None

    def exec_module(self, module: ModuleType) -> None:
        old = module.__name__.removeprefix(f"{COURSE}.")

        def found(name: str) -> object:
            if name.startswith("__"):
                raise AttributeError(name)
            if old in NAMES:  # Python has put this module where `course_lib` has the name of a function
                vars(sys.modules[COURSE]).pop(old, None)
            now, *called_with = CALLS.get(f"{old}.{name}", (name,))
            value = getattr(import_module(MODULES[old]), now)
            _say(f"{module.__name__}.{name}", f"from {MODULES[old]} import {now}", above=3)
            return partial(value, *called_with) if called_with else value

        vars(module)["__getattr__"] = found


@cache
def _say(old: str, new: str, above: int) -> None:
    words = f"{old} has moved: `{new}`. The old way works through version 2."
    warnings.warn(words, FutureWarning, stacklevel=above)


sys.meta_path.insert(0, Moved())
