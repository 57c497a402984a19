"""Long launches: a line now and then, and an end to those that would take too long."""

import pytest

from ptxsim.program import progress
from ptxsim.program.progress import Progress, TooLong


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is set."""
    time = [0.0]
    monkeypatch.setattr(progress, "monotonic", lambda: time[0])
    return time


def test_it_tells_how_far_it_is(clock):
    told = []
    launch = Progress(600, told.append).of("f", 100)
    for clock[0], done in ((0, 0), (2, 2), (6, 6), (11, 10), (12, 11), (15, 14), (22, 20)):
        launch.watch(None, done)
    assert told == ["f: 10 of 100 blocks, about 99 s to go", "f: 20 of 100 blocks, about 88 s to go"]


def test_what_would_take_too_long_ends_at_its_begin(clock):
    launch = Progress(60).of("f", 1000)
    for clock[0], done in ((0, 0), (2, 1)):
        launch.watch(None, done)
    clock[0] = 4
    with pytest.raises(
        TooLong, match="f would take about 67 min: 1 of 1,000 blocks took 4 s, and a launch may take 60 s"
    ):
        launch.watch("state", 1)
    assert launch.state == "state"


def test_what_is_nearly_there_may_end(clock):
    launch = Progress(60).of("f", 100)
    clock[0] = 62
    launch.watch(None, 90)
