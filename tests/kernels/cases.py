"""All test kernels: `CASES` are right, `WRONG` have one known mistake each."""

from tests.kernels import (
    async_copy,
    atomics,
    basics,
    gemm,
    hopper_clusters,
    hopper_copies,
    hopper_wgmma,
    hopper_wrong,
    known_wrong,
    orders,
    shared,
    tensor,
    warp,
    wmma,
)
from tests.kernels.case import Case, WrongCase

HOPPER = hopper_wgmma, hopper_copies, hopper_clusters
CASES: list[Case] = [
    case
    for theme in (basics, shared, gemm, warp, atomics, async_copy, tensor, wmma, *HOPPER)
    for case in theme.CASES
]

WRONG: list[WrongCase] = [*known_wrong.WRONG, *orders.WRONG, *hopper_wrong.WRONG]

__all__ = ["CASES", "WRONG", "Case", "WrongCase", "by_name"]


def by_name(name: str) -> Case | WrongCase:
    """The case with this name."""
    return next(case for case in [*CASES, *WRONG] if case.name == name)
