"""The exercises of lesson 05."""

from __future__ import annotations

from functools import partial

from ...gemm import Gemm
from ...report import simulate
from .common import checked_gemm, demand, k_tiles_on_their_way

SLOT = (128 + 64) * 32 * 2
"""Bytes of a slot in the rings of the exercises."""

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
    "05.1": (partial(_RING, shared_mem=3 * SLOT), _FILLED | {
        "unwaited-copy": "a slot is read before its copy landed: the wait leaves too many groups, or the slot is "
        "filled again before its k-tile was read.",
        "the launch is": "three slots of 12,288 bytes are right; repair the kernel.",
        "": "`use` must be the slot of k-tile `k_tile`, `fill` that of k-tile `k_tile + 2`. Write both down for the "
        "first three turns: 0 and 2, 1 and 0, 2 and 1."}),
    "05.2": (_four_slots, {
        "the launch is": "four slots of 12,288 bytes; tile and threads stay.",
        "on their way during": "how many groups may the wait leave, and does the next copy start before the "
        "math?"} | _FILLED | {
        "uninitialised-read": "copies and math no longer agree on the slot: both count modulo 4, and three k-tiles are "
        "started before the loop.",
        "unwaited-copy": "a k-tile is read before its copy landed. Count the groups that may still be on their way; "
        "and copies and math must agree on the slot.",
        "": "prologue, wait, issue and both slot numbers: go through the rules of the ring one by one."}),
    "05.3": (_four_slots, {
        "the launch is": "four slots of 12,288 bytes are right; repair the kernel.",
        "on their way during": "how many groups may the wait leave, and does the next copy start before the "
        "math?"} | _FILLED | {
        "": "three k-tiles before the loop; in it wait, barrier, issue, math."}),
}  # fmt: skip
