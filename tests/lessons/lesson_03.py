"""Lesson 03."""

import re

from tests.lessons.tables import answers_beside, variants

NOTEBOOK = "03_double_buffer"

LAYOUT = variants(
    """
too few bytes: uninitialised-read
    copy_async<16>(&As -> copy_async<8>(&As
column of the other matrix: wrong|out-of-bounds
    4 * lane + warp * N -> 4 * lane + warp * M
"""
)
AHEAD = variants(
    """
no wait: unwaited-copy
    wait_all();                           // my part of it has landed -> ;
no barrier: read-after-write|write-after
    __syncthreads();                      // it is complete -> ; //
last k-tile skipped: without the last k-tile|NaN|wrong
    k_tile < K / TK; ++k_tile -> k_tile < K / TK - 1; ++k_tile
copies behind the end: out-of-bounds
    k_tile + 1 < K / TK) issue -> k_tile < K / TK) issue
same k-tile again: wrong|one k-tile late|unwaited
    issue(k_tile + 1) -> issue(k_tile)
fragments of the old k-tile: wrong|write-after-read
    k < TK - 1 ? k_tile : next -> k_tile
wait one k-block late: unwaited|read-after-write|wrong
    if (k == TK - 1) { -> if (k == 0) {
behind the last k-tile: uninitialised|wrong
    min(k_tile + 1, K / TK - 1) -> k_tile + 1
no first fragments: NaN|wrong
    load(0, 0); ->
first k-tile not waited for: unwaited
    issue(0); wait_all(); __syncthreads(); -> issue(0); __syncthreads();
"""
)
WRONG = {
    "two_buffers": variants(
        """
no wait: unwaited-copy
    wait_all(); -> ;
no barrier: read-after-write|write-after
    __syncthreads(); -> ;
last k-tile skipped: without the last k-tile|NaN|wrong
    k_tile < K / TK; ++k_tile -> k_tile < K / TK - 1; ++k_tile
copies behind the end: out-of-bounds
    k_tile + 1 < K / TK) -> k_tile < K / TK)
last k-tile not copied: wrong|one k-tile late
    k_tile + 1 < K / TK) -> k_tile + 2 < K / TK)
same k-tile again: wrong|one k-tile late
    issue(k_tile + 1) -> issue(k_tile)
always buffer 0: write-after-read|unwaited|wrong
    k_tile % 2] -> 0]
no first k-tile: uninitialised-read|unwaited
    issue(0); -> ;
k off by one: without the last k of every k-tile
    k < TK; -> k < TK - 1;
shape of a warp: wrong
    warp % 2 * 64 -> warp % 2 * 32
"""
    )
    + LAYOUT,
    "double_buffer": AHEAD + LAYOUT,
    # Not "behind the last k-tile": NVRTC moves loads of 4 bytes behind the loop's branch, and none is left of that one.
    "narrow_loads": [
        *AHEAD[:1],
        *AHEAD[5:7],
        *variants(
            """
rows of the neighbour: wrong
    lane + 32 * i] -> lane + 31 * i]
columns of C: out-of-bounds|wrong|block-conflict
    8 * j * M] -> 8 * j * N]
columns of B: wrong
    warp + 8 * j] -> warp + 4 * j]
"""
        ),
    ],
}

# ---- exercises


def _lists(skeleton, solution, changes):
    """The three lists of 03.1."""
    for old, new in changes:
        assert old in solution
        solution = solution.replace(old, new)
    found = {}
    exec(re.search(r"```python\n(.*?)```", solution, re.DOTALL)[1], found)
    return found["multiplied_from"], found["issued"], found["issued_to"]


SOLVED = {"03.1": _lists}
GAPS = ["03.4"]

PROLOGUE = f"    issue(0, 0);{' ' * 38}// k-tile 0 has no turn before it\n"
WAIT_AND_BARRIER = "        wait_all();\n        __syncthreads();\n"
ISSUE_NEXT = "        if (k_tile + 1 < k_tiles) issue(k_tile + 1, (k_tile + 1) % 2);\n"
MULTIPLY = "        multiply(k_tile % 2);\n"
HEAD_OF_LOOP = "    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {\n"
LOOP = PROLOGUE + HEAD_OF_LOOP + WAIT_AND_BARRIER + ISSUE_NEXT + MULTIPLY + "    }\n"

OTHER_BUFFER = "    write = 1 - write;                                // the loop writes the other buffer\n"
COPY_B = "        copy_tile<THREADS>(Bs[write], B + k_tile * TK * N, N);\n"

COMPLETE = "            if (k == TK - 1) { wait_all(); __syncthreads(); }\n"
LOAD_NEXT = "            load((k + 1) % TK, (k < TK - 1 ? k_tile : next) % 2);\n"
ISSUE_EARLY = "            if (k == 0 && k_tile + 1 < k_tiles) issue(k_tile + 1, (k_tile + 1) % 2);\n"
BLOCKS = COMPLETE + LOAD_NEXT + ISSUE_EARLY + "            multiply(k);\n"

CAN_GO = "can go: all is right without it"
REMARKED = {
    "03.2": [
        ("one more behind the math", [(MULTIPLY, MULTIPLY + "        __syncthreads();\n")], CAN_GO),
        ("waits before the loop too", [(PROLOGUE, PROLOGUE + "    wait_all(); __syncthreads();\n")], CAN_GO),
    ],
    "03.3": [
        (
            "one more at the end",
            [("        write = 1 - write;\n", "        write = 1 - write; __syncthreads();\n")],
            CAN_GO,
        )
    ],
    "03.4": [
        ("a barrier in each k-block", [(BLOCKS, BLOCKS + "            __syncthreads();\n")], "can go"),
        ("two waits and barriers", [("k == TK - 1) {", "k >= TK - 2) {")], "once in a k-tile is enough"),
    ],
}
RIGHT_ANSWERS, WRONG_ANSWERS = answers_beside(__file__, **globals())
