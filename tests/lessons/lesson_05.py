"""Lesson 05."""

import re

from . import solved_kernel
from .lesson_04 import BLOCK

NOTEBOOK = "05_three_stage"
OTHERS: dict = {}
LAUNCHES = {
    "ring": {"tile": (256, 128, 32), "threads": 256, "shared_mem": 3 * 24576, "dtype": "float16"},
    "three_stage": {"tile": (256, 128, 32), "threads": 256, "shared_mem": 3 * 24576, "dtype": "float16"},
    "fastest": {"tile": (128, 256, 64), "threads": 256, "shared_mem": 3 * 49152, "dtype": "float16"},
}
RING = [
    (
        "wait for one group less",
        "wait_group<STAGES - 2>();    TRACE_END(wait, k_tile",
        "wait_group<STAGES - 1>();    TRACE_END(wait, k_tile",
        "unwaited-copy",
    ),
    (
        "no wait",
        "wait_group<STAGES - 2>();    TRACE_END(wait, k_tile",
        "TRACE_END(wait, k_tile",
        "unwaited-copy",
    ),
    (
        "no barrier in the loop",
        "__syncthreads();    TRACE_END(barrier, k_tile",
        "TRACE_END(barrier, k_tile",
        "read-after-write|unwaited-copy|write-after-read",
    ),
    ("no commit", "commit_group();", "", "unwaited-copy"),
    (
        "prologue of one k-tile less",
        "k_tile < STAGES - 1; ++k_tile) issue",
        "k_tile < STAGES - 2; ++k_tile) issue",
        "uninitialised-read|unwaited-copy|wrong",
    ),
    (
        "no group behind the end",
        "        }\n        commit_group();  ",
        "            commit_group();\n        }  ",
        "unwaited-copy",
    ),
    (
        "issue one k-tile too far",
        "issue(k_tile + STAGES - 1);",
        "issue(k_tile + STAGES);",
        "write-after-read|uninitialised|wrong|unwaited",
    ),
    (
        "store before all have read",
        "__syncthreads();                                  // all have read the last slot",
        "",
        "write-after-read",
    ),
]
WRONG = {
    "ring": [*BLOCK, *RING],
    "three_stage": [
        *BLOCK,
        *RING,
        ("sets mixed up", "multiply(sum, a[1], b[1]);", "multiply(sum, a[0], b[0]);", "wrong"),
        ("next step of the same slot", "load(min(k_tile + 1, K / TK - 1), 0);", "load(k_tile, 0);", "wrong"),
        (
            "beyond the last k-tile",
            "load(min(k_tile + 1, K / TK - 1), 0);",
            "load(k_tile + 1, 0);",
            "uninitialised-read|unwaited",
        ),
        ("first fragments not loaded", "    load(0, 0);\n", "", "wrong|NaN"),
        (
            "no barrier in the prologue",
            "__syncthreads();    TRACE_END(barrier, 0);",
            "TRACE_END(barrier, 0);",
            "read-after-write|unwaited-copy",
        ),
    ],
    "fastest": [
        (
            "moves on by one k-tile for each turn of several",
            "from[i] += STAGES * TK;",
            "from[i] += TK;",
            "wrong",
        ),
        (
            "wait for one group less",
            "if (ahead == 0) wait_group<STAGES - 2>()",
            "if (ahead == 0) wait_group<STAGES - 1>()",
            "unwaited-copy",
        ),
        (
            "no barrier in the loop",
            "wait_group<STAGES - 2>(), __syncthreads();",
            "wait_group<STAGES - 2>();",
            "read-after-write|write-after-read",
        ),
        (
            "the same slot again",
            "next = (slot + 1) % STAGES * SLOT * 2;",
            "next = slot * SLOT * 2;",
            "wrong",
        ),
        (
            "copies into the slot that is read",
            "slots + ahead % STAGES",
            "slots + (ahead + 1) % STAGES",
            "write-after-read|unwaited|wrong",
        ),
        ("one k-tile too far", "from[i] + ahead * TK", "from[i] + (ahead + 1) * TK", "wrong|out-of-bounds"),
        (
            "copies behind the end",
            "other, turn + other < k_tiles)",
            "other, true)",
            "out-of-bounds|write-after|wrong",
        ),
        ("fragments of B too early", "if (t % 8 == 7)", "if (t % 8 == 3)", "wrong"),
        ("sets of A mixed up", "a[step % 2][i], b", "a[ahead % 2][i], b", "wrong"),
        ("no commit", "if (i == 11) commit_group();", "", "unwaited-copy"),
        (
            "store before all have read",
            "__syncthreads();                                  // all have read the last slot",
            "",
            "write-after-read",
        ),
    ],
}
GAPS: list = []
_ISSUE_MATH = """\
        load_tile(k_tile + 3, (k_tile + 3) % 4);
        compute(k_tile % 4);
"""

WRONG_ANSWERS = {
    "05.1": [
        ("only use repaired", [("fill = (stage + 2) % 3", "fill = stage")], "overwritten"),
        ("only fill repaired", [("use = stage", "use = (stage + 2) % 3")], "overwritten"),
        ("the slot in the middle", [("fill = (stage + 2) % 3", "fill = (stage + 1) % 3")], "filled again"),
        (
            "copy before the barrier",
            [
                ("        load_tile(k_tile + 2, fill);\n", ""),
                (
                    "        wait_group<1>();",
                    "        load_tile(k_tile + 2, fill);\n        wait_group<2>();",
                ),
            ],
            "overwritten",
        ),
        (
            "barrier moved behind the math",
            [
                (
                    "        __syncthreads();\n        compute(use);",
                    "        compute(use);\n        __syncthreads();",
                )
            ],
            "barrier must follow",
        ),
        ("waits for too little", [("wait_group<1>", "wait_group<2>")], "before its copy landed"),
    ],
    "05.2": [
        ("wait not changed", [("wait_group<2>", "wait_group<1>")], "how many groups"),
        (
            "copies behind the math",
            [(_ISSUE_MATH, "".join(_ISSUE_MATH.splitlines(True)[::-1]))],
            "before the math",
        ),
        ("waits for too little", [("wait_group<2>", "wait_group<3>")], "before its copy landed"),
        ("prologue not changed", [("    load_tile(2, 2);\n", "")], ""),
        ("slots of the copies not changed", [("(k_tile + 3) % 4", "(k_tile + 3) % 3")], "agree on the slot"),
        (
            "slots of the math not changed",
            [("compute(k_tile % 4)", "compute(k_tile % 3)")],
            "must agree on the slot",
        ),
        (
            "issue not changed",
            [("load_tile(k_tile + 3, (k_tile + 3) % 4)", "load_tile(k_tile + 2, (k_tile + 2) % 4)")],
            "",
        ),
    ],
    "05.3": [
        (
            "no prologue",
            [("    for (int k_tile = 0; k_tile < 3; ++k_tile) load_tile(k_tile, k_tile);\n", "")],
            "",
        ),
        ("no barrier", [("        __syncthreads();\n        load_tile", "        load_tile")], ""),
        ("no wait", [("        wait_group<2>();\n", "")], "before its copy landed"),
        ("waits for all", [("wait_group<2>", "wait_group<0>")], "how many groups"),
        ("consume one too far", [("consume = k_tile % 4", "consume = (k_tile + 1) % 4")], ""),
    ],
}


def _with_launch(skeleton, solution, changes):
    return solved_kernel(skeleton[0], solution, changes), skeleton[1]


def _with_new_launch(skeleton, solution, changes):
    return solved_kernel(skeleton[0], solution, changes), eval(re.search(r"`(dict\(.*?\))`", solution)[1])


RIGHT_ANSWERS = {
    "05.2": [
        (
            "two barriers, and the wait behind the copies",
            [
                ("        wait_group<2>();\n        __syncthreads();\n", ""),
                (
                    _ISSUE_MATH,
                    _ISSUE_MATH.replace("\n", "\n        wait_group<3>();\n        __syncthreads();\n", 1)
                    + "        __syncthreads();\n",
                ),
            ],
        ),
        (
            "a group for each operand",
            [
                (
                    "K);\n            copy_rows<THREADS, TN",
                    "K);\n            commit_group();\n            copy_rows<THREADS, TN",
                ),
                ("wait_group<2>();", "if (k_tile + 2 < K / TK) wait_group<4>(); else wait_group<0>();"),
            ],
        ),
    ],
}
SOLVED = {"05.1": _with_launch, "05.2": _with_new_launch, "05.3": _with_launch}
