"""Of many cases of one kind the first ones are tried in each run of the tests: they fail for the same reason.

`COURSE_EVERY_CASE=1 make test` tries all of them, after a change of the simulator or of how answers are judged.
"""

import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

Case = TypeVar("Case")

EVERY = bool(os.environ.get("COURSE_EVERY_CASE"))


def sample(cases: Iterable[Case], kind: Callable[[Case], Hashable], most: int = 1) -> list[Case]:
    """The first `most` cases of each kind, in their order; all of them under COURSE_EVERY_CASE."""
    seen: Counter[Hashable] = Counter()
    found = []
    for case in cases:
        seen[kind(case)] += 1
        if EVERY or seen[kind(case)] <= most:
            found.append(case)
    return found


def one_in(number: int, cases: Iterable[Case]) -> list[Case]:
    """The first, and then every `number`-th, where one of each kind takes minutes; all under COURSE_EVERY_CASE."""
    return list(cases)[:: 1 if EVERY else number]
