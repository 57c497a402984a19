"""Long launches: a line now and then, and an end to those that would take too long."""

from types import SimpleNamespace

import numpy as np
import pytest

from ptxsim.ground.memory import Buffer, Bytes
from ptxsim.ground.work import Budget
from ptxsim.program import progress
from ptxsim.program.progress import Progress, TooLong
from ptxsim.ptx.counted import Counted
from ptxsim.ptx.program import Immediate, Register, Where


def machine(counted=(), registers=()):
    """Blocks that run, of a launch that has touched nothing yet: their loops that count, and what registers hold."""
    launch = SimpleNamespace(budget=SimpleNamespace(touched={}), code=SimpleNamespace(counted=counted))
    return SimpleNamespace(launch=launch, alive=np.ones(1, bool), R=list(registers))


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
        launch.watch(machine(), done, 1)
    assert told == ["f: 6 of 100 blocks, about 94 s to go", "f: 20 of 100 blocks, about 88 s to go"]


def test_a_launch_that_ends_soon_is_not_told(clock):
    told = []
    launch = Progress(600, told.append).of("f", 100)
    for clock[0], done in ((0, 0), (6, 60), (8, 80)):
        launch.watch(machine(), done, 1)
    assert told == []


def test_what_would_take_too_long_ends_at_its_begin(clock):
    launch = Progress(60).of("f", 1000)
    for clock[0], done in ((0, 0), (2, 1)):
        launch.watch(machine(), done, 1)
    clock[0] = 4
    with pytest.raises(
        TooLong, match="f would take about 67 min: 1 of 1,000 blocks took 4 s, and a launch may take 60 s"
    ):
        launch.watch(machine(), 1, 1)
    assert launch.state.budget.touched == {}


def test_what_is_nearly_there_may_end(clock):
    launch = Progress(60).of("f", 100)
    clock[0] = 62
    launch.watch(machine(), 90, 1)


class Wave:
    """A launch whose blocks all run at once, or the first of more: they touch an array of so many parts."""

    def __init__(self, clock, limit, blocks=132, parts=1000):
        self.told, self.clock = [], clock
        self.launch = Progress(limit, self.told.append).of("f", blocks)
        array = Buffer(0, Bytes(np.zeros(0, np.uint8)), "y (4 bytes)", 4)
        self.touched = np.zeros(parts, bool)
        blocks = machine()
        blocks.launch.budget.touched[array] = self.touched
        self.launch.watch(blocks, 0, 132)

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
    assert wave.told == ["f: 6 % of y, about 94 s to go"]


@pytest.mark.parametrize("size", [4, 256, 260, 512])
def test_an_array_has_no_more_parts_than_can_be_touched(size):
    budget, array = Budget(None), Buffer(0, Bytes(np.zeros(size, np.uint8)), "y", 4)
    budget.access(array, np.arange(size // 4), 4)
    assert budget.touched[array].all()


@pytest.mark.parametrize(
    "parts", [lambda second: 10, lambda second: 10 * second * (second < 4), lambda second: second**3]
)
def test_nothing_is_foretold_where_arrays_are_not_touched_steadily(clock, parts):
    """Never again, no more after a while, ever quicker."""
    wave = Wave(clock, 10)
    for second in range(1, 10):
        wave.after(second, parts(second))
    assert wave.told == [
        "f: 6 s, and nothing says yet how long it takes. A smaller problem ends sooner, and --sms 4 where a program "
        "fills the GPU"
    ]


class Rounds:
    """A launch with a loop from 0 to 1000, in which a thread is where it is set."""

    def __init__(self, clock, sure=True, blocks=132):
        self.told, self.clock = [], clock
        self.launch = Progress(60, self.told.append).of("f", blocks)
        loop = Counted(Register(0, 32), Immediate("1000"), "s32", Where(7), sure)
        self.number = np.zeros(1, np.uint32)
        self.launch.watch(machine([loop], [self.number]), 0, 132)

    def after(self, seconds, number):
        self.clock[0] = seconds
        self.number[:] = number
        self.launch.look()


@pytest.mark.parametrize(("blocks", "minutes"), [(132, 8), (264, 17)])
def test_a_loop_that_would_take_too_long(clock, blocks, minutes):
    """One wave, and the first of two."""
    rounds = Rounds(clock, blocks=blocks)
    with pytest.raises(
        TooLong, match=f"f would take about {minutes} min: 0.8 % of the loop at line 7 took 6 s"
    ):
        for second in range(1, 8):
            rounds.after(second, 123456 if second == 1 else 2 * second)


def test_a_loop_whose_rounds_may_become_quicker_goes_on(clock):
    """After 6 s it seems to take 150, and may take 60."""
    rounds = Rounds(clock)
    for second in range(1, 8):
        rounds.after(second, 7 * second)
    assert rounds.told == ["f: 2.8 % of the loop at line 7, about 2 min to go"]


def test_of_a_loop_with_another_way_out_the_most_is_told(clock):
    rounds = Rounds(clock, sure=False)
    for second in range(1, 8):
        rounds.after(second, second)
    assert rounds.told == ["f: 0.4 % of the loop at line 7, at most 17 min to go"]


def test_a_loop_of_long_rounds_is_told(clock):
    rounds = Rounds(clock)
    for second in range(1, 8):
        rounds.after(second, second > 1)
    assert rounds.told == [
        "f: 6 s, and the loop at line 7, which counts to 1,000, has been at 1 for 4 s. A smaller problem ends sooner, "
        "and --sms 4 where a program fills the GPU"
    ]


@pytest.mark.parametrize("numbers", [[5] * 9, [0, 1, 2, 3, 1000, 1000, 1000, 1000], [9, 8, 7, 6, 5, 4, 3, 2]])
def test_a_loop_that_has_not_begun_or_is_over_says_nothing(clock, numbers):
    """Nor one that counts away from its end."""
    rounds = Rounds(clock)
    for second, number in enumerate(numbers, 1):
        rounds.after(second, number)
    assert all("nothing says yet" in line for line in rounds.told)


def test_the_first_of_many_blocks_that_do_not_end(clock):
    wave = Wave(clock, 60, blocks=132_000)
    wave.after(2, 0)
    with pytest.raises(TooLong, match="about 67 min: not even the first 132 of 132,000 blocks took 4 s"):
        wave.after(4, 0)


def test_many_launches_are_told_now_and_then():
    """... by the kernel that takes longest, and what a hundred of its launches take."""
    told = []
    launches = Progress(600, told.append)
    for number in range(300):
        launches.ended("f" if number % 3 else "g", 0.125 if number % 3 else 0.25)
    assert told == [
        f"{number} launches in {seconds} s, {of_g} of them of g: a hundred of those take 25 s{progress.ALIKE}"
        for number, seconds, of_g in ((30, 5, 10), (60, 10, 20), (120, 20, 40), (240, 40, 80))
    ]


@pytest.mark.parametrize("all_judged", [True, False])
def test_a_few_slow_launches_are_told_as_well(all_judged):
    told = []
    launches = Progress(600, told.append, all_judged)
    for _ in range(3):
        launches.ended("f", 4)
    advice = progress.ALIKE * all_judged
    assert told == [f"3 launches in 12 s, 3 of them of f: a hundred of those take 7 min{advice}"]
