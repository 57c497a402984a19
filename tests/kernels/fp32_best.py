"""Two kernels of lesson 03, with their launches: the double buffer, and the fastest float32 product of the course.

The notebook is their only home. Any number of k-tiles will do, one too. docs/tuning.md tells what was tried.
"""

from __future__ import annotations

from course_lib import kernel_source
from tests.lessons.lesson_03 import LAUNCHES, NOTEBOOK

from .pipelined import Pipelined


def _kernel(name: str, stages: int) -> Pipelined:
    launch, source = LAUNCHES[name], kernel_source(NOTEBOOK, name)
    shared_mem = launch.get("shared_mem", 0)
    return Pipelined(name, source, name, launch["tile"], launch["threads"], shared_mem, "float32", stages)


DOUBLE_BUFFERED, FP32_BEST = _kernel("double_buffer", 2), _kernel("fp32_best", 3)
FP32_KERNELS = (DOUBLE_BUFFERED, FP32_BEST)
