"""The clock at 2048^3, where a launch is a few turns of blocks: against speeds measured on an H100.

`python -m tests.ptxsim.clock.test_smaller` prints all of them.
"""

import json

import numpy as np

from course_lib.check.job import Job
from course_lib.measure import model
from ptxsim.clock import Untraceable
from tests.golden import record_speeds
from tests.sample import one_in

MEASURED = json.loads(record_speeds.FILE.read_text(encoding="utf-8"))["kernels"]
MEAN, MOST = 0.08, 0.15
LEFT = "ping_pong"
"""Its consumers take turns at whole tiles; the clock counts the k-tiles of both as if they ran side by side."""
EVERY = record_speeds.jobs()
JOBS = {key: job for key, job in EVERY.items() if job.kernel.name != LEFT}


def ratio(key: str, job: Job) -> float:
    """Modelled over measured time."""
    return model.by_machine_code(job).ms * 1e3 / MEASURED[key]["us"]


def test_each_kernel_has_its_speed():
    """`python -m tests.golden.record_speeds` measures them anew."""
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


def main() -> None:
    off = []
    for key, job in JOBS.items():
        try:
            found = ratio(key, job)
        except Untraceable as error:
            print(f"{job.kernel.name:24} {error}")
            continue
        off.append(abs(found - 1))
        print(f"{job.kernel.name:24} {MEASURED[key]['us']:8.1f} us, {found:.2f} of it in the model")
    print(f"{len(off)} kernels, mean error {np.mean(off):.1%}, most {max(off):.0%}")


if __name__ == "__main__":
    main()
