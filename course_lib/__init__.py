"""The small library that the notebooks lean on. `cp` is looked up when it is used: CuPy is large."""

import os

# The products that results are compared with are small, and OpenBLAS's other threads would spin after each one: 0.1 s
# of CPU time, in a check nine times. Its threads start when NumPy is imported, which is behind this line.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import cupy_or_sim
from cupy_or_sim import HOPPER, OPTIONS, Launch, course_header, only_on, simulate, this_gpu
from cupy_or_sim.device import HEADERS
from ptxsim.compiler import cache

from . import draw
from .check.gemm import Gemm
from .exercises.logbook import show_progress
from .exercises.predictions import score
from .exercises.verdicts import check_exercise
from .lessons import folders
from .lessons.environment import show_env
from .lessons.sources import body, edited, kernel_source, lesson_kernel, show_diff
from .measure.bench import benchmark, so_far
from .timelines.timeline import timeline

cache.use(folders.COMPILED, folders.WITHOUT_COMPILER, idle=HEADERS)

__all__ = [
    "HOPPER", "OPTIONS", "Gemm", "Launch", "benchmark", "body", "check_exercise", "course_header", "cp", "draw",
    "edited", "kernel_source", "lesson_kernel", "only_on", "score", "show_diff", "show_env", "show_progress",
    "simulate", "so_far", "this_gpu", "timeline",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name == "cp":
        return cupy_or_sim.cp
    raise AttributeError(f"course_lib has no {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return __all__
