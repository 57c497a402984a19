"""A place that hundreds touched and all threads read: one thread answers for all that know the same."""

import numpy as np
import pytest

from ptxsim.races import touches
from tests.ptxsim.races import test_random_races as random_races
from tests.ptxsim.small_kernels import run

OWN = """
if (t == 0) atomicAdd(sum, 1);
if (t == 32) { atomicAdd(sum, 1); __threadfence(); atomicExch(flag, 1); }
while (atomicAdd(flag, 0) == 0);
__threadfence();
if (t < 32) out[t] = *sum;
"""
"""Each has heard of what thread 32 did, and of what thread 0 did only thread 0 knows."""


@pytest.fixture(params=[0, touches.MOST_PAIRS])
def most_pairs(request, monkeypatch):
    monkeypatch.setattr(touches, "MOST_PAIRS", request.param)


def test_who_touched_it_answers_for_itself(most_pairs):
    out, sum_, flag = np.zeros(32, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32)
    report = run(OWN, out, sum_, flag, parameters="int* out, int* sum, int* flag", block=64)
    assert [(each.kind, each.count) for each in report.hazards] == [("read-after-write", 31)]


def test_random_programs_race_where_the_reference_says_so(monkeypatch):
    monkeypatch.setattr(touches, "MOST_PAIRS", 0)
    random_races.test_random_programs_race_where_the_reference_says(0)
