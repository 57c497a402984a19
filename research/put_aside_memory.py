"""Kernels that are no matrix products (tests/kernels/timed/memory.py), modelled and measured: how far is the clock from
a GPU?

`python -m research.put_aside_memory` models them, and writes memory_modelled.json in tests/golden; on a GPU it measures
them, and writes its file. The first was committed before the kernels were timed.
"""

import json
import time

import numpy as np

from course_lib import cp
from cupy_or_sim import device, timing
from ptxsim.gpus import file_name
from tests.kernels.golden import FOLDER
from tests.kernels.timed import memory
from tests.kernels.timed.memory import Floats, Point

MODELLED = FOLDER / "memory_modelled.json"
REPEATS = 20


def modelled(point: Point) -> dict:
    """Microseconds by the model, and how long it took; or why it cannot follow the kernel."""
    start = time.monotonic()
    try:
        us = memory.model(point)
    except Exception as error:  # each of them is a result
        return {"us": None, "why": f"{type(error).__name__}: {error}"[:200]}
    return {"us": round(us, 2), "seconds": round(time.monotonic() - start, 1)}


def measured(point: Point) -> dict:
    """Microseconds on this GPU, the median and its spread."""
    kernel, args = memory.kernel(point), []
    for each in point.args_at(point.turns):
        args.append(cp.random.random(each.count, dtype=np.float32) if isinstance(each, Floats) else each)

    def run() -> None:
        kernel(point.grid, point.block, tuple(args))

    p10, us, p90 = np.percentile(timing.burst(run, REPEATS), (10, 50, 90)).round(2).tolist()
    return {"us": us, "spread": [p10, p90], "mhz": timing.sm_clock_mhz(run, us)}


def main() -> None:
    gpu = device.backend() == "cupy"
    found: dict[str, dict] = {}
    for point in memory.points():
        found[point.name] = (measured if gpu else modelled)(point)
        print(point.name, found[point.name], flush=True)
    about = {"gpu": timing.name(), "date": timing.today()} if gpu else {"gpu": memory.GPU}
    path = FOLDER / f"memory_{file_name(timing.name())}" if gpu else MODELLED
    path.write_text(json.dumps(about | {"kernels": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
