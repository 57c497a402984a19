"""Measure the kernels that are put aside for the clock, on this machine's GPU, and freeze what they take.

    python -m tests.golden.record_put_aside [folder]

Right first: each is checked on a small problem, with integers and with random numbers. Then bursts of launches, queued
behind a spinning kernel; and the SM clock meanwhile. Writes put_aside_<gpu>.json, and goes on where it was stopped.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np

from course_lib import Gemm
from course_lib.gpu import timing
from course_lib.measure import records
from tests.kernels.put_aside import Point, points

HERE = Path(__file__).parent
LAUNCHES = 30


def source_of(point: Point) -> str:
    """What a measurement is of, as a number: another text is another kernel."""
    text = point.kernel.code + repr(point.launch)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def check(point: Point) -> None:
    """Stop with the verdict where a kernel's result is wrong."""
    M, N, K = point.launch.tile
    few = point.launch.small()
    Gemm(M, N, max(2 * K, 16), point.gemm.dtype).check(point.kernel, few)


def measured(point: Point) -> dict:
    """Microseconds of a launch in bursts, the spread of eight of ten, and the SM clock."""
    _, run = point.gemm.prepare(point.kernel, point.gemm.inputs, point.launch)
    us = timing.burst(run, LAUNCHES)
    middle = float(np.median(us))
    return {
        "source": source_of(point),
        "us": round(middle, 2),
        "spread": [round(float(each), 2) for each in np.percentile(us, (10, 90))],
        "mhz": timing.sm_clock_mhz(run, middle),
        "registers": point.kernel.num_regs,
    }


def main(folder: Path) -> None:
    name = records.file_name(timing.name()).removeprefix("nvidia-").removesuffix(".json")
    path = folder / f"put_aside_{name}.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    found["provenance"] = timing.provenance()
    kernels = found.setdefault("kernels", {})
    for point in points():
        if kernels.get(point.name, {}).get("source") == source_of(point):
            continue
        check(point)
        kernels[point.name] = measured(point)
        path.write_text(json.dumps(found, indent=1) + "\n")
        print(f"{point.name}: {kernels[point.name]['us']} us", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
