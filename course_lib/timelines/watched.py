"""A kernel whose blocks note when they run, and on which SM: two marks a block."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from cupy_or_sim import device

from ..check.job import Job
from .first_statement import with_first

_HEADER = "#include <course/waves.cuh>\n"
BEGIN_NS, END_NS, BEGIN_CYCLE, END_CYCLE, SM = range(5)  # of a row in waves.cuh


def noted(job: Job) -> np.ndarray:
    """What the blocks of a launch note, int64 [block][5], as waves.cuh says: in the third of three launches."""
    run, buffer = watched(job)
    for _ in range(2):
        run()
    buffer.fill(0)
    run()
    return device.cp.asnumpy(buffer).astype(np.int64)


def watched(job: Job) -> tuple[Callable[[], None], Any]:
    """A function that launches the kernel with marks, and the array on the GPU that they are written to."""
    cp, kernel, gemm = device.cp, job.kernel, job.gemm
    buffer = cp.zeros((prod(gemm.grid(job.launch)), 5), dtype=np.uint64)
    with_them = cp.RawKernel(with_marks(kernel.code, kernel.name), kernel.name, options=kernel.options)
    return gemm.prepare(with_them, gemm.inputs, job.launch, (buffer,))[1], buffer


def with_marks(source: str, name: str) -> str:
    """The source of a kernel that notes when its blocks run, in an array that is its last parameter."""
    return _HEADER + with_first(source, name, "Wave wave(wave_marks);", "unsigned long long* wave_marks")


def cycles(rows: np.ndarray) -> np.ndarray:
    """From the begin to the end of each block."""
    return rows[..., END_CYCLE] - rows[..., BEGIN_CYCLE]


def mhz(rows: np.ndarray) -> np.ndarray:
    """The SM clock while each block ran."""
    return 1000 * cycles(rows) / (rows[..., END_NS] - rows[..., BEGIN_NS])
