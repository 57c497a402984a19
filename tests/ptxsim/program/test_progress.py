"""Long launches: a line now and then, and an end to those that would take too long."""

from types import SimpleNamespace

import numpy as np
import pytest

from ptxsim.ground.memory import Buffer, Bytes
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
        launch.watch(None, done, 1)
    assert told == ["f: 10 of 100 blocks, about 99 s to go", "f: 20 of 100 blocks, about 88 s to go"]


def test_what_would_take_too_long_ends_at_its_begin(clock):
    launch = Progress(60).of("f", 1000)
    for clock[0], done in ((0, 0), (2, 1)):
        launch.watch(None, done, 1)
    clock[0] = 4
    with pytest.raises(
        TooLong, match="f would take about 67 min: 1 of 1,000 blocks took 4 s, and a launch may take 60 s"
    ):
        launch.watch("state", 1, 1)
    assert launch.state == "state"


def test_what_is_nearly_there_may_end(clock):
    launch = Progress(60).of("f", 100)
    clock[0] = 62
    launch.watch(None, 90, 1)


class Wave:
    """A launch whose blocks all run at once, or the first of more: they touch an array of so many parts."""

    def __init__(self, clock, limit, blocks=132, parts=1000):
        self.told, self.clock = [], clock
        self.launch = Progress(limit, self.told.append).of("f", blocks)
        array = Buffer(0, Bytes(np.zeros(0, np.uint8)), "y (4 bytes)", 4)
        self.touched = np.zeros(parts, bool)
        self.launch.watch(SimpleNamespace(budget=SimpleNamespace(touched={array: self.touched})), 0, 132)

    def after(self, seconds, parts):
        self.clock[0] = seconds
        self.touched[:parts] = True
        self.launch.look()


def test_one_wave_of_blocks_that_would_take_too_long(clock):
    wave = Wave(clock, 60)
    with pytest.raises(
        TooLong, match="f would take about 10 min: 1 % of y took 6 s, and a launch may take 60 s"
    ):
        for second in range(1, 8):
            wave.after(second, 5 * second // 3)


def test_one_wave_that_ends_in_time_is_told(clock):
    wave = Wave(clock, 600)
    for second in range(1, 15):
        wave.after(second, 10 * second)
    assert wave.told == ["f: 11 % of y, about 89 s to go"]


@pytest.mark.parametrize(
    "parts", [lambda second: 10, lambda second: 10 * second * (second < 4), lambda second: second**3]
)
def test_nothing_is_said_where_arrays_are_not_touched_steadily(clock, parts):
    """Never again, no more after a while, ever quicker."""
    wave = Wave(clock, 10)
    for second in range(1, 10):
        wave.after(second, parts(second))
    assert wave.told == []


def test_the_first_of_many_blocks_that_do_not_end(clock):
    wave = Wave(clock, 60, blocks=132_000)
    wave.after(2, 0)
    with pytest.raises(TooLong, match="about 67 min: not even the first 132 of 132,000 blocks took 4 s"):
        wave.after(4, 0)


def test_many_launches_are_told_now_and_then():
    told = []
    launches = Progress(600, told.append)
    for number in range(300):
        launches.ended("f" if number % 3 else "g", 0.1)
    assert told == [
        f"{number} launches in {seconds} s, {of_f} of them of f. If they are alike, --each-launch-once leaves most of "
        "them out"
        for number, seconds, of_f in ((101, 10, 67), (201, 20, 134))
    ]
