"""Record the timelines of all lessons' kernels at three sizes, for docs/timelines.csv: `make record`."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

from course_lib.check.gemm import Gemm
from course_lib.check.job import Job
from course_lib.lessons import sources
from course_lib.measure import records
from course_lib.timelines.timeline import timeline
from cupy_or_sim import timing
from cupy_or_sim.kernel import Kernel
from cupy_or_sim.launch import Launch

SIZES = 4096, 2048, 8192


def problems() -> Iterator[tuple[str, Kernel, Gemm, Launch]]:
    """(name, kernel, problem, launch) of every kernel with marks that stands in a lesson, at each of the SIZES."""
    for size in SIZES:
        for path in sources.with_kernels(sources.NOTEBOOKS):
            for name in sources.launches(path.stem):
                source = sources.kernel_source(path.stem, name)
                if "TRACE_BEGIN" in source:
                    kernel, launch = sources.lesson_kernel(path.stem, name)
                    dtype = "float16" if "__half" in source else "float32"
                    yield f"{path.stem[:2]} {name}, {size}^3", kernel, Gemm(size, size, size, dtype), launch


def record() -> None:
    """Measure those that are not in the new record (COURSE_RECORD) yet; each is in it before the next one begins."""
    for name, kernel, gemm, launch in problems():
        if not _recorded(records.kernel_key(Job(kernel, gemm, launch))):
            print(f"{name}: {timeline(kernel, gemm, launch).small_print}", flush=True)


def _recorded(key: str) -> bool:
    path = Path(os.environ["COURSE_RECORD"])
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return records.stored_key(key, timing.provenance()["nvrtc"]) in kept.get("timelines", {})
