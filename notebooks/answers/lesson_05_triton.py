"""The exercises of lesson 05 about the ring that Triton writes: its slots, and the count of its waits."""

from collections.abc import Callable, Sequence
from typing import Any

from .common import demand, results_of, whole_number

SHARED = {
    (4, 64, 64, 32): 24_576,
    (3, 64, 64, 32): 16_384,
    (2, 64, 64, 32): 8_192,
    (1, 64, 64, 32): 8_192,
    (6, 64, 64, 32): 40_960,
    (1, 128, 64, 64): 24_576,
    (3, 64, 128, 64): 49_152,
    (4, 128, 64, 64): 73_728,
    (5, 128, 256, 32): 98_304,
}
"""(num_stages, BM, BN, BK) -> bytes of shared memory that Triton 3.9 asks for, for compute capability 8.0."""
STAGES = (2, 3, 4, 6)

Wrong = Sequence[tuple[str, str, Callable]]
"""A word for a mistake, that in words, and its formula."""

MISTAKES_OF_SHARED: Wrong = [
    ("slots-as-stages", "takes a slot for each stage", lambda s, m, n, k: s * (m + n) * k * 2),
    ("no-slot", "has no slot where num_stages is 1", lambda s, m, n, k: (s - 1) * (m + n) * k * 2),
    ("elements", "counts elements", lambda s, m, n, k: max(1, s - 1) * (m + n) * k),
    ("elements", "counts elements, and a slot for each stage", lambda s, m, n, k: s * (m + n) * k),
    ("four-bytes", "takes 4 bytes for an element", lambda s, m, n, k: max(1, s - 1) * (m + n) * k * 4),
    ("kilobytes", "counts KB", lambda s, m, n, k: max(1, s - 1) * (m + n) * k / 512),
    ("left-only", "leaves out the part of B", lambda s, m, n, k: max(1, s - 1) * m * k * 2),
    ("tile-of-c", "counts the tile of C", lambda s, m, n, k: max(1, s - 1) * m * n * 2),
    ("one-slot", "does not depend on num_stages", lambda s, m, n, k: (m + n) * k * 2),
]
MISTAKES_OF_COUNT: Wrong = [
    ("tiles-for-groups", "counts k-tiles, and not groups", lambda s: s - 2),
    ("stages-for-slots", "takes a slot for each stage", lambda s: 2 * (s - 1)),
    ("one-group-more", "is one group too many", lambda s: 2 * (s - 2) + 1),
    ("waits-for-all", "waits for all copies", lambda s: 0),
]


def _demand(
    what: str, given: Sequence[int], cases: Sequence[tuple], right: Sequence[int], wrong: Wrong
) -> None:
    if list(given) == list(right):
        return
    for cause, mistake, formula in wrong:
        demand(list(given) != [formula(*case) for case in cases], f"{what} {mistake}.", cause)
    for case, mine, value in zip(cases, given, right, strict=True):
        demand(mine == value, f"{what} is {mine} for {', '.join(map(str, case))}, and Triton has {value}.")


def _shared(answer: Any) -> None:
    given = results_of(answer, "shared_bytes", SHARED)
    numbers = [whole_number(value, "what the function returns") for value in given]
    _demand("the number", numbers, list(SHARED), list(SHARED.values()), MISTAKES_OF_SHARED)


def _count(answer: Any) -> None:
    cases = [(stages,) for stages in STAGES]
    numbers = [
        whole_number(value, "what the function returns") for value in results_of(answer, "most_groups", cases)
    ]
    _demand("the count", numbers, cases, [2 * (stages - 2) for stages in STAGES], MISTAKES_OF_COUNT)


EXERCISES = {"05.6": _shared, "05.7": _count}
