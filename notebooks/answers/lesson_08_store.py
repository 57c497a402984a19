"""The exercise of lesson 08 about results: an epilogue through shared memory and the copy engine."""

import re

from cupy_or_sim.launch import Launch

from .common import checked_gemm, fail

LAUNCH = Launch((64, 256, 64), 128, (64 * 64 + 256 * 64 + 64 * 64) * 2 + 64)
"""In shared memory: a k-tile of A and of B, one box of C, a barrier."""


def _box_by_box(answer: object) -> None:
    """A right kernel whose copy engine writes C, and which waits for it before it ends."""
    kernel = checked_gemm(answer, LAUNCH, "float16")
    code = re.sub(r"//[^\n]*", "", kernel.code)
    if not re.search(r"TensorMap\s+C\b", code):
        fail("the product is right, but C comes as a pointer in place of a map.", "pointer")


EXERCISES = {
    "08.3": (_box_by_box, {
        "wrong-launch": "one slot, one box of C and a barrier, 49,216 bytes, are right; write the epilogue.",
        "left-out-of-barrier|barrier-divergence": "all threads must meet at a barrier: move it out of the if.",
        "missing-proxy-fence": "the copy engine reads through a proxy of its own. Which call shows it what a thread "
        "wrote? Before the barrier every thread that wrote makes it, between its writes and the store.",
        "copy-still-reads": "the next box is written while the copy "
        "engine still reads the one before. Who must wait for what, before anybody writes? A wait covers the stores of "
        "closed groups: who closes them, and does the same one thread start them and wait?",
        "read-after-write": "one thread starts the store for all: a barrier must stand between their writes and it.",
        "write-after-read": "the thread that started the stores has waited until they have read. The others learn it "
        "at a barrier.",
        "store-not-awaited": "two boxes go to one place of C: box b holds the columns from 64 b on.",
        "block-conflict": "two blocks write one place of C: in which row and column does this block's box begin?",
        "write-after-write": "two threads write one place: which row and which chunk does each lane name?",
        "misaligned": "stmatrix writes rows of 16 bytes, and the copy engine reads from multiples of 128 bytes.",
        "out-of-bounds": "s.C has 64 rows of 64 halves, one box: its rows are 0 to 63, and a chunk's place is 0 to 7. "
        "Which of the four boxes of C is in it?",
        "uninitialised-read": "a part of the box is stored and was never written: four warps write 16 rows each, and "
        "four stmatrix 16 columns each.",
        "deadlock|step-limit": "somebody waits for what nobody does. Do all threads come to every barrier?",
        "pointer": "leave the parameters as they are: store_box(C, column, row, s.C) writes C.",
        "exited-block": "a block that has ended gives its shared memory to the next one. At the end the thread that "
        "started the stores must wait until they have read it. Which stores are in a group, and who has closed it?",
        "rest-missing": "a part of C is never stored. Which boxes are stored, and to which column and row? `store_box` "
        "takes the column first.",
        "wrong-places": "each sum arrives, at another place. Which row and which chunk does each lane name, is the "
        "chunk swizzled by its row, and which sums are which matrix of stmatrix (matrix 1 lies below matrix 0)? "
        "`store_box` takes the column first.",
        "wrong-numbers": "A, B and `d` are right, and all is in order, but not in its place. Follow one sum: which of "
        "`d`, which row and which (swizzled) chunk of the box, which of the four matrices of stmatrix, which columns "
        "of C? `store_box` takes the column first.",
        "": "for each of four boxes: wait until the box has been read, barrier, 4 x stmatrix_x4, fence_async, barrier, "
        "and one thread: store_box and commit_stores."}),
}  # fmt: skip
