"""The classes of events: none is equal to one of another class, and none changes."""

from dataclasses import FrozenInstanceError, fields
from itertools import permutations
from typing import get_args

import pytest

from ptxsim.observe import events
from ptxsim.observe.events import Event, Work

CLASSES = get_args(Event)


def of_ones(kind: type[Event]) -> Event:
    return kind(*[1] * len(fields(kind)))


def test_every_class_of_the_file_is_an_event():
    types = (each for each in vars(events).values() if isinstance(each, type))
    made_there = {each for each in types if each.__module__ == events.__name__}
    assert made_there == set(CLASSES)


def test_events_of_two_classes_differ_even_where_all_numbers_are_the_same():
    for one, other in permutations(CLASSES, 2):
        assert of_ones(one) != of_ones(other) and of_ones(one) == of_ones(one)


def test_an_event_does_not_change_once_it_is_noted():
    noted = Work(1.0, 2.0, 3.0)
    with pytest.raises(FrozenInstanceError):
        noted.fma = 5.0
    more = noted + noted
    assert (more.fma, more.mma, more.wavefronts, more.math) == (2.0, 4.0, 6.0, 6.0)
    assert noted == Work(1.0, 2.0, 3.0)
