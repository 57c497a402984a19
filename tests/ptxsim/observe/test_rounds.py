"""A barrier that one warp can come to twice in a round is found, in whatever order the warps ran."""

import pytest

from ptxsim.observe.events import Arrive, Barrier, MbarrierWait
from ptxsim.observe.rounds import counted_twice

PIECES, FULL, EMPTY = 9, 1, 8


def hand_over(slots: int, empties: int, count: int = 64) -> list[list[Arrive | Barrier]]:
    """What a producer and a consumer do at the barriers of so many slots, which have so many EMPTY."""
    producer: list[Arrive | Barrier] = []
    consumer: list[Arrive | Barrier] = []
    for piece in range(PIECES):
        full, empty = FULL + piece % slots, EMPTY + piece % empties
        producer += [Barrier(empty, count)] * (piece >= slots) + [Arrive(full, count)]
        consumer += [Barrier(full, count)] + [Arrive(empty, count)] * (piece + slots < PIECES)
    return [producer, consumer]


@pytest.mark.parametrize("slots", [1, 2, 3])
def test_barriers_of_its_own_for_each_slot_are_right(slots):
    assert counted_twice(hand_over(slots, empties=slots)) is None


@pytest.mark.parametrize("slots", [2, 3])
@pytest.mark.parametrize("turned", [False, True])
def test_one_empty_for_several_slots_is_found(slots, turned):
    warps = hand_over(slots, empties=1)
    found = counted_twice(warps[::-1] if turned else warps)
    assert found
    assert (found.barrier, found.again, found.late) == (EMPTY, 1 - turned, 0 + turned)
    assert f"warp {found.again} counts twice" in str(found)


def test_a_producer_that_never_waits_is_found():
    producer, consumer = hand_over(1, empties=1)
    found = counted_twice([[one for one in producer if isinstance(one, Arrive)], consumer])
    assert found
    assert (found.barrier, found.again, found.late) == (FULL, 0, 1)


def test_two_consumers():
    producer, consumer = hand_over(1, empties=1, count=96)
    assert counted_twice([producer, consumer, consumer]) is None
    found = counted_twice([hand_over(2, empties=1, count=96)[0], *[hand_over(2, empties=1, count=96)[1]] * 2])
    assert found
    assert (found.again, found.late) == (1, 0)


def test_all_threads_at_one_barrier_are_right():
    assert counted_twice([[Barrier(0, None)] * 5] * 3 + [[Barrier(0, None)] * 2]) is None


def test_where_they_meet_at_mbarriers_nothing_is_said():
    producer, consumer = hand_over(2, empties=1)
    assert counted_twice([[MbarrierWait(0, 0), *producer], consumer]) is None
