"""How far warps come by what they did: copies that are asked for, when some of them wait for ever."""

import pytest

from course_lib.notebooks.answers.replay import flights
from ptxsim.observe.events import (
    Arrive,
    Barrier,
    BulkCopy,
    MbarrierArrive,
    MbarrierExpect,
    MbarrierInit,
    MbarrierWait,
    Work,
)

FULL, EMPTY, SLOTS = 0, 100, 3
NEVER = MbarrierWait(-1, 0)


def producer(k_tiles: int) -> list:
    ring = [init for slot in range(SLOTS) for init in (MbarrierInit(slot, 1), MbarrierInit(EMPTY + slot, 2))]
    turns = []
    for k_tile in range(k_tiles):
        slot = k_tile % SLOTS
        free = MbarrierWait(EMPTY + slot, -1)
        turns += [free, MbarrierExpect(slot, 64), MbarrierArrive(slot, 1), BulkCopy(slot, 64, 1)]
    return ring + turns


def consumer(k_tiles: int, held: int | None = None) -> list:
    """It multiplies so many k-tiles, and waits for ever before number `held`."""
    turns = []
    for k_tile in range(k_tiles):
        slot = k_tile % SLOTS
        turns += [NEVER] if k_tile == held else []
        turns += [MbarrierWait(slot, 0), Work(0.0, 1.0, 0.0), MbarrierArrive(EMPTY + slot, 1)]
    return turns


@pytest.mark.parametrize("held", range(8))
def test_a_producer_fills_the_slots_that_are_free(held):
    assert flights([producer(8), consumer(8), consumer(8, held)]) == min(held + SLOTS, 8)


def test_warps_meet_at_barriers():
    """At a named one some arrive only; at barrier 0 all meet that have not ended."""
    copy = BulkCopy(0, 1, 1)
    assert flights([[Arrive(1, 64), copy], [Barrier(1, 64), copy]]) == 2
    assert flights([[NEVER, Arrive(1, 64)], [Barrier(1, 64), copy]]) == 0
    assert flights([[Barrier(0, None), copy, Barrier(0, None), copy], [Barrier(0, None)]]) == 2
    assert flights([[Barrier(0, None), copy], [NEVER]]) == 0


def test_a_phase_lacks_arrivals_and_bytes():
    copy, wait = BulkCopy(0, 16, 2), MbarrierWait(0, 0)
    begin = [MbarrierInit(0, 1), MbarrierExpect(0, 32), MbarrierArrive(0, 1)]
    assert flights([[*begin, wait, copy]]) == 0
    assert flights([[*begin, copy, wait, copy]]) == 2, "to two blocks, each of which fetches half"
