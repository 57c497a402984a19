"""The clock against the recorded speeds of the lessons' kernels, on an H100 (assets/measurements).

No number of it is fitted to these times.
"""

import itertools
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

import ptxsim
from course_lib import kernel_source
from course_lib.check.gemm import Gemm
from course_lib.check.job import Job
from course_lib.measure import model, records
from tests.lessons import DTYPES, GEMMS, kernel
from tests.sample import one_in

SIZE = 4096
MEAN, LESSON, MOST = 0.07, 0.12, 0.13
"""By what part a time may be off: all kernels on average, those of a lesson, and one of them."""
CLEARLY = 1.05
"""Two kernels of a lesson have an order if the slower one takes this much longer."""
PLACES = sorted({notebook for notebook, _ in GEMMS})
SAMPLED_FIRST = [*PLACES[4:], *PLACES[1:4], PLACES[0]]
"""So that a sample has none of those that are long to play: in 01 and in 03's documented example."""


@dataclass(frozen=True)
class Compared:
    """One kernel: milliseconds on the H100, and the model of it."""

    measured: float
    modelled: ptxsim.LaunchCycles

    @property
    def ratio(self) -> float:
        return self.modelled.ms / self.measured


def jobs(notebook: str, size: int = SIZE) -> dict[str, tuple[Job, dict]]:
    """Kernels of a notebook that have a record of just this text and launch."""
    found = {}
    for (_, name), launch in ((key, launch) for key, launch in GEMMS.items() if key[0] == notebook):
        job = Job(
            kernel(kernel_source(notebook, name), name), Gemm(size, size, size, DTYPES[notebook]), launch
        )
        if record := records.find("speeds", records.kernel_key(job)):
            found[name] = job, record
    return found


@cache
def compared(notebook: str, size: int = SIZE) -> dict[str, Compared]:
    """kernel -> its times, measured and modelled."""
    return {
        name: Compared(record["median_us"] / 1e3, model.by_machine_code(job))
        for name, (job, record) in jobs(notebook, size).items()
    }


@pytest.mark.parametrize("notebook", one_in(8, SAMPLED_FIRST))
def test_times_and_order_in_a_lesson(notebook):
    times = compared(notebook)
    far = {name: each.ratio for name, each in times.items() if abs(each.ratio - 1) > MOST}
    assert far == {}
    wrong = {
        (slow, fast)
        for slow, fast in itertools.permutations(times, 2)
        if times[slow].measured > CLEARLY * times[fast].measured
        and times[slow].modelled.ms <= times[fast].modelled.ms
    }
    assert wrong == set()
    assert not times or np.mean([abs(each.ratio - 1) for each in times.values()]) < LESSON
