"""Measure what some waits cost on this machine's GPU, and freeze it: waits_h100.json.

    python -m research.record_waits

It needs CuPy, compute capability 9.0 and some seconds. `lines`: cycles of an SM for a load, where all warps load
the same lines, and these are new each time or not. `there_and_back`: cycles from one warp to another and back by two
mbarriers; `ready`: of a wait for a phase that has ended. `in_line`: cycles at which two warps of a warpgroup have
issued one wgmma after the other, the first warp and the last. The file goes to the folder that the environment
variable OUT names, else to tests/golden.
"""

import json
import os
from itertools import product
from pathlib import Path

import numpy as np

from course_lib import OPTIONS, cp
from cupy_or_sim import device, timing
from tests.kernels.timed.waits import (
    EACH,
    FILE,
    GROUPS,
    IN_LINE,
    LINES,
    LOADS,
    NEW,
    READY,
    READY_ONES,
    REGION,
    SAME,
    SMS,
    THERE_AND_BACK,
    TURNS,
    kernel,
)

WARPS = (1, 4, 8, 16, 32)


def of_lines(warps: int, step: int, word: int) -> float:
    """For a load of a warp."""
    made, cycles = kernel(LINES, "lines", *OPTIONS), cp.zeros((SMS, 32, 2), np.int64)
    data, out = cp.zeros(SMS * REGION + TURNS * NEW, np.float32), cp.empty(SMS * 1024, np.float32)
    best = np.inf
    for _ in range(3):
        args = data, out, np.int32(TURNS), np.int32(step), np.int32(word), cycles
        made((SMS,), (32 * warps,), args)
        noted = cp.asnumpy(cycles)[:, :warps]
        best = min(best, float(np.median(noted[:, :, 1].max(1) - noted[:, :, 0].min(1))))
    return round(best / TURNS / LOADS / warps, 2)


def of_mbarriers() -> dict[str, float]:
    out, cycles, found = cp.empty(64, np.float32), cp.zeros(1, np.int64), {}
    for _ in range(2):
        kernel(THERE_AND_BACK, "there_and_back", *device.HOPPER)((1,), (64,), (out, np.int32(TURNS), cycles))
        found["there_and_back"] = round(int(cycles[0]) / TURNS, 1)
        kernel(READY_ONES, "ready", *device.HOPPER)((1,), (32,), (cycles,))
        found["ready"] = round(int(cycles[0]) / READY, 1)
    return found


def of_wgmma() -> list[list[int]]:
    """Of the first warp and of the last, from the first one's first wgmma on."""
    made, issued = kernel(IN_LINE, "in_line", *device.HOPPER), cp.zeros((4, GROUPS * EACH), np.uint32)
    for _ in range(2):
        made((1,), (128,), (cp.empty(128, np.float32), issued), shared_mem=49152)
    times = cp.asnumpy(issued).astype(np.int64)
    return (times[[0, 3]] - times[0, 0]).tolist()


def main() -> None:
    points = [
        {"warps": warps, "step": step, "word": word, "cycles": of_lines(warps, step, word)}
        for warps, step, word in product(WARPS, (NEW, SAME), (0, 1))
    ]
    about = {"gpu": timing.name(), "date": timing.today()}
    found = {"provenance": about, **of_mbarriers(), "in_line": of_wgmma(), "lines": points}
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in found.items())
    folder = Path(os.environ.get("OUT", FILE.parent))
    (folder / FILE.name).write_text(f"{{\n{rows}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
