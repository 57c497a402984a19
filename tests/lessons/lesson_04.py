"""Lesson 04."""

import re

from . import solved_kernel

NOTEBOOK = "04_three_stage"
OTHERS: dict = {}
LAUNCHES = {
    "one_warp": {"tile": (16, 16, 16), "threads": 32, "dtype": "float16"},
    "warp_tile": {"tile": (64, 64, 32), "threads": 32, "dtype": "float16"},
    "one_stage": {"tile": (256, 128, 32), "threads": 256, "shared_mem": 24576, "dtype": "float16"},
    "ring": {"tile": (256, 128, 32), "threads": 256, "shared_mem": 3 * 24576, "dtype": "float16"},
    "three_stage": {"tile": (256, 128, 32), "threads": 256, "shared_mem": 3 * 24576, "dtype": "float16"},
    "fastest": {"tile": (128, 256, 64), "threads": 256, "shared_mem": 3 * 49152, "dtype": "float16"},
}
COPY_B = "B + blockIdx.y * TN * K + k_tile * TK, K"
BLOCK = [
    (
        "last k-tile skipped",
        "int k_tile = 0; k_tile < K / TK; ++k_tile",
        "int k_tile = 0; k_tile < K / TK - 1; ++k_tile",
        "without the last k-tile|NaN|wrong",
    ),
    (
        "same k-tile each time",
        "A + blockIdx.x * TM * K + k_tile * TK, K",
        "A + blockIdx.x * TM * K, K",
        "wrong numbers",
    ),
    ("B with the columns of C", COPY_B, "B + blockIdx.y * TN * K + k_tile * TK, N", "wrong|out-of-bounds"),
    ("B over A", "slot + TM * TK, " + COPY_B, "slot, " + COPY_B, "write-after-write|uninitialised-read"),
    (
        "the other warps' rows",
        "n = warp / (TM / 64) * 64",
        "n = warp % 2 * 64",
        "block-conflict|wrong|NaN|write-after|read-after",
    ),
    (
        "row stride of C",
        "N + blockIdx.y * TN + n, N, sum",
        "N + blockIdx.y * TN + n, M, sum",
        "wrong|out-of-bounds|block-conflict",
    ),
]
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
    "one_warp": [
        ("fragments of B turned round", "a, b[0], b[1]", "a, b[1], b[0]", "wrong"),
        ("halves of two fragments", "d[0], a, b[0], b[1]", "d[0], a, b[0], b[2]", "wrong"),
        (
            "B as if it was A",
            "&Bs[lane % 8 + lane / 16 * 8][lane / 8 % 2 * 8]",
            "&Bs[lane % 16][lane / 16 * 8]",
            "wrong",
        ),
        ("one row for all", "&As[lane % 16]", "&As[lane / 16]", "wrong"),
        ("left half only", "lane / 16 * 8]);\n        ldmatrix_x4(b", "0]);\n        ldmatrix_x4(b", "wrong"),
        ("no barrier after the copy", "__syncwarp();\n        unsigned", "unsigned", "read-after-write"),
        ("no barrier after the math", "__syncwarp();\n    }", "}", "write-after-read"),
        ("columns of C", "lane % 4 * 2;", "lane % 4;", "misaligned|wrong|block-conflict"),
        ("rows of C", "C[j * 8 + 8 * N]", "C[j * 8 + 4 * N]", "wrong|write-after-write|NaN|block-conflict"),
    ],
    "warp_tile": [
        (
            "read without the swizzle",
            "As + swizzled<TK>(lane % 16, 2 * step + lane / 16)",
            "As + lane % 16 * TK + (2 * step + lane / 16) * 8",
            "wrong",
        ),
        (
            "swizzle that drops a row",
            "chunk ^ row * TK / 64 % (TK / 8)",
            "chunk ^ row * TK / 64",
            "out-of-bounds|wrong|uninitialised",
        ),
        (
            "swizzle with a sum",
            "chunk ^ row * TK / 64 % (TK / 8)",
            "chunk + row * TK / 64 % (TK / 8)",
            "wrong|uninitialised|out-of|write-after-write",
        ),
        ("second step left out", "step < TK / 16;", "step < TK / 16 - 1;", "wrong"),
        ("step in halves", "2 * step + lane / 16)", "step + lane / 16)", "wrong"),
        ("rows of 8", "b_row, i * 16 * TK * 2", "b_row, i * 8 * TK * 2", "wrong"),
        ("no wait", "wait_all();", "", "unwaited-copy"),
        ("no barrier after the wait", "__syncwarp();\n        for", "for", "read-after-write|unwaited-copy"),
        (
            "fragments of B",
            "b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]",
            "b[j / 2][j % 2], b[j / 2][j % 2 + 2]",
            "wrong",
        ),
    ],
    "one_stage": [
        *BLOCK,
        ("no wait", "wait_group<0>();", "", "unwaited-copy"),
        ("wait that waits for nothing", "wait_group<0>();", "wait_group<1>();", "unwaited-copy"),
        ("first barrier removed", "__syncthreads();    TRACE", "TRACE", "read-after-write|unwaited-copy"),
        (
            "second barrier removed",
            "__syncthreads();                              // all have read it",
            "",
            "write-after-read",
        ),
        (
            "rows of a piece",
            "(half * 8 + lane / 4) * 72",
            "(half * 4 + lane / 4) * 72",
            "wrong|uninitialised|write-after-write",
        ),
        (
            "one piece for two warps",
            "slot + warp * 16 * 72",
            "slot + warp * 8 * 72",
            "write-after|read-after|wrong",
        ),
    ],
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
GAPS = ["04.1"]
_ISSUE_MATH = """\
        load_tile(k_tile + 3, (k_tile + 3) % 4);
        compute(k_tile % 4);
"""

WRONG_ANSWERS = {
    "04.1": [
        (
            "A read like B",
            [
                ("16 * i + lane % 16", "16 * i + lane % 8 + lane / 16 * 8"),
                ("16 * step + lane / 16 * 8", "16 * step + lane / 8 % 2 * 8"),
            ],
            "fragments of A are wrong",
        ),
        ("B read like A", [("Bs[lane % 8]", "Bs[lane % 16]")], "leaves the tile"),
        (
            "both matrices of the first step",
            [("b[2 * step]", "b[0]"), ("b[2 * step + 1]", "b[1]")],
            "matrices 2 s and 2 s + 1",
        ),
        (
            "matrices two apart",
            [("b[2 * step + 1]", "b[step + 2]"), ("b[2 * step]", "b[step]")],
            "different columns",
        ),
        ("step in chunks", [("16 * step + lane / 16 * 8", "step + lane / 16 * 8")], "multiple of 8 halves"),
        ("an odd column of C", [("+ lane % 4 * 2;", "+ lane % 4;")], "even column"),
        (
            "columns of C in another order",
            [("+ lane % 4 * 2;", "+ lane % 4 * 2 % 8 * 3 % 8;")],
            "wrong places",
        ),
        (
            "row and column of C exchanged",
            [("+ lane / 4)", "+ lane % 4 * 2)"), ("+ lane % 4 * 2;", "+ lane / 4;")],
            "even column",
        ),
    ],
    "04.2": [
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
    "04.3": [
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
    "04.4": [
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
    "04.3": [
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
SOLVED = {"04.2": _with_launch, "04.3": _with_new_launch, "04.4": _with_launch}
