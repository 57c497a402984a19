"""Lesson 04."""

NOTEBOOK = "04_tensor_cores"
OTHERS: dict = {}
LAUNCHES = {
    "one_warp": {"tile": (16, 16, 16), "threads": 32, "dtype": "float16"},
    "warp_tile": {"tile": (64, 64, 32), "threads": 32, "dtype": "float16"},
    "one_stage": {"tile": (256, 128, 32), "threads": 256, "shared_mem": 24576, "dtype": "float16"},
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
}
GAPS = ["04.1"]
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
}
RIGHT_ANSWERS: dict = {}
SOLVED: dict = {}
