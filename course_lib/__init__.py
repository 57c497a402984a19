"""The small library that the notebooks lean on. `cp` is looked up when it is used: CuPy is large."""

import os

# The products that results are compared with are small, and OpenBLAS's other threads would spin after each one: 0.1 s
# of CPU time, in a check nine times. Its threads start when NumPy is imported, which is behind this line.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from cupy_or_sim import device
from cupy_or_sim.device import HOPPER, OPTIONS, only_on, show_env
from cupy_or_sim.headers import course_header
from cupy_or_sim.launch import Launch
from cupy_or_sim.limits import this_gpu
from cupy_or_sim.simulate import simulate
from cupy_or_sim.tensor_maps import tensor_map
from cupy_or_sim.timing import cublas
from ptxsim import HazardError
from ptxsim.compiler import cache

from . import draw
from .check.gemm import Gemm
from .exercises.logbook import show_progress
from .exercises.verdicts import check_exercise, score
from .lessons import folders, lite
from .lessons.sources import edited, kernel_source, lesson_kernel, show_diff
from .matmul.matmul import matmul, matmul_source
from .matmul.tune import tune, tuned
from .measure.bench import benchmark, so_far
from .measure.checklist import checklist
from .measure.ncu import ncu
from .measure.profile import profile
from .measure.sass import sass
from .measure.spans import spans
from .measure.timed import timed
from .measure.timeline import timeline
from .measure.waves import waves

cache.use(folders.COMPILED, folders.WITHOUT_COMPILER)
if lite.HERE:
    lite.prepare()

__all__ = [
    "HOPPER", "OPTIONS", "Gemm", "HazardError", "Launch", "benchmark", "check_exercise", "checklist", "course_header",
    "cp", "cublas", "draw", "edited", "kernel_source", "lesson_kernel", "matmul", "matmul_source", "ncu", "only_on",
    "profile", "sass", "score", "show_diff", "show_env", "show_progress", "simulate", "so_far", "spans", "tensor_map",
    "this_gpu", "timed", "timeline", "tune", "tuned", "waves",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name != "cp":
        raise AttributeError(f"course_lib has no {name!r}; it has {', '.join(__all__)}")
    return device.cp


def __dir__() -> list[str]:
    return __all__
