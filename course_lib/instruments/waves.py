"""Which SM a kernel's blocks run on, and when: the waves of a grid, the last one's emptiness, persistent blocks."""

import numpy as np

from cupy_or_sim import limits, timing
from cupy_or_sim.kernel import Kernel
from cupy_or_sim.launch import STANDARD, Launch

from ..check.job import Job
from ..check.problem import Problem
from ..measure import model as clock
from ..measure import records
from ..timelines.watched import BEGIN_NS, END_NS, SM, noted
from .spans import Spans


def waves(kernel: Kernel, gemm: Problem, launch: Launch = STANDARD, model: bool = False) -> Spans:
    """Each block of a launch as a bar on its SM, from its begin to its end: noted now on a GPU, recorded elsewhere.

    `kernel` is the kernel that `Gemm.check` takes. Two marks a block: its text gets the object of `course/waves.cuh`.
    `model`: what the clock says, on every machine; all SMs are alike in it.
    """
    job = Job.given(kernel, gemm, launch)
    title = f"{kernel.name}, {' x '.join(map(str, (gemm.M, gemm.N, gemm.K)))} {gemm.dtype}"
    if model:
        played = clock.by_machine_code(job)
        rows = _by_sm(played.blocks / [1, played.clock_mhz, played.clock_mhz])
        origin = f", {played.origin}" * bool(played.origin)
        return Spans(title, f"modelled for an {played.gpu.name}{origin}", {kernel.name: rows})
    key = records.kernel_key(job)
    if limits.runs_here(kernel, launch):
        rows = spans_of(noted(job))
        entry = records.about(job) | {"date": timing.today(), "spans": rows.round(1).tolist()}
        records.remember("waves", {key: entry})
        return Spans(title, f"measured now on {timing.name()}, {timing.today()}", {kernel.name: rows})
    kept = records.find("waves", key)
    if not kept:
        return Spans(title, "no record of this kernel as it stands now: it needs a GPU to be measured", {})
    return Spans(title, f"recorded on {kept['gpu']}, {kept['date']}", {kernel.name: np.array(kept["spans"])})


def spans_of(rows: np.ndarray) -> np.ndarray:
    """(SM, begin, end) of each block in microseconds, from the first begin on, by SM and begin."""
    begin = rows[:, BEGIN_NS].min()
    found = np.stack(
        (rows[:, SM], (rows[:, BEGIN_NS] - begin) / 1000, (rows[:, END_NS] - begin) / 1000), axis=1
    )
    return _by_sm(found)


def _by_sm(rows: np.ndarray) -> np.ndarray:
    """By SM and begin."""
    return rows[np.lexsort((rows[:, 1], rows[:, 0]))]
