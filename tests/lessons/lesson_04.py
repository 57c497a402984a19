"""Lesson 04."""

NOTEBOOK = "04_tensor_cores"
OTHERS: dict = {}
DTYPE = "float16"
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
    "plain_tile": [
        ("chunks of 4", "chunk * 8; }", "chunk * 4; }", "misaligned|wrong|uninitialised"),
        (
            "rows of half the length",
            "return row * TK",
            "return row * TK / 2",
            "wrong|uninitialised|write-after-write",
        ),
        ("one turn only", "i < ROWS; i += TURN", "i < TURN; i += TURN", "uninitialised"),
        ("all turns of the same rows", "+ chunk * 8 + i * stride", "+ chunk * 8", "made with row"),
        ("a row of A for each column", "lane % 16, 2 * step", "lane / 2, 2 * step", "look at A"),
        (
            "B as if it was A",
            "lane % 8 + lane / 16 * 8, 2 * step + lane / 8 % 2",
            "lane % 16, 2 * step + lane / 16",
            "look at B",
        ),
        ("halves in the place of bytes", "a_row, i * 16 * TK * 2", "a_row, i * 16 * TK", "look at A"),
        (
            "one fragment of B twice",
            "b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]",
            "b[j / 2][0], b[j / 2][1]",
            "look at B",
        ),
        ("no wait", "wait_all();", "", "unwaited-copy"),
        ("upper half of C twice", "[i % 8][i / 8 % 2 * 2]", "[i % 8][0]", "wrong"),
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
_A, _B = "As[lane % 16][lane / 16 * 8]", "Bs[lane % 8 + lane / 16 * 8][lane / 8 % 2 * 8]"
_PLACE = "return row * TK + (chunk ^ row / 4 % 2) * 8;"
_SYNC_READ = "        __syncthreads();                              // all have read it\n"
_WAIT = """        wait_group<0>();
        __syncthreads();                              // the k-tile is complete
"""
GAPS = ["04.1", "04.2", "04.3", "04.4"]
WRONG_ANSWERS = {
    "04.1": [
        ("B's order", [(_A, _B.replace("Bs", "As"))], "lies below matrix 0"),
        ("eight rows only", [(_A, "As[lane % 8][lane / 16 * 8]")], "first row and its first column"),
        ("chunks for columns", [(_A, "As[lane % 16][lane / 16]")], "column is 0 or 8"),
        ("the copy's address", [(_A, "As[lane / 2][lane % 2 * 8]")], "l % 8 is in the row"),
        ("the receiver's address", [(_A, "As[lane / 4][lane % 4 * 2]")], "column is 0 or 8"),
        ("a row for each lane", [(_A, "As[lane][0]")], "leaves the 16 x 16"),
        ("four columns of matrices", [(_A, "As[lane % 8][lane / 8 * 8]")], "lies below matrix 0"),
        ("row and column exchanged", [(_A, "As[lane / 16 * 8][lane % 16]")], "column is 0 or 8"),
    ],
    "04.2": [
        ("A's order", [(_B, "Bs[lane % 16][lane / 16 * 8]")], "the order of A"),
        ("eight rows only", [(_B, "Bs[lane % 8][lane / 8 % 2 * 8]")], "first row and its first column"),
        (
            "the second fragment first",
            [(_B, "Bs[lane % 8 + (1 - lane / 16) * 8][lane / 8 % 2 * 8]")],
            "first row and its",
        ),
        (
            "halves of the fragment exchanged",
            [(_B, "Bs[lane % 8 + lane / 16 * 8][8 - lane / 8 % 2 * 8]")],
            "first row and its",
        ),
        ("chunks for columns", [(_B, "Bs[lane % 8 + lane / 16 * 8][lane / 8 % 2]")], "column is 0 or 8"),
        ("four rows of matrices", [(_B, "Bs[lane][0]")], "leaves the 16 x 16"),
        (
            "the same row eight times",
            [(_B, "Bs[lane / 16 * 8][lane / 8 % 2 * 8]")],
            "l % 8 is in the row",
        ),
        ("the receiver's address", [(_B, "Bs[lane / 4][lane % 4 * 2]")], "column is 0 or 8"),
    ],
    "04.3": [
        (
            "A read like B",
            [
                ("16 * i + lane % 16", "16 * i + lane % 8 + lane / 16 * 8"),
                ("16 * step + lane / 16 * 8", "16 * step + lane / 8 % 2 * 8"),
            ],
            "matrices 0 and 1 of A",
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
            "k = 0 to 7 of the k-step",
        ),
        ("one matrix too far", [("b[2 * step + 1]", "b[(2 * step + 2) % 4]")], "matrices 2 s and 2 s + 1"),
        (
            "b exchanged",
            [("b[2 * step], b[2 * step + 1]", "b[2 * step + 1], b[2 * step]")],
            "k = 0 to 7 of the k-step",
        ),
        (
            "the same columns of A in both steps",
            [("16 * step + lane / 16 * 8", "lane / 16 * 8")],
            "a k-step is 16 columns",
        ),
        ("the same rows of A twice", [("16 * i + lane % 16", "lane % 16")], "matrices 0 and 1 of A"),
        ("step in chunks", [("16 * step + lane / 16 * 8", "step + lane / 16 * 8")], "multiple of 8 halves"),
        ("an odd column of C", [("+ lane % 4 * 2;", "+ lane % 4;")], "even column"),
        (
            "columns of C in another order",
            [("+ lane % 4 * 2;", "+ lane % 4 * 2 % 8 * 3 % 8;")],
            "four lanes share a row of C",
        ),
        ("eight lanes in a row of C", [("+ lane / 4)", "+ lane / 8)")], "two lanes write one element of C"),
        ("a row of C for each lane", [("+ lane / 4)", "+ lane)")], "stores outside of C"),
        (
            "row and column of C exchanged",
            [("+ lane / 4)", "+ lane % 4 * 2)"), ("+ lane % 4 * 2;", "+ lane / 4;")],
            "even column",
        ),
    ],
    "04.4": [
        ("plain", [(_PLACE, "return row * TK + chunk * 8;")], "rows that meet"),
        (
            "the lesson's swizzle",
            [(_PLACE, "return row * TK + (chunk ^ row * TK / 64 % (TK / 8)) * 8;")],
            "each used once",
        ),
        ("the line", [(_PLACE, "return row * TK + (chunk ^ row / 2 % 4) * 8;")], "each used once"),
        ("each row", [(_PLACE, "return row * TK + (chunk ^ row % 2) * 8;")], "rows that meet"),
        (
            "a sum without end",
            [(_PLACE, "return row * TK + (chunk + row / 4) * 8;")],
            "each used once",
        ),
        ("one further in each row", [(_PLACE, "return row * TK + (chunk + row) % 6 * 8;")], "rows that meet"),
        (
            "two places further",
            [(_PLACE, "return row * TK + (chunk + row / 4 * 2) % 6 * 8;")],
            "rows that meet",
        ),
        ("in bytes", [(_PLACE, "return (row * TK + (chunk ^ row / 4 % 2) * 8) * 2;")], "each used once"),
        (
            "chunk without its 8",
            [(_PLACE, "return row * TK + (chunk ^ row / 4 % 2);")],
            "8 * seat",
        ),
        (
            "padded",
            [
                ("As[16 * TK], Bs[16 * TK]", "As[16 * 56], Bs[16 * 56]"),
                (_PLACE, "return row * 56 + chunk * 8;"),
            ],
            "do not pad",
        ),
    ],
    "04.5": [
        ("no wait", [("        wait_group<0>();\n", "")], "nobody waited for"),
        ("a wait that allows the group", [("wait_group<0>", "wait_group<1>")], "nobody waited for"),
        ("no group closed", [("        commit_group();\n", "")], "close the group"),
        ("k-tiles one column apart", [("* TM * K + k_tile * TK", "* TM * K + k_tile")], "column k_tile * TK"),
        ("warps side by side", [("warp % 2 * 64, n = warp / 2 * 64", "warp % 2, n = warp / 2")], "0 or 64"),
        (
            "the first rows of A in each block",
            [("A + blockIdx.x * TM * K + ", "A + ")],
            "A begins at row blockIdx",
        ),
        (
            "rows of B by their index alone",
            [("slot + (TM + n) * TK", "slot + n * TK")],
            "the warp at (m, n)",
        ),
        (
            "wait behind the barrier",
            [
                (
                    "        wait_group<0>();\n        __syncthreads();",
                    "        __syncthreads();\n        wait_group<0>();",
                )
            ],
            "first the wait, then a barrier",
        ),
        (
            "no first barrier",
            [("        __syncthreads();                              // the k-tile is complete\n", "")],
            "first the wait, then a barrier",
        ),
        ("no second barrier", [(_SYNC_READ, "")], "a fast warp overwrites"),
        ("half of the k-steps", [("step < TK / 16", "step < TK / 32")], "64 / 16 k-steps"),
        (
            "B over A",
            [("copy_rows<THREADS, TN, TK>(slot + TM * TK,", "copy_rows<THREADS, TN, TK>(slot,")],
            "behind TM * TK",
        ),
        (
            "the first k-tile only",
            [("A + blockIdx.x * TM * K + k_tile * TK, K", "A + blockIdx.x * TM * K, K")],
            "move on by TK",
        ),
        (
            "both tiles always the first",
            [("* TM * K + k_tile * TK", "* TM * K"), ("* TN * K + k_tile * TK", "* TN * K")],
            "moves on by TK",
        ),
        (
            "one turn too few",
            [("k_tile < K / TK; ++k_tile", "k_tile < K / TK - 1; ++k_tile")],
            "K / TK turns",
        ),
        ("two pairs of warps", [("m = warp % 2 * 64", "m = warp / 2 * 64")], "four different pairs"),
        ("all warps the first rows of A", [("slot + m * TK", "slot")], "from m on"),
        (
            "M for K",
            [("+ k_tile * TK, K);\n        copy_rows", "+ k_tile * TK, M);\n        copy_rows")],
            "K halves apart",
        ),
    ],
}
_LOOP_BODY = """        copy_rows<THREADS, TM, TK>(slot, A + blockIdx.x * TM * K + k_tile * TK, K);
        copy_rows<THREADS, TN, TK>(slot + TM * TK, B + blockIdx.y * TN * K + k_tile * TK, K);
        commit_group();
"""
RIGHT_ANSWERS = {
    "04.1": [
        ("row in two parts", [(_A, "As[lane % 8 + lane / 8 % 2 * 8][lane / 16 * 8]")]),
        ("bits", [(_A, "As[lane & 15][(lane >> 4) << 3]")]),
        ("a condition", [(_A, "As[lane % 16][lane < 16 ? 0 : 8]")]),
        ("half a row as a bit", [(_A, "As[lane & 15][lane / 2 & 8]")]),
    ],
    "04.2": [
        ("bits", [(_B, "Bs[lane & 7 | (lane & 16) >> 1][lane & 8]")]),
        ("a condition", [(_B, "Bs[lane % 8 + (lane < 16 ? 0 : 8)][lane / 8 % 2 ? 8 : 0]")]),
        ("the rest of 16", [(_B, "Bs[lane / 16 * 8 + lane % 16 % 8][lane % 16 / 8 * 8]")]),
    ],
    "04.3": [
        (
            "bits",
            [
                ("Bs[lane % 8][lane / 8 * 8]", "Bs[lane & 7][lane & 24]"),
                ("16 * step + lane / 16 * 8", "16 * step | (lane & 16) >> 1"),
            ],
        ),
        ("row in parts", [("16 * i + lane % 16", "lane / 8 % 2 * 8 + i * 16 + lane % 8")]),
        (
            "matrices in another order, in A and in B",
            [
                ("Bs[lane % 8][lane / 8 * 8]", "Bs[lane % 8][(lane / 8 ^ 1) * 8]"),
                ("16 * step + lane / 16 * 8", "16 * step + 8 - lane / 16 * 8"),
            ],
        ),
        (
            "a column of C with a mask",
            [("+ lane % 4 * 2;", "+ (lane & 3) * 2;"), ("+ lane / 4)", "+ (lane >> 2))")],
        ),
    ],
    "04.4": [
        ("a sum", [(_PLACE, "return row * TK + (chunk + row / 4) % 6 * 8;")]),
        (
            "one place in every second group of rows",
            [(_PLACE, "return row * TK + (chunk + row / 4 % 2) % 6 * 8;")],
        ),
        (
            "an if",
            [
                (
                    _PLACE,
                    "if (row & 4) chunk = chunk % 2 ? chunk - 1 : chunk + 1;\n    return row * TK + chunk * 8;",
                )
            ],
        ),
        ("bits", [(_PLACE, "return row * TK + ((chunk << 3) ^ ((row & 4) << 1));")]),
        ("three places further", [(_PLACE, "return row * TK + (chunk + row / 4 % 2 * 3) % 6 * 8;")]),
    ],
    "04.5": [
        ("all copies", [("        commit_group();\n        wait_group<0>();", "        wait_all();")]),
        (
            "counted in columns",
            [
                ("int k_tile = 0; k_tile < K / TK; ++k_tile", "int k = 0; k < K; k += TK"),
                ("* TM * K + k_tile * TK", "* TM * K + k"),
                ("* TN * K + k_tile * TK", "* TN * K + k"),
            ],
        ),
        (
            "warps along N first",
            [("m = warp % 2 * 64, n = warp / 2 * 64", "m = warp / 2 * 64, n = warp % 2 * 64")],
        ),
        (
            "one copy ahead of the loop",
            [
                (
                    "for (int k_tile",
                    "copy_rows<THREADS, TM, TK>(slot, A + blockIdx.x * TM * K, K);\n    "
                    "copy_rows<THREADS, TN, TK>(slot + TM * TK, B + blockIdx.y * TN * K, K);\n    commit_group();\n"
                    "    for (int k_tile",
                ),
                (_LOOP_BODY, ""),
                (
                    _SYNC_READ,
                    _SYNC_READ
                    + "        if (k_tile + 1 < K / TK) {\n"
                    + _LOOP_BODY.replace("k_tile * TK", "(k_tile + 1) * TK")
                    + "        }\n",
                ),
            ],
        ),
        (
            "steps unrolled by hand",
            [
                (
                    "for (int step = 0; step < TK / 16; ++step) {",
                    "#pragma unroll\n        for (int step = 3; step >= 0; --step) {",
                )
            ],
        ),
    ],
}
SOLVED: dict = {}
