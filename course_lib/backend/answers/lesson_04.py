"""The exercises of lesson 04."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...gemm import CheckFailed, Gemm
from ...report import simulate
from .common import checked_gemm, demand, k_tiles_on_their_way

SLOT = (128 + 64) * 32 * 2
"""Bytes of a slot in the rings of the exercises."""

_NARROW = {"tile": (32, 8, 32), "threads": 32}


def _narrow(answer: object) -> None:
    """A product of one warp. Of wrong numbers it says which operand brings them."""
    try:
        checked_gemm(answer, **_NARROW, dtype="float16")
    except CheckFailed as error:
        if "no hazard" not in str(error):
            raise
        raise CheckFailed(f"{error}\nTo blame: {_to_blame(answer)}") from None


def _to_blame(kernel: object) -> str:
    """C, A or B, or k: found with one operand full of ones, which hides its order."""
    gemm, random = Gemm(*_NARROW["tile"], "float16"), np.random.default_rng(4)
    A, B = (random.integers(-4, 5, (rows, gemm.K)).astype(np.float16) for rows in (gemm.M, gemm.N))

    def made(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        args = gemm.arguments(A, B)
        simulate(kernel, (1, 1), (_NARROW["threads"],), args)
        return args[2].astype(float), A.astype(float) @ B.astype(float).T

    found, expected = made(A, B)
    if np.array_equal(np.sort(found, None), np.sort(expected, None)):
        return "C"
    for name, operands in ("A", (A, np.ones_like(B))), ("B", (np.ones_like(A), B)):
        if not np.array_equal(*made(*operands)):
            return name
    return "k"


_RING = partial(checked_gemm, tile=(128, 64, 32), threads=64, dtype="float16")


def _four_slots(answer: tuple) -> None:
    """A right ring of four slots that has three k-tiles on their way: one that waits for more is right and slower."""
    kernel = _RING(answer, shared_mem=4 * SLOT)
    gemm = Gemm(128, 64, 12 * 32, "float16")
    report = simulate(kernel, (1, 1), (64,), gemm.arguments(*gemm.inputs), 4 * SLOT)
    count = k_tiles_on_their_way(report, 12)
    demand(
        count >= 3, f"the product is right, but only {count} of 3 k-tiles are on their way during the math."
    )


_FILLED = {
    "uninitialised-read": "a slot is multiplied that nothing has filled. Write down what each slot holds in the first "
    "turn.",
    "unwaited-copy": "a k-tile is read before its copy landed. Count the groups that may still be on their way.",
    "write-after-read": "a slot is overwritten while a slow warp still multiplies it. Which slot has been read by all?",
    "write-after-write": "a slot is filled again before its k-tile was read. Which k-tile comes next, and which "
    "slot is free?",
    "out-of-bounds": "a slot lies outside: count the slots, and the bytes of the launch.",
    "read-after-write": "wait_group is about a thread's own copies; a barrier must follow before others read them.",
}

EXERCISES = {
    "04.1": (_narrow, {
        "misaligned": "an `ldmatrix` row begins at a multiple of 8 halves, a `__half2` of C in an even column.",
        "uninitialised-read|out-of-bounds": "an address leaves the tile: rows of B are 0 to 7, those of A 0 to "
        "31, and each lane names the first of 8 halves.",
        "block-conflict": "lanes of two blocks write one element of C: a lane's row is 0 to 7, its column 0 to 6.",
        "To blame: C": "the numbers are right and lie in the wrong places: four lanes share a row of C.",
        "To blame: A": "the fragments of A are wrong, those of B are not: matrices 0 and 1 lie below each other, "
        "2 and 3 to the right of them, and a k-step is 16 columns.",
        "To blame: B": "the fragments of B are wrong, those of A are not: the four matrices are the same 8 rows, and "
        "k-step s uses matrices 2 s and 2 s + 1.",
        "To blame: k": "A and B bring different columns to one `mma`: k-step s is columns 16 s to 16 s + 15 of both.",
        "": "lane l names row l % 8 of matrix l / 8; the pictures of A and B show where each matrix belongs."}),
    "04.2": (partial(_RING, shared_mem=3 * SLOT), _FILLED | {
        "unwaited-copy": "a slot is read before its copy landed: the wait leaves too many groups, or the slot is "
        "filled again before its k-tile was read.",
        "the launch is": "three slots of 12,288 bytes are right; repair the kernel.",
        "": "`use` must be the slot of k-tile `k_tile`, `fill` that of k-tile `k_tile + 2`. Write both down for the "
        "first three turns: 0 and 2, 1 and 0, 2 and 1."}),
    "04.3": (_four_slots, {
        "the launch is": "four slots of 12,288 bytes; tile and threads stay.",
        "on their way during": "how many groups may the wait leave, and does the next copy start before the "
        "math?"} | _FILLED | {
        "uninitialised-read": "copies and math no longer agree on the slot: both count modulo 4, and three k-tiles are "
        "started before the loop.",
        "unwaited-copy": "a k-tile is read before its copy landed. Count the groups that may still be on their way; "
        "and copies and math must agree on the slot.",
        "": "prologue, wait, issue and both slot numbers: go through the rules of the ring one by one."}),
    "04.4": (_four_slots, {
        "the launch is": "four slots of 12,288 bytes are right; repair the kernel.",
        "on their way during": "how many groups may the wait leave, and does the next copy start before the "
        "math?"} | _FILLED | {
        "": "three k-tiles before the loop; in it wait, barrier, issue, math."}),
}  # fmt: skip
