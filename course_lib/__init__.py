"""The small library that the notebooks lean on. `cp` is looked up when it is used: CuPy is large."""

from . import device
from .bench import benchmark, progress
from .checklist import checklist
from .device import HOPPER, OPTIONS, only_on, show_env
from .exercises import check_exercise, score
from .gemm import Gemm
from .lessons import edited, kernel_source, lesson_kernel, show_diff
from .logbook import show_progress
from .matmul import matmul
from .profile import profile
from .sass import sass
from .simulate import simulate
from .simulator import HazardError
from .spans import spans
from .timed import timed
from .timeline import timeline
from .tma import tensor_map
from .tune import tune, tuned

__all__ = [
    "HOPPER", "OPTIONS", "Gemm", "HazardError", "benchmark", "check_exercise", "checklist", "cp", "edited",
    "kernel_source", "lesson_kernel", "matmul", "only_on", "profile", "progress", "sass", "score", "show_diff",
    "show_env", "show_progress", "simulate", "spans", "tensor_map", "timed", "timeline", "tune", "tuned",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name != "cp":
        raise AttributeError(f"course_lib has no {name!r}; it has {', '.join(__all__)}")
    return device.cp


def __dir__() -> list[str]:
    return __all__
