"""Each class of events: the clock plays it, and nothing else; none is equal to one of another class."""

from dataclasses import FrozenInstanceError, fields
from itertools import permutations
from typing import get_args

import pytest

from ptxsim.clock.clock import extend, play
from ptxsim.clock.played import PHASES, Phase
from ptxsim.gpus import H100
from ptxsim.observe import events
from ptxsim.observe.events import BulkCommit, Commit, Event, UseLoads, WgmmaCommit, Work

CLASSES = get_args(Event)


def of_ones(kind: type[Event]) -> Event:
    return kind(*[1] * len(fields(kind)))


def test_every_class_of_the_file_is_an_event():
    types = (each for each in vars(events).values() if isinstance(each, type))
    made_there = {each for each in types if each.__module__ == events.__name__}
    assert made_there == set(CLASSES)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_the_clock_plays_it(kind):
    assert play([[of_ones(kind)]], H100.rates).cycles >= H100.rates.block_start


@pytest.mark.parametrize("stranger", [("work", 1.0, 0.0, 0.0, 0.0), "commit", None])
def test_what_is_no_event_is_refused_by_its_class(stranger):
    with pytest.raises(KeyError, match=type(stranger).__name__):
        play([[stranger]], H100.rates)


def test_events_of_two_classes_differ_even_where_all_numbers_are_the_same():
    """`extend` compares the events of two launches."""
    for one, other in permutations(CLASSES, 2):
        assert of_ones(one) != of_ones(other) and of_ones(one) == of_ones(one)
    with pytest.raises(ValueError, match="not alike"):
        extend([[Commit(), UseLoads()]], [[Commit(), WgmmaCommit(), BulkCommit()]], 2)


def test_an_event_does_not_change_once_it_is_noted():
    noted = Work(1.0, 2.0, 3.0, 4.0)
    with pytest.raises(FrozenInstanceError):
        noted.fma = 5.0
    more = noted + noted
    assert (more.issue_slots, more.fma, more.mma, more.wavefronts, more.math) == (2.0, 4.0, 6.0, 8.0, 10.0)
    assert noted == Work(1.0, 2.0, 3.0, 4.0)


def test_phases_are_those_that_are_declared():
    assert set(PHASES.values()) | {"math", "barrier"} == set(get_args(Phase))
    assert set(PHASES) <= set(CLASSES)
