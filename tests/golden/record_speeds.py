"""Measure the lessons' kernels at 2048^3 on this machine's GPU, of which the records have few: speeds_2048_h100.json.

    python -m tests.golden.record_speeds

A kernel is found by its text and its launch. The file goes to the folder that the environment variable OUT names, else
next to this script.
"""

import json
import os
from pathlib import Path

from course_lib import Gemm, kernel_source
from course_lib.check.job import Job
from course_lib.measure import records
from cupy_or_sim import timing
from tests.lessons import DTYPES, GEMMS, kernel

FILE = Path(__file__).parent / "speeds_2048_h100.json"
SIZE = 2048


def jobs() -> dict[str, Job]:
    """By key, the product of each lesson kernel."""
    found = {}
    for (notebook, name), launch in GEMMS.items():
        job = Job(
            kernel(kernel_source(notebook, name), name), Gemm(SIZE, SIZE, SIZE, DTYPES[notebook]), launch
        )
        found[records.kernel_key(job)] = job
    return found


def measured(job: Job) -> dict:
    """Microseconds, the median of a burst of launches; exact on whole numbers."""
    job.gemm.check(job.kernel, job.launch)
    name = job.kernel.name
    entry = timing.measure(job.gemm, {name: (job.kernel, job.launch)})[name]
    return {"kernel": name, "us": entry["median_us"]}


def main() -> None:
    found = {key: measured(job) for key, job in jobs().items()}
    text = json.dumps({"provenance": timing.provenance(), "kernels": found}, indent=1)
    (Path(os.environ.get("OUT", FILE.parent)) / FILE.name).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
