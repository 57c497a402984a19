"""Lesson 02."""

import re

import numpy as np

from tests.kernels.case import poison, random

from . import solved_kernel

NOTEBOOK = "02_producer_consumer"
TILE = (128, 128, 8)
LAUNCHES = {
    "one_buffer": {"tile": TILE, "threads": 256},
    "early_copy": {"tile": TILE, "threads": 256},
    "through_registers": {"tile": TILE, "threads": 256},
    "specialised": {"tile": TILE, "threads": 384},
}


def _round_trip(integers):
    def make():
        x = random(3).randn(2048).astype("f4")
        return [np.rint(10 * x) if integers else x, poison(2048, "f4")]

    return make, (2,), (256,), lambda a: {1: a[0].reshape(2, 1024)[:, ::-1].reshape(2048)}


def _hand_over(integers):
    make, *_ = _round_trip(integers)
    return make, (1,), (64,), lambda a: {1: a[0].reshape(64, 32)[:, ::-1].reshape(2048)}


OTHERS = {"round_trip": _round_trip, "hand_over": _hand_over}

COMPLETE = "__syncthreads();                              // the k-tile is complete"
ALL_READ = "__syncthreads();                              // all have read it"
NO_WAIT = ("wait removed", "wait_all();", "", "unwaited-copy")
NO_FIRST = ("first barrier removed", COMPLETE, "", "read-after-write|uninitialised-read")
NO_SECOND = ("second barrier removed", ALL_READ, "", "write-after-read")
NO_LAST_TILE = (
    "last k-tile skipped",
    "k_tile < K / TK;",
    "k_tile < K / TK - 1;",
    "without the last k-tile|NaN|wrong",
)
MATH = [
    ("k off by one", "k < TK;", "k < TK - 1;", "without the last k of every k-tile|uninitialised|wrong"),
    ("rows of A for B", "m, n);\n", "n, m);\n", "wrong"),
    ("transposed tile", "As[warp][4 * lane]", "As[lane / 4][lane % 4 * 32 + 4 * warp]", "wrong"),
]
AHEAD = [
    ("same k-tile each time", "A + (k_tile + 1) * TK * M", "A", "wrong"),
    (
        "columns of the other matrix",
        "B + (k_tile + 1) * TK * N",
        "B + (k_tile + 1) * TK * M",
        "wrong|out-of-bounds",
    ),
    ("one k-tile too few", "k_tile + 1 < K / TK)", "k_tile + 2 < K / TK)", "wrong|uninitialised"),
    ("one k-tile too many", "k_tile + 1 < K / TK)", "k_tile < K / TK)", "out-of-bounds|hazard|wrong"),
]

LANDED = "        wait_all();\n        TRACE_END(copy, k_tile);\n"
SAYS_FULL = "        named_arrive<THREADS>(FULL + slot);           // my part of the k-tile has landed\n"
WAITS_FOR_FULL = "named_sync<THREADS>(FULL + slot);"
WAITS_FOR_EMPTY = "if (k_tile >= SLOTS) named_sync<THREADS>(EMPTY + slot);"
SLOT = "int slot = k_tile % SLOTS;\n        TRACE_BEGIN(barrier, k_tile);\n        named_sync"

WRONG = {
    "one_buffer": [
        NO_WAIT, NO_FIRST, NO_SECOND, NO_LAST_TILE, *MATH,
        ("same k-tile each time", "A + k_tile * TK * M", "A", "wrong"),
        ("columns of the other matrix", "B + k_tile * TK * N", "B + k_tile * TK * M", "wrong|out-of-bounds"),
    ],
    "early_copy": [
        NO_WAIT, NO_FIRST, NO_SECOND, NO_LAST_TILE, *AHEAD, *MATH[1:],
        ("first copy missing", "copy_async<16>(&Bs[warp][4 * lane], B);", "", "uninitialised-read"),
    ],
    "through_registers": [
        NO_FIRST, NO_SECOND, NO_LAST_TILE, *AHEAD[:3], *MATH,
        ("B stored as A", "*(float4*)&Bs[warp][4 * lane] = next_b", "*(float4*)&As[warp][4 * lane] = next_b", "uninit"),
    ],
    "specialised": [
        ("wait removed", "wait_all();", "", "unwaited-copy"),
        ("nobody waits for full", WAITS_FOR_FULL, "", "deadlock|read-after-write|uninit|unwaited"),
        ("nobody waits for empty", WAITS_FOR_EMPTY, "", "deadlock|wrong"),
        ("arrives before it waited", LANDED + SAYS_FULL, SAYS_FULL + LANDED, "unwaited|read-after-write"),
        ("waits for empty at once", "if (k_tile >= SLOTS) named_sync", "named_sync", "deadlock"),
        ("empty one turn too early", WAITS_FOR_FULL, f"{WAITS_FOR_FULL} named_arrive<THREADS>(EMPTY + slot);",
         "hazard"),
        ("one barrier for all slots", "EMPTY = FULL + SLOTS", "EMPTY = FULL", "deadlock|hazard"),
        ("too many threads", "32 * PRODUCERS + 256", "32 * PRODUCERS + 288", "deadlock"),
        ("half the columns", "k < TK; k += PRODUCERS", "k < TK / 2; k += PRODUCERS", "uninitialised-read"),
        ("same slot", SLOT, SLOT.replace("k_tile % SLOTS", "0"), "deadlock|wrong|read-after|write-after|unwaited"),
    ],
}  # fmt: skip

GAPS = ["02.1"]
ALL_READ_LINE = (
    "        __syncthreads();                                                // all have read it\n"
)
WRONG_ANSWERS = {
    "02.1": [
        ("no wait", [("wait_all();", ";")], "wait for its own copies"),
        ("barrier before the wait", [("wait_all();  ", "__syncthreads();"), (COMPLETE, "wait_all(); // complete")],
         "between writing"),
        ("no second barrier", [(ALL_READ, ";")], "a slow warp still reads"),
        ("no end", [("k_tile + 1 < K / TK)", "true)")], "has no next one"),
        ("one too early", [("k_tile + 1 < K / TK)", "k_tile + 2 < K / TK)")], "columns of N floats"),
        ("this k-tile again", [("A + (k_tile + 1) * TK * M", "A + k_tile * TK * M")], "columns of M floats"),
        ("columns of M floats in B", [("(k_tile + 1) * TK * N", "(k_tile + 1) * TK * M")], "B has columns of N floats"),
    ],
    "02.2": [
        ("only the bytes", [(ALL_READ_LINE, "")],
         "a slow warp still multiplies"),
        ("only the barrier", [(" * sizeof(float)]", "]")], "In what does"),
        ("barrier behind the copies", [
            (ALL_READ_LINE, ""),
            ("B + k_tile * TK * N, N);\n", "B + k_tile * TK * N, N);\n        __syncthreads();\n")],
         "a slow warp still multiplies"),
        ("twice the bytes", [("TM * TK * sizeof(float)]", "2 * TM * TK * sizeof(float)]")], "have 8192 bytes"),
        ("loop from 0", [("int k_tile = 1;", "int k_tile = 0;")], "follow k_tile"),
    ],
    "02.3": [
        ("old producers", [("PRODUCERS = 1", "PRODUCERS = 4")], "waits for as many threads"),
        ("old slots", [("SLOTS = 3", "SLOTS = 2")], "a constant of the kernel"),
        ("barriers on top of each other", [("EMPTY = FULL + SLOTS", "EMPTY = FULL + 2")], "barrier"),
        ("old number of threads in the barriers", [("32 * PRODUCERS + 256", "384")], "waits for as many threads"),
        ("half of the columns", [("k < TK; k += PRODUCERS", "k < TK / 2; k += PRODUCERS")], "copies all columns"),
    ],
}  # fmt: skip


def _with_launch(skeleton, solution, changes):
    return solved_kernel(skeleton[0], solution, changes), eval(re.search(r"`(dict\(.*?\))`", solution)[1])


SOLVED = {"02.3": _with_launch}
