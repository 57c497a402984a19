"""Of many cases of one kind the first ones are tried in each run of the tests: they fail for the same reason.

`make long` tries all of them (COURSE_EVERY_CASE=1), after a change of the simulator or of how answers are judged; `make
rest` (COURSE_EVERY_CASE=rest) those that `make test` did not.
"""

import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

import pytest

Case = TypeVar("Case")

EVERY = bool(os.environ.get("COURSE_EVERY_CASE"))
REST = os.environ.get("COURSE_EVERY_CASE") == "rest"

in_long = pytest.mark.skipif(not EVERY, reason="in make long, and in make rest")
"""Marks what takes long and fails seldom."""

cut: set[str] = set()
"""Tests that asked for a sample while they ran: they did not try all."""


def sample(cases: Iterable[Case], kind: Callable[[Case], Hashable], most: int = 1) -> list[Case]:
    """The first `most` cases of each kind, in their order; all of them under COURSE_EVERY_CASE."""
    seen: Counter[Hashable] = Counter()
    found = []
    for case in cases:
        seen[kind(case)] += 1
        if EVERY or seen[kind(case)] <= most:
            found.append(case)
    _note_if_cut(len(found) < seen.total())
    return found


def one_in(number: int, cases: Iterable[Case]) -> list[Case]:
    """The first, and then every `number`-th, where one of each kind takes minutes; all under COURSE_EVERY_CASE."""
    every = list(cases)
    _note_if_cut(not EVERY and len(every) > 1)
    return every[:: 1 if EVERY else number]


def _note_if_cut(something_is_missing: bool) -> None:
    running = os.environ.get("PYTEST_CURRENT_TEST")
    if running and something_is_missing:
        cut.add(running.rpartition(" ")[0])
