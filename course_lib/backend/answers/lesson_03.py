"""The exercises of lesson 03."""

from __future__ import annotations

from functools import partial

from .common import FOR_ALL, checked_gemm, demand, demand_kernel

PADDED_BY_1 = 2 * 8 * 4 * (129 + 129)  # bytes of the tiles in shared memory: two buffers, 8 columns each


def _padded_by_1(kernel: object) -> None:
    demand_kernel(kernel)
    shared = kernel.shared_size_bytes
    demand(shared == PADDED_BY_1, f"the tiles take {shared} bytes, with columns of 129 floats {PADDED_BY_1}.")
    checked_gemm(kernel, tile=(128, 128, 8), threads=256)


_TURNS = {
    "out-of-bounds": "behind the last k-tile there is no next one to copy.",
    "read-after-write": "a barrier must stand between the copy to a buffer and the first read from it.",
    "write-after-read": "a buffer is overwritten while slow warps still read it. Which barrier keeps them apart?",
    "uninitialised-read": "a buffer is read that nothing was copied to. Write down for the first two turns: which "
    "k-tile lies where, which buffer is written, which one is read?",
}

EXERCISES = {
    "03.1": (partial(checked_gemm, tile=(64, 64, 16), threads=256), FOR_ALL | {
        "unwaited-copy": "nothing waited for this copy. Wait for your own part first, and read the buffer of this "
        "k-tile. Or the new copy goes to the buffer you read: which k-tile do you issue?",
        "read-after-write": "wait_all() waits for a thread's own copies only. What makes sure that all parts arrived, "
        "and where must it stand?",
        "write-after-read": "the copy overwrites a buffer that slow warps still read: issue it behind the barrier.",
        "out-of-bounds.*of shared memory": "there are only buffers 0 and 1; which one holds k-tile t?",
        "out-of-bounds": "behind the last k-tile there is no next one to copy.",
        "": "k-tile t lies in buffer t % 2, and while it is read, k-tile t + 1 is on its way."}),
    "03.2": (partial(checked_gemm, tile=(64, 64, 16), threads=256), FOR_ALL | _TURNS | {
        "": "follow k_tile through the prologue and two turns: which k-tile is read, and from which buffer?"}),
    "03.3": (_padded_by_1, {
        "columns of 129": "keep PAD = 1; it is the copy that has to change.",
        "misaligned": "columns of 129 floats: every other one begins at an odd multiple of 4 bytes. How many bytes may "
        "one copy move then?",
        "write-after-write": "two threads copy to the same place. Lane x starts with float x now, not with 2 x.",
        "": "a part of the tile is never copied. A warp moves 32 floats in a turn now: how far apart are its turns?"}),
    "03.4": (partial(checked_gemm, tile=(64, 64, 16), threads=256), FOR_ALL | _TURNS | {
        "": "k-tile 0 must be there before the loop, and turn t copies k-tile t + 1, if there is one."}),
}  # fmt: skip
