"""The exercise of lesson 08 about results: an epilogue through shared memory and the copy engine."""

import re
from typing import Any

from course_lib.check.gemm import Gemm
from course_lib.check.verdict import ONE_BLOCK, CheckFailed
from cupy_or_sim.launch import Launch
from ptxsim.observe.events import BulkStore, Event, Store

from .common import MOST_STEPS, checked, demand, fail

LAUNCH = Launch((64, 256, 64), 128, (64 * 64 + 256 * 64 + 64 * 64) * 2 + 64)
"""In shared memory: a k-tile of A and of B, one box of C, a barrier."""
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
            _demand_stored(_of_one_block(answer))
        text = GIVEN.sub("look at the index of `d`,", str(error))
        raise CheckFailed(text, error.hazards, error.causes, error.picture, error.problem) from None
    _demand_stored_once(verdict.events)
    code = re.sub(r"//[^\n]*", "", kernel.code)
    if not re.search(r"TensorMap\s+C\b", code):
        fail("the product is right, but C comes as a pointer in place of a map.", "pointer")


def _of_one_block(answer: Any) -> list[list[Event]]:
    """What the warps of one block do, with one k-tile."""
    kernel = answer[0] if isinstance(answer, tuple) else answer
    gemm = Gemm(*LAUNCH.tile, "float16")
    return gemm.simulated(kernel, gemm.integers(seed=0), LAUNCH, MOST_STEPS)[1].events


def _demand_stored(warps: list[list[Event]]) -> None:
    """Somebody stores something, by the copy engine or by himself."""
    stores = [event for mine in warps for event in mine if isinstance(event, Store | BulkStore)]
    demand(stores, "nothing is stored to C.", "not-stored")


def _demand_stored_once(warps: list[list[Event]]) -> None:
    """The copy engine stores no more than the tile."""
    TM, TN, _ = LAUNCH.tile
    times = sum(event.bytes for mine in warps for event in mine if isinstance(event, BulkStore)) / (
        TM * TN * 2
    )
    demand(times <= 1, f"the copy engine is asked to store each box {times:.3g} times.", "stored-again")


EXERCISES = {
    "08.3": _box_by_box,
}
