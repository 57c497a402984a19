"""Measure the lessons' kernels at 2048^3 on this machine's GPU, of which the records have few: speeds_2048_h100.json.

    python -m research.record_speeds

A kernel is found by its text and its launch. The file goes to the folder that the environment variable OUT names, else
to tests/golden.
"""

import json
import os
from pathlib import Path

from course_lib.check.job import Job
from cupy_or_sim import timing
from tests.kernels.timed.lessons import SPEEDS_2048, at_2048


def measured(job: Job) -> dict:
    """Microseconds, the median of a burst of launches; exact on whole numbers."""
    job.gemm.check(job.kernel, job.launch)
    name = job.kernel.name
    entry = timing.measure(job.gemm, {name: (job.kernel, job.launch)})[name]
    return {"kernel": name, "us": entry["median_us"]}


def main() -> None:
    found = {key: measured(job) for key, job in at_2048().items()}
    text = json.dumps({"provenance": timing.provenance(), "kernels": found}, indent=1)
    (Path(os.environ.get("OUT", SPEEDS_2048.parent)) / SPEEDS_2048.name).write_text(
        text + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
