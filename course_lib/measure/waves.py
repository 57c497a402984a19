"""Which SM a kernel's blocks run on, and when: the waves of a grid, the last one's emptiness, persistent blocks."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from cupy_or_sim import device, limits, timing
from cupy_or_sim.given import check_launched
from cupy_or_sim.launch import STANDARD, Launch

from . import records
from .first_statement import with_first
from .spans import Spans

_HEADER = "#include <course/waves.cuh>\n"
BEGIN_NS, END_NS, BEGIN_CYCLE, END_CYCLE, SM = range(5)  # of a row in waves.cuh


def waves(kernel, gemm, launch: Launch = STANDARD) -> Spans:
    """Each block of a launch as a bar on its SM, from its begin to its end: noted now on a GPU, recorded elsewhere.

    `kernel` is the kernel that `Gemm.check` takes. Two marks a block: its text gets the object of `course/waves.cuh`.
    """
    check_launched(kernel, launch)
    title = f"{kernel.name}, {' x '.join(map(str, (gemm.M, gemm.N, gemm.K)))} {gemm.dtype}"
    key = records.kernel_key(kernel, gemm, launch)
    if limits.runs_here(kernel, launch):
        rows = spans_of(noted(kernel, gemm, launch))
        entry = records.about(kernel, gemm, launch) | {
            "date": timing.today(),
            "spans": rows.round(1).tolist(),
        }
        records.remember("waves", {key: entry})
        return Spans(title, f"measured now on {timing.name()}, {timing.today()}", {kernel.name: rows})
    entry = records.find("waves", key)
    if not entry:
        return Spans(title, "no record of this kernel as it stands now: it needs a GPU to be measured", {})
    return Spans(
        title, f"recorded on {entry['gpu']}, {entry['date']}", {kernel.name: np.array(entry["spans"])}
    )


def noted(kernel, gemm, launch: Launch) -> np.ndarray:
    """What the blocks of a launch note, int64 [block][5], as waves.cuh says: in the third of three launches."""
    run, buffer = watched(kernel, gemm, launch)
    for _ in range(2):
        run()
    buffer.fill(0)
    run()
    return device.cp.asnumpy(buffer).astype(np.int64)


def watched(kernel, gemm, launch: Launch) -> tuple[Callable[[], None], Any]:
    """A function that launches the kernel with marks, and the array on the GPU that they are written to."""
    cp = device.cp
    buffer = cp.zeros((prod(gemm.grid(launch)), 5), dtype=np.uint64)
    with_them = cp.RawKernel(with_marks(kernel.code, kernel.name), kernel.name, options=kernel.options)
    return gemm.prepare(with_them, gemm.inputs, launch, (buffer,))[1], buffer


def with_marks(source: str, name: str) -> str:
    """The source of a kernel that notes when its blocks run, in an array that is its last parameter."""
    return _HEADER + with_first(source, name, "Wave wave(wave_marks);", "unsigned long long* wave_marks")


def spans_of(rows: np.ndarray) -> np.ndarray:
    """(SM, begin, end) of each block in microseconds, from the first begin on, by SM and begin."""
    begin = rows[:, BEGIN_NS].min()
    found = np.stack(
        (rows[:, SM], (rows[:, BEGIN_NS] - begin) / 1000, (rows[:, END_NS] - begin) / 1000), axis=1
    )
    return found[np.lexsort((found[:, 1], found[:, 0]))]


def cycles(rows: np.ndarray) -> np.ndarray:
    """From the begin to the end of each block."""
    return rows[..., END_CYCLE] - rows[..., BEGIN_CYCLE]


def mhz(rows: np.ndarray) -> np.ndarray:
    """The SM clock while each block ran."""
    return 1000 * cycles(rows) / (rows[..., END_NS] - rows[..., BEGIN_NS])
