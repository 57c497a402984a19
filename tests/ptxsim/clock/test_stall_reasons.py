"""The clock against Nsight Compute: where the warps of the lessons' kernels spend their time, line by
line and by reason (tests/golden/stalls_h100.json).
"""

import json

import pytest

from course_lib.check.job import Job
from course_lib.instruments import bubbles
from course_lib.measure import records, samples
from cupy_or_sim.simulate import compiled
from ptxsim import Shares
from tests.kernels.timed.lessons import STALLS, sampled
from tests.sample import one_in

Place = tuple[int, str]
"""A source line, and a reason."""

POINTS = 0.10
SAME = {"other result": "shared memory"}
"""Reasons of the model that are one for Nsight Compute."""

RECORD = json.loads(STALLS.read_text(encoding="utf-8"))["kernels"]
JOBS = {place: job for place, job in sampled().items() if records.kernel_key(job) in RECORD}


def measured(job: Job) -> dict[Place, float]:
    """As Nsight Compute counted."""
    return by_place(samples.lines_of(RECORD[records.kernel_key(job)], compiled(job.kernel).source))


def modelled(job: Job) -> dict[Place, float]:
    """As the clock has it."""
    return by_place(bubbles(job.kernel, job.gemm, job.launch, model=True).lines)


def by_place(lines: Shares) -> dict[Place, float]:
    """Shares of the warps' time."""
    found: dict[Place, float] = {}
    for line, reasons in lines.items():
        for reason, share in reasons.items():
            place = line, SAME.get(reason, reason)
            found[place] = found.get(place, 0.0) + share
    return found


def apart(model_has: dict[Place, float], gpu_has: dict[Place, float]) -> dict[Place, float]:
    """The share that the model has more, the largest difference first."""
    found = {place: model_has.get(place, 0.0) - gpu_has.get(place, 0.0) for place in {*model_has, *gpu_has}}
    return dict(sorted(found.items(), key=lambda each: -abs(each[1])))


def far(found: dict[Place, float]) -> dict[Place, float]:
    """Those of them that are beyond the limit."""
    return {place: more for place, more in found.items() if abs(more) > POINTS}


def test_every_kernel_with_a_recorded_speed_has_stalls():
    assert len(JOBS) == len(sampled()) == len(RECORD) == 30
    assert all(sum(measured(job).values()) == pytest.approx(1, abs=2e-3) for job in JOBS.values())


def test_what_bubbles_shows_of_a_kernel_in_the_lessons_is_the_same_record():
    shown = {key: kept for key in RECORD if (kept := records.find("samples", key))}
    assert len(shown) == 3
    assert all(kept["shares"] == RECORD[key]["shares"] for key, kept in shown.items())


@pytest.mark.parametrize("place", one_in(6, list(JOBS)), ids="-".join)
def test_lines_and_reasons_are_those_that_nsight_compute_counts(place):
    job = JOBS[place]
    assert far(apart(modelled(job), measured(job))) == {}


def test_a_reason_at_another_line_is_seen():
    gpu = measured(JOBS["05_fastest", "fastest"])
    line, reason = max(gpu, key=lambda place: gpu[place])
    moved = dict(gpu)
    moved[line + 1, reason] = moved.pop((line, reason))
    assert (line, reason) in far(apart(moved, gpu)) and far(apart(gpu, gpu)) == {}
