"""The exercises of lesson 04."""

from __future__ import annotations

import re
from functools import partial

from .common import checked_gemm, demand

SLOT = (128 + 64) * 32 * 2
"""Bytes of a slot in the rings of the exercises."""

_RING = partial(checked_gemm, tile=(128, 64, 32), threads=64, dtype="float16")


def _four_slots(answer: tuple) -> None:
    """A right ring of four slots that has three k-tiles on their way: one that waits for more is right and slower."""
    _RING(answer, shared_mem=4 * SLOT)
    code = re.sub(r"//.*", "", answer[0].code)
    counts = re.findall(r"wait_group<\s*(\d+)\s*>", code)
    right = "2" in counts or not counts
    demand(right and "wait_all" not in code, f"the product is right, but the wait allows {counts} groups.")


_FILLED = {
    "write-after-read": "a slot is overwritten while a slow warp still multiplies it. Which slot has been read by all?",
    "write-after-write|out-of-bounds": "two k-tiles share a slot, or a slot lies outside: count the slots.",
    "read-after-write": "wait_group is about a thread's own copies; a barrier must follow before others read them.",
    "uninitialised": "a slot is multiplied that nothing has filled. Write down what each slot holds in the first turn.",
    "unwaited-copy": "a k-tile is read before its copy landed. Count the groups that may still be on their way.",
}

EXERCISES = {
    "04.1": (partial(checked_gemm, tile=(32, 8, 32), threads=32, dtype="float16"), {
        "uninitialised|out-of-bounds|misaligned": "an address leaves the tile: rows of B are 0 to 7, those of A 0 to "
        "31, and each lane names the first of 8 halves.",
        "block-conflict": "lanes of two blocks write one element of C: a lane's row is 0 to 7, its column 0 to 6.",
        "": "lane l names row l % 8 of matrix l / 8; k-step s uses matrices 2 s and 2 s + 1 of B; "
        "a lane's results begin in row lane / 4, column lane % 4 * 2."}),
    "04.2": (partial(_RING, shared_mem=3 * SLOT), _FILLED | {
        "the launch is": "three slots of 12,288 bytes are right; repair the kernel.",
        "": "follow `stage` through the first turn: slot 0 holds k-tile 0, slot 2 holds nothing."}),
    "04.3": (_four_slots, {
        "the launch is": "four slots of 12,288 bytes; tile and threads stay.",
        "the wait allows": "three k-tiles can be on their way: how many groups may the wait leave?"} | _FILLED | {
        "": "prologue, wait, issue and both slot numbers: go through the rules of the ring one by one."}),
    "04.4": (_four_slots, {
        "the launch is": "four slots of 12,288 bytes are right; repair the kernel.",
        "the wait allows": "three k-tiles can be on their way: how many groups may the wait leave?"} | _FILLED | {
        "": "three k-tiles before the loop; in it wait, barrier, issue, math."}),
}  # fmt: skip
