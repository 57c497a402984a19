"""How near the clock on machine code is to a GPU, in all that was measured: `python -m research.clock_beside_gpu PART`.

PART is small (what `make calibrate` runs), waits, copies, behind, math (the kernels of tests/kernels/timed), sizes (the
lessons' kernels at 2048^3), others (at all other sizes that are recorded) or stalls (their lines and reasons).
"""

import json
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from course_lib import Gemm, kernel_source
from course_lib.check.job import Job
from course_lib.measure import model, records
from cupy_or_sim import keys
from ptxsim.clock import Untraceable
from tests.lessons import GEMMS, kernel
from tests.ptxsim.clock import (
    test_copies_beside_loads,
    test_loads_behind_copies,
    test_loads_beside_math,
    test_sm,
    test_smaller,
    test_stall_reasons,
    test_waits,
)


def small() -> None:
    """Each small kernel: by what part the model is longer, for each number of warps."""
    found = {each.name: test_sm.off(each.name) for each in test_sm.WALKED}
    for name, off in found.items():
        print(f"{name:28} {'  '.join(f'{warps}: {part:+.0%}' for warps, part in off.items())}")
    every = [abs(part) for off in found.values() for part in off.values()]
    print(f"{len(every)} points, median {np.median(every):.1%}, mean {np.mean(every):.1%}")


def points(every: list[dict], modelled: Callable[..., float], what: str = "cycles", digits: int = 0) -> None:
    """Each point, what the clock says, and how far off that is."""
    errors = []
    for point in every:
        says = modelled(**point)
        errors.append(says / point[what] - 1)
        print(*point.values(), f"{says:.{digits}f} {errors[-1]:+.1%}", flush=True)
    print(f"{len(errors)} points, mean error {np.abs(errors).mean():.1%}, most {np.abs(errors).max():.1%}")


def copies() -> None:
    points(test_copies_beside_loads.POINTS, test_copies_beside_loads.modelled)


def behind() -> None:
    points(test_loads_behind_copies.POINTS, test_loads_behind_copies.modelled)


def math() -> None:
    points(test_loads_beside_math.POINTS, test_loads_beside_math.modelled, "share", 3)


def waits() -> None:
    """On the GPU, then in the model."""
    known, ready = test_waits.KNOWN, test_waits.ready
    for point in known["lines"]:
        print(point, f"{test_waits.of_lines(**point):.2f}", flush=True)
    print("there and back", known["there_and_back"], test_waits.there_and_back())
    print("ready", known["ready"], (ready(16) - ready(8)) / 8)
    for gpu, played in zip(known["in_line"], test_waits.in_line(), strict=True):
        print(gpu, played, sep="\n")


def sizes() -> None:
    """At 2048^3: microseconds on the GPU, and how much of it the model has."""
    off = []
    for key, job in test_smaller.JOBS.items():
        try:
            found = test_smaller.ratio(key, job)
        except Untraceable as error:
            print(f"{job.kernel.name:24} {error}")
            continue
        off.append(abs(found - 1))
        print(
            f"{job.kernel.name:24} {test_smaller.MEASURED[key]['us']:8.1f} us, {found:.2f} of it in the model"
        )
    print(f"{len(off)} kernels, mean error {np.mean(off):.1%}, most {max(off):.0%}")


def others() -> None:
    """Every record of a lesson's kernel as it is today, but for those at 4096^3: model / GPU."""
    (path,) = (path for path in records.files() if "h100" in path.name)
    known = {
        (name, keys.source_key(name, source)): (source, launch)
        for (notebook, name), launch in GEMMS.items()
        if (source := kernel_source(notebook, name))
    }
    off = []
    for entry in json.loads(path.read_text(encoding="utf-8"))["speeds"].values():
        found = known.get((entry.get("kernel"), entry.get("source")))
        if found is None or entry["shape"] == [4096] * 3:
            continue
        source, launch = found
        how = {name: entry[name] for name in ("threads", "shared_mem")}
        job = Job(
            kernel(source, entry["kernel"]),
            Gemm(*entry["shape"], entry["dtype"]),
            replace(launch, tile=tuple(entry["tile"]), **how),
        )
        ratio = model.by_machine_code(job).ms / entry["median_us"] * 1e3
        off.append(abs(ratio - 1))
        print(
            f"{entry['kernel']:22} {entry['shape']} {entry['median_us'] / 1e3:.3f} ms  {ratio:.2f}",
            flush=True,
        )
    print(f"{len(off)} records, mean error {np.mean(off):.1%}")


def stalls() -> None:
    """Where the model's share of the warps' time is far from that which Nsight Compute counts."""
    for (notebook, name), job in test_stall_reasons.JOBS.items():
        found = test_stall_reasons.apart(test_stall_reasons.modelled(job), test_stall_reasons.measured(job))
        over = test_stall_reasons.far(found)
        told = "; ".join(
            f"{more:+.2f} {reason}, line {line}"
            for (line, reason), more in (over or dict(list(found.items())[:1])).items()
        )
        apart = sum(map(abs, found.values()))
        print(
            f"{notebook[:2]} {name:22} {len(over)} of {len(found)} are far, sum {apart:.2f}; {told}",
            flush=True,
        )


PARTS = (small, waits, copies, behind, math, sizes, others, stalls)

if __name__ == "__main__":
    {part.__name__: part for part in PARTS}[sys.argv[1]]()
