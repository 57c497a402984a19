"""What of an array a launch has touched: of many lanes some say it, other ones each time."""

import numpy as np

from ptxsim.ground.memory import Buffer, Bytes
from ptxsim.ground.work import EACH, MANY, PART, Budget

SIZE = 4


def each_its_part(lanes: int) -> tuple[Buffer, np.ndarray]:
    """An array, and of each lane the unit at the begin of a part of its own."""
    array = Buffer(0, Bytes(np.zeros(lanes << PART, np.uint8)), "x", SIZE)
    return array, (np.arange(lanes) << PART) // SIZE


def test_of_many_lanes_each_says_it_after_some_time():
    budget = Budget(None)
    array, unit = each_its_part(MANY)
    for times in range(EACH):
        assert array not in budget.whole
        budget.access(array, unit, SIZE)
        assert budget.touched[array].sum() == (times + 1) * MANY // EACH
    assert array in budget.whole


def test_of_fewer_lanes_all_say_it():
    budget = Budget(None)
    array, unit = each_its_part(MANY - 1)
    budget.access(array, unit, SIZE)
    assert array in budget.whole
