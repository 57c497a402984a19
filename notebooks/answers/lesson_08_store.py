"""The exercise of lesson 08 about results: an epilogue through shared memory and the copy engine."""

import re
from typing import Any

import numpy as np

from course_lib.check.gemm import Gemm
from course_lib.check.mistakes import product
from course_lib.check.verdict import ONE_BLOCK, CheckFailed
from cupy_or_sim.launch import Launch
from ptxsim.observe.events import BulkStore, Event, Store

from .common import MOST_STEPS, checked, demand, fail

LAUNCH = Launch((64, 256, 64), 128, (64 * 64 + 256 * 64 + 64 * 64) * 2 + 64)
"""In shared memory: a k-tile of A and of B, one box of C, a barrier."""
FAR = 4
"""Tiles of a C in which a block finds a place for boxes that are not its own."""
GIVEN = re.compile(r"look at [AB], where its rows are written and read,")
"""What a check says of a wrong product; here A, B and their products are given, and right."""


def _box_by_box(answer: Any) -> None:
    """A right kernel whose copy engine writes C, and which waits for it before it ends."""
    try:
        kernel, verdict = checked(answer, LAUNCH, "float16", ONE_BLOCK)
    except CheckFailed as error:
        # How much is stored tells more than a hazard of it, or the end of its work.
        if error.hazards:
            _demand_stored_once(_of_one_block(answer))
        elif error.problem:
            _demand_stored(answer)
        text = GIVEN.sub("look at the index of `d`,", str(error))
        found: tuple[str, ...] = ()
        if error.problem and not error.hazards and "many-k-tiles" not in error.causes:
            found = _misplaced(answer, error.problem.K)
        causes = (*found, *error.causes)
        raise CheckFailed(text, error.hazards, causes, error.picture, error.problem) from None
    _demand_stored_once(verdict.events)
    code = re.sub(r"//[^\n]*", "", kernel.code)
    if not re.search(r"TensorMap\s+C\b", code):
        fail("the product is right, but C comes as a pointer in place of a map.", "pointer")


def _of_one_block(answer: Any, tiles: int = 1) -> list[list[Event]]:
    """What the warps of one block do, with one k-tile; C has so many tiles in each direction."""
    TM, TN, TK = LAUNCH.tile
    gemm = Gemm(TM * tiles, TN * tiles, TK, "float16")
    launch = LAUNCH.but(blocks=1)
    return gemm.simulated(_kernel_of(answer), gemm.integers(seed=0), launch, MOST_STEPS)[1].events


def _kernel_of(answer: Any) -> Any:
    return answer[0] if isinstance(answer, tuple) else answer


def _misplaced(answer: Any, K: int) -> tuple[str, ...]:
    """Why the sums of a tile come to other places, in a word that the hints know; () if it is none of these. At each
    place of C it is asked which row and which column of the product has come there. `K`: of a wrong product."""
    M, N, _ = LAUNCH.tile
    row, column = np.indices((M, N))
    came = rows, columns = (
        _comes_from(answer, (np.arange(M), np.ones(N))),
        _comes_from(answer, (np.ones(M), np.arange(N))),
    )
    if np.array_equal(came, (row & ~8 | column & 8, column & ~8 | row & 8)):
        return ("other-matrix",)
    if np.array_equal(columns, column):
        if not np.array_equal(rows, row):
            return ("other-row",)
        return () if _right_with(answer, K) else ("other-k-tiles",)
    if not np.array_equal(rows, row):
        return ()
    if ((columns == column) | (columns == column ^ 1)).all():
        return ("other-neighbour",)
    if not (columns == columns[0]).all():
        return ("other-swizzle",)
    return ("other-sums",) if (columns // 16 != column // 16).any() else ("other-chunk",)


def _right_with(answer: Any, K: int) -> bool:
    """Whether one block's product is right with this K."""
    gemm = Gemm(*LAUNCH.tile[:2], K, "float16")
    (A, B, C, *_), _ = gemm.simulated(_kernel_of(answer), gemm.integers(seed=0), LAUNCH, MOST_STEPS)
    return np.array_equal(C, product(A, B).astype(gemm.dtype))


def _comes_from(answer: Any, of_row_and_column: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """C of one block, whose element should be the product of its row's number and its column's; -1: not written."""
    gemm = Gemm(*LAUNCH.tile, "float16")
    A, B = (np.zeros_like(matrix) for matrix in gemm.integers(seed=0))
    A[:, 0], B[:, 0] = of_row_and_column
    C = gemm.simulated(_kernel_of(answer), (A, B), LAUNCH, MOST_STEPS)[0][2]
    return np.nan_to_num(C, nan=-1).astype(int)


def _demand_stored(answer: Any) -> None:
    """Somebody stores something, by the copy engine or by himself, and some of it comes to C."""
    if not _stores(_of_one_block(answer)):
        beyond = _stores(_of_one_block(answer, FAR))
        demand(not beyond, "with one block all boxes are stored beyond C.", "beyond-the-matrix")
        fail("nothing is stored to C.", "not-stored")


def _stores(warps: list[list[Event]]) -> bool:
    return any(isinstance(event, Store | BulkStore) for mine in warps for event in mine)


def _demand_stored_once(warps: list[list[Event]]) -> None:
    """The copy engine stores no more than the tile."""
    TM, TN, _ = LAUNCH.tile
    times = sum(event.bytes for mine in warps for event in mine if isinstance(event, BulkStore)) / (
        TM * TN * 2
    )
    demand(times <= 1, f"the copy engine is asked to store each box {times:.3g} times.", "stored-again")


EXERCISES = {"08.3": _box_by_box}
