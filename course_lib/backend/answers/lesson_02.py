"""The exercises of lesson 02."""

from __future__ import annotations

from functools import partial

from .common import ALL_READ, COMPLETE, FOR_ALL, checked_gemm, demand

SLOT = 2 * 4 * 8 * 128  # bytes of a k-tile of A and one of B
LANDED = {
    "unwaited-copy": "a thread must wait for its own copies before it tells the others that they have landed."
}
STILL_READS = {"write-after-read": "a fast warp overwrites the k-tile that a slow warp still reads."}


def _three_slots(answer: tuple) -> None:
    kernel = checked_gemm(answer, tile=(128, 128, 8), threads=288)
    slots = kernel.shared_size_bytes // SLOT
    demand(slots == 3, f"{slots} of 3 slots are there.")


EXERCISES = {
    "02.1": (partial(checked_gemm, tile=(64, 64, 16), threads=256), LANDED | COMPLETE | STILL_READS | {
        "out-of-bounds|never written|NaN": "the last k-tile has no next one; in every other turn there is one.",
        "": "k-tile k of A starts k * TK columns of M floats behind the first one; B has columns of N floats."}),
    "02.2": (partial(checked_gemm, tile=(64, 64, 16), threads=256, shared_mem=8192), ALL_READ | {
        "write-after-write": "the two tiles lie on top of each other. In what does &shared[...] count?"}
        | LANDED | COMPLETE | FOR_ALL | {
        "out-of-bounds": "both tiles together have 8192 bytes; one has half of them.",
        "": "follow k_tile through two turns: which k-tile is copied, and which one is multiplied?"}),
    "02.3": (_three_slots, {
        "the launch is": "8 warps compute and 1 copies: that is the number of threads; the tile stays.",
        "deadlock": "a named barrier waits for as many threads as it was told. Who comes, and to which number?",
        "of 3 slots": "the number of slots is a constant of the kernel.",
        "uninitialised-read": "one warp now copies all columns of the k-tile.",
        "": "each slot needs a full and an empty barrier of its own."}),
}  # fmt: skip
