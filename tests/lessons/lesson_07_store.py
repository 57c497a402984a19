"""Lesson 07, the sitting about results: its kernel and its exercise."""

NOTEBOOK = "07_hopper"
OTHERS: dict = {}
DTYPE = "float16"

WAIT_READ = "                if (thread == 0) wait_stores_read();\n"
WRONG = {
    "complete": [
        ("no fence", "                fence_async();\n", "", "missing-proxy-fence"),
        ("nobody waits for the reads", WAIT_READ, "", "write-after-read"),
        (
            "no barrier behind that wait",
            "named_sync<128>(1 + mine / 64);\n                for",
            "for",
            "write-after-read",
        ),
        (
            "no barrier before the store",
            "fence_async();\n                named_sync<128>(1 + mine / 64);\n",
            "fence_async();\n",
            "read-after-write|missing-proxy-fence",
        ),
        ("no wait at the end", "        if (thread == 0) wait_stores();\n", "", "exited-block"),
        ("no swizzle", " ^ lane % 8", "", "wrong places"),
        ("both halves to the same columns", "n + half * 128 + box * 64", "n + box * 64", "are wrong"),
        ("sums of the first half twice", "d + half * 64 + j * 8", "d + j * 8", "wrong|made with"),
    ]
}

GAPS = ["07.3"]
SOLVED: dict = {}

FENCE, WAIT = "        fence_async();\n", "        if (thread == 0) wait_stores_read();\n"
BARRIER, COMMIT = "        __syncthreads();\n", "            commit_stores();\n"
MATRICES = (
    "            stmatrix_x4(s.C + row * 64 + chunk * 8, packed(sum[0], sum[1]), packed(sum[2], sum[3]),\n"
    "                        packed(sum[4], sum[5]), packed(sum[6], sum[7]));\n"
)
PAIRS = """\
            for (int i = 0; i < 4; ++i) {
                int r = warp * 16 + i % 2 * 8 + lane / 4, at = (2 * j + i / 2) ^ r % 8;
                *(unsigned*)&s.C[r * 64 + at * 8 + lane % 4 * 2] = packed(sum[2 * i], sum[2 * i + 1]);
            }
"""
RIGHT_ANSWERS = {
    "07.3": [
        (
            "waits right after the store",
            [
                (WAIT + BARRIER, ""),
                (COMMIT + "        }\n", COMMIT + "            wait_stores_read();\n        }\n" + BARRIER),
            ],
        ),
        ("pairs in place of matrices", [(MATRICES, PAIRS)]),
        ("waits until C is written", [("wait_stores_read()", "wait_stores()")]),
        (
            "the storing thread fences",
            [
                (FENCE + BARRIER, BARRIER),
                ("            store_box", "            fence_async();\n            store_box"),
            ],
        ),
        (
            "another thread stores",
            [
                ("if (thread == 0) wait_stores", "if (thread == 64) wait_stores"),
                ("if (thread == 0) {\n            store", "if (thread == 64) {\n            store"),
            ],
        ),
        ("only reads at the end", [("wait_stores();\n}", "wait_stores_read();\n}")]),
    ]
}
WRONG_ANSWERS = {
    "07.3": [
        ("no fence", [(FENCE, "")], "a proxy of its own"),
        ("nobody waits for the reads", [(WAIT, "")], "still reads the one before"),
        ("no commit", [(COMMIT, "")], "still reads the one before"),
        ("no barrier behind the wait", [(WAIT + BARRIER, WAIT)], "The others learn it"),
        ("no barrier before the store", [(FENCE + BARRIER, FENCE)], "one thread starts the store for all"),
        ("no swizzle", [(" ^ row % 8", "")], "c ^ r % 8"),
        ("swizzled by another row", [("^ row % 8", "^ row / 8")], "c ^ r % 8"),
        ("all boxes to the same columns", [("n + box * 64", "n")], "from 64 b on"),
        ("the sums of the first box", [("d + box * 32", "d")], "begin at d[32 b]"),
        (
            "matrices in another order",
            [
                (
                    "packed(sum[2], sum[3]),\n                        packed(sum[4], sum[5])",
                    "packed(sum[4], sum[5]),\n                        packed(sum[2], sum[3])",
                )
            ],
            "not in its place",
        ),
        (
            "a barrier for one thread",
            [
                (
                    BARRIER + "        if (thread == 0) {\n            store",
                    "        if (thread == 0) {\n    " + BARRIER + "            store",
                )
            ],
            "move it out of the if",
        ),
        ("16 rows for all warps", [("warp * 16 + lane % 16", "lane % 16")], "which row and which chunk"),
        ("no wait at the end", [("    if (thread == 0) wait_stores();\n", "")], "gives its shared memory"),
    ]
}
