"""What waits cost, the clock against an H100 (tests/kernels/timed/waits.py): lines on their way to L1,
mbarriers, wgmma in line."""

import json

import numpy as np
import pytest

import ptxsim
from cupy_or_sim import device
from cupy_or_sim.simulate import compiled
from ptxsim.clock.memory import Rates
from ptxsim.clock.operations import Await, Branch, Init, Meet, Product
from ptxsim.clock.sm import Stream, run
from tests.kernels.timed import waits as timed
from tests.ptxsim.clock.test_sm import END
from tests.sample import one_in

KNOWN = json.loads(timed.FILE.read_text(encoding="utf-8"))


def of_lines(warps: int, step: int, word: int, **_: float) -> float:
    made = compiled(timed.kernel(timed.LINES, "lines", *device.OPTIONS, "-arch=compute_90"))

    def args_at(turns: int) -> tuple:
        return object(), object(), np.int32(turns), np.int32(step), np.int32(word), object()

    # Blocks read the same regions in other turns, which walks of a few turns do not see: so it is said.
    touched = 4 * timed.SMS * timed.REGION
    found = ptxsim.launch_cycles(made, (timed.SMS,), (32 * warps,), args_at, timed.TURNS, operands=touched)
    return found.cycles_per_k_tile / timed.LOADS / warps


def there_and_back() -> float:
    made = compiled(timed.kernel(timed.THERE_AND_BACK, "there_and_back", *device.HOPPER))

    def args_at(turns: int) -> tuple:
        return object(), np.int32(turns), object()

    return ptxsim.launch_cycles(made, (timed.SMS,), (64,), args_at, timed.TURNS).cycles_per_k_tile


def ready(count: int) -> float:
    """Waits in a row, each for a phase before the first one."""
    begins = [Init(mbarrier=number, count=1) for number in range(count)]
    waits = [
        each
        for number in range(count)
        for each in (Await(sets=0, mbarrier=number, parity=1), Branch(stall=5, waits=(0,)))
    ]
    return run([Stream([*begins, *waits, END], 0)], Rates()).end


def in_line() -> list[list[float]]:
    group = [Meet(), *(Product(cycles=128.0, ends=k == 3) for k in range(4))]
    ops = [*group * timed.GROUPS, END]
    marks = tuple(place for place, each in enumerate(ops) if isinstance(each, Product))
    played = run([Stream(ops, 0, marks) for _ in range(4)], Rates())
    return [[time - played.times[0][0] for time in played.times[warp]] for warp in (0, 3)]


@pytest.mark.parametrize(
    "point", one_in(3, KNOWN["lines"]), ids=lambda point: "-".join(map(str, point.values()))
)
def test_loads_of_lines_that_are_on_their_way(point):
    """Few warps that load from L1 wait for more than the lines: the model's loop is up to 31 % longer."""
    there = point["step"] == timed.SAME and point["warps"] < 16
    assert of_lines(**point) == pytest.approx(point["cycles"], rel=0.32 if there else 0.25)


def test_from_one_warp_to_another_and_back():
    assert there_and_back() == pytest.approx(KNOWN["there_and_back"], rel=0.03)


def test_a_phase_that_has_ended():
    assert (ready(16) - ready(8)) / 8 == pytest.approx(KNOWN["ready"], abs=3)


def test_where_wgmma_wait_in_line():
    """The first warp of a warpgroup is held back when six of them wait; the others, behind them, by it."""
    first, other = in_line()
    assert first == pytest.approx(KNOWN["in_line"][0], abs=50)
    assert other[::4] == pytest.approx(KNOWN["in_line"][1][::4], abs=140)
    assert max(np.diff(other)[np.arange(len(other) - 1) % 4 < 3]) < 40 < max(np.diff(first))
