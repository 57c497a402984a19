"""The clock at 2048^3, where a launch is a few turns of blocks: against speeds measured on an H100."""

import json

import numpy as np

from course_lib.check.job import Job
from course_lib.measure import model
from tests.kernels.timed.lessons import SPEEDS_2048, at_2048
from tests.sample import one_in

MEASURED = json.loads(SPEEDS_2048.read_text(encoding="utf-8"))["kernels"]
MEAN, MOST = 0.08, 0.15
LEFT = "ping_pong"
"""Its consumers take turns at whole tiles; the clock counts the k-tiles of both as if they ran side by side."""
EVERY = at_2048()
JOBS = {key: job for key, job in EVERY.items() if job.kernel.name != LEFT}


def ratio(key: str, job: Job) -> float:
    """Modelled over measured time."""
    return model.by_machine_code(job).ms * 1e3 / MEASURED[key]["us"]


def test_each_kernel_has_its_speed():
    """`python -m research.record_speeds` measures them anew."""
    assert set(JOBS) <= set(MEASURED)


def test_times():
    found = {job.kernel.name: ratio(key, job) for key, job in one_in(8, list(JOBS.items()))}
    off = {name: abs(each - 1) for name, each in found.items()}
    assert {name: part for name, part in off.items() if part > MOST} == {}
    assert np.mean(list(off.values())) < MEAN


def test_an_address_may_be_smaller_than_its_base():
    """A 64-bit offset below zero, added where lanes differ: `ping_pong` has one."""
    (job,) = (job for job in EVERY.values() if job.kernel.name == LEFT)
    assert model.by_machine_code(job).ms > 0
