"""What both compilers have in common: they may be missing, and their parameters have other names in PTX."""

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from types import ModuleType

from ..compiler.cache import ToolMissing
from ..front.kernel import Kernel, from_ptx
from ..gpus import Gpu

Declared = tuple[str, bool]
"""A parameter's name, as messages tell it, and whether it is a pointer."""


class CompilerMissing(ToolMissing):
    """The compiler of a kernel in Python is not installed here; the message says what to do."""


def compiler(module: str, package: str) -> ModuleType:
    """A compiler's module. Raises CompilerMissing where its package is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise CompilerMissing(
            f"{module} compiles this kernel, and cannot be imported ({error}): pip install {package}"
        ) from error


def named(ptx: str, name: str, declared: Sequence[Declared]) -> Kernel:
    """The only kernel of a PTX, by the names that its author gave to it and to its parameters."""
    return replace(from_ptx(ptx), name=name, declared=tuple(declared))


def capability(gpu: Gpu) -> tuple[int, int]:
    """A GPU's compute capability: (9, 0) of an H100."""
    return divmod(int(gpu.arch.removeprefix("sm_").rstrip("af")), 10)
