"""The exercises of the bank for lesson 03."""

from tests.lessons import solved_numbers

FRAGMENTS = """            alignas(16) float a[4], b[4];             // fragments
            *(float4*)a = *(float4*)&As[buffer][k][m];
            *(float4*)b = *(float4*)&Bs[buffer][k][n];
"""
OUT = "        *(float4*)&C[j * M] = make_float4(acc[j][0], acc[j][1], acc[j][2], acc[j][3]);\n"
ONE_BY_ONE = "        for (int i = 0; i < 4; ++i)\n            C[i + j * M] = acc[j][i];\n"
LOAD = "load((k + 1) % TK, (k_tile + (k + 1) / TK) % 2, (k + 1) % 2);"
OLD_LOAD = "load((k + 1) % TK, k_tile % 2, (k + 1) % 2);"
NEXT_DONE = """            if (k == TK - 1) {
                wait_all();
                __syncthreads();                      // the next k-tile is complete
            }
"""
BARRIER = "        __syncthreads();                              // all parts of this k-tile have landed\n"
ISSUE = "        if (k_tile + 1 < k_tiles)\n            issue(k_tile + 1);\n"
MULTIPLY = "        multiply(k_tile % 2);\n"
IN_LOOP = "        wait_all();\n" + BARRIER + ISSUE + MULTIPLY

GAPS: list = []
RIGHT_ANSWERS = {
    "03.11": [
        ("a list of truths", [("(0, 1, 0, 1)", "[int(order in 'bd') for order in 'abcd']")]),
        ("floats", [("(0, 1, 0, 1)", "(0.0, 1.0, 0.0, 1.0)")]),
    ],
    "03.12": [
        (
            "two float4",
            [
                (
                    FRAGMENTS,
                    "            float4 a4 = *(float4*)&As[buffer][k][m], b4 = *(float4*)&Bs[buffer][k][n];\n"
                    "            float a[4] = {a4.x, a4.y, a4.z, a4.w}, b[4] = {b4.x, b4.y, b4.z, b4.w};\n",
                )
            ],
        ),
        (
            "x and y change places, turned in groups of lanes",
            [("int m = 4 * x, n = 4 * y;", "int m = threadIdx.x % 8 * 4, n = threadIdx.x / 8 * 4;")],
        ),
        (
            "a pointer to the results",
            [
                (OUT, "        ((float4*)(C + j * M))[0] = *(float4*)acc[j];\n"),
                ("float acc[4][4]", "alignas(16) float acc[4][4]"),
            ],
        ),
    ],
    "03.13": [
        (
            "a choice",
            [
                (
                    "(k_tile + (k + 1) / TK) % 2, (k + 1) % 2",
                    "k + 1 < TK ? k_tile % 2 : (k_tile + 1) % 2, (k + 1) % 2",
                )
            ],
        ),
        (
            "a name for the buffer",
            [
                (
                    NEXT_DONE,
                    "            int from = k_tile % 2;\n"
                    + NEXT_DONE.replace("complete\n", "complete\n                from ^= 1;\n"),
                ),
                ("(k_tile + (k + 1) / TK) % 2", "from"),
            ],
        ),
        (
            "counted in k-blocks",
            [
                (
                    LOAD,
                    "int next = k_tile * TK + k + 1;\n            load(next % TK, next / TK % 2, next % 2);",
                )
            ],
        ),
    ],
    "03.14": [
        (
            "a second barrier after the math",
            [(BARRIER + ISSUE + MULTIPLY, ISSUE + BARRIER + MULTIPLY + "        __syncthreads();\n")],
        ),
        (
            "a barrier more, before the copy",
            [(IN_LOOP, "        wait_all();\n        __syncthreads();\n" + ISSUE + BARRIER + MULTIPLY)],
        ),
        (
            "groups",
            [
                ("    issue(0);\n", "    issue(0);\n    commit_group();\n"),
                ("        wait_all();\n", "        wait_group<0>();\n"),
                (
                    "            issue(k_tile + 1);\n",
                    "            issue(k_tile + 1);\n        commit_group();\n",
                ),
            ],
        ),
    ],
}
WRONG_ANSWERS = {
    "03.11": [
        ("two buffers are enough", [("(0,", "(1,")], "waits for every copy"),
        ("two k-tiles", [("(0, 1,", "(0, 2,")], "Who has waited for it"),
        ("b waits too", [("(0, 1,", "(0, 0,")], "Who has waited for it"),
        ("started is on its way", [("1, 0, 1", "1, 1, 1")], "begins with a wait"),
        ("d waits for all", [("0, 1)", "0, 0)")], "leaves the newest group open"),
        ("d has two", [("0, 1)", "0, 2)")], "leaves the newest group open"),
        ("all overlap", [("(0, 1, 0, 1)", "(1, 1, 1, 1)")], "waits for every copy"),
        ("yes and no", [("(0,", "('no',")], "is a whole number"),
    ],
    "03.12": [
        (
            "as given",
            [
                ("int m = 4 * x, n = 4 * y;", "int m = x, n = y;"),
                (
                    FRAGMENTS,
                    "            float a[4], b[4];\n"
                    "            for (int i = 0; i < 4; ++i) a[i] = As[buffer][k][m + 8 * i];\n"
                    "            for (int j = 0; j < 4; ++j) b[j] = Bs[buffer][k][n + 8 * j];\n",
                ),
                (OUT, "        for (int i = 0; i < 4; ++i)\n            C[8 * i + 8 * j * M] = acc[j][i];\n"),
            ],
            "one load for the four floats of A",
        ),
        (
            "only A wide",
            [
                ("n = 4 * y;", "n = y;"),
                (
                    "            *(float4*)b = *(float4*)&Bs[buffer][k][n];\n",
                    "            for (int j = 0; j < 4; ++j) b[j] = Bs[buffer][k][n + 8 * j];\n",
                ),
                ("C[j * M]", "C[8 * j * M]"),
            ],
            "one load for the four floats of A",
        ),
        ("C one by one", [(OUT, ONE_BY_ONE)], "store them with 16 bytes"),
        (
            "not neighbours",
            [("int m = 4 * x, n = 4 * y;", "int m = x, n = y;")],
            "m and n must be such numbers",
        ),
        (
            "C as before",
            [(OUT, "        for (int i = 0; i < 4; ++i)\n            C[8 * i + 8 * j * M] = acc[j][i];\n")],
            "does the index of C fit",
        ),
        ("A and B mixed up", [("&As[buffer][k][m]", "&As[buffer][k][n]")], "acc[j][i] is row m + i"),
        ("no barrier", [(BARRIER, "")], "the loop with its one barrier was right"),
        ("too far apart", [("int m = 4 * x", "int m = 16 * x")], "lies outside this k-tile"),
        (
            "a copy that is waited for",
            [(IN_LOOP, "        wait_all();\n" + BARRIER + MULTIPLY + ISSUE)],
            "before the math, as it did",
        ),
        ("no end", [("++k_tile", "k_tile += 0")], "a loop has no end"),
    ],
    "03.13": [
        ("as given", [(LOAD, OLD_LOAD)], "Should it be read at all"),
        (
            "a barrier against the race",
            [
                (LOAD, OLD_LOAD),
                (
                    "            if (k == 0 && k_tile",
                    "            __syncthreads();\n            if (k == 0 && k_tile",
                ),
            ],
            "from which buffer",
        ),
        (
            "always the other buffer",
            [("(k_tile + (k + 1) / TK) % 2", "(k_tile + 1) % 2")],
            "Only the load of the last k-block",
        ),
        ("the set of this k-block", [("% 2, (k + 1) % 2)", "% 2, k % 2)")], "which set"),
        ("one k-block too early", [("(k + 1) / TK", "(k + 2) / TK")], "Only the load of the last k-block"),
        ("k-block 7 once more", [("(k + 1) % TK,", "min(k + 1, TK - 1),")], "which k-block is loaded"),
        (
            "wait one k-block too late",
            [(NEXT_DONE, ""), (LOAD, LOAD + "\n" + NEXT_DONE.rstrip("\n"))],
            "before anybody has waited",
        ),
        (
            "no barrier",
            [("                __syncthreads();                      // the next k-tile is complete\n", "")],
            "that may not be complete",
        ),
        ("no wait", [("                wait_all();\n", "")], "before anybody has waited"),
        (
            "waits for the copy at once",
            [("                issue(k_tile + 1);\n", "                issue(k_tile + 1), wait_all();\n")],
            "waited for in the last one",
        ),
    ],
    "03.14": [
        ("the line in issue", [("(29,", "(14,")], "who calls issue"),
        ("the line in multiply", [("31)\n", "21)\n")], "who calls multiply"),
        ("changed over", [("(29, 31)", "(31, 29)")], "who calls issue"),
        ("the barrier", [("31)\n", "30)\n")], "who calls multiply"),
        ("nothing changed", [(BARRIER + ISSUE, ISSUE + BARRIER)], "a slow one still multiplies"),
        (
            "the barrier before the wait",
            [("        wait_all();\n" + BARRIER, BARRIER + "        wait_all();\n")],
            "first the wait",
        ),
        ("no barrier", [(BARRIER, "")], "a thread's own copies"),
        ("the copy after the math", [(ISSUE + MULTIPLY, MULTIPLY + ISSUE)], "before the math, not after it"),
        (
            "the wait after the copy",
            [
                (
                    "        wait_all();\n" + BARRIER + ISSUE,
                    BARRIER + ISSUE + "        wait_all();\n        __syncthreads();\n",
                )
            ],
            "before the math, not after it",
        ),
        ("only the warp waits", [(BARRIER, "        __syncwarp();\n")], "a thread's own copies"),
        ("the wrong buffer", [("multiply(k_tile % 2)", "multiply((k_tile + 1) % 2)")], "which buffer holds"),
        ("one k-tile too many", [("k_tile + 1 < k_tiles", "k_tile < k_tiles")], "no next one to copy"),
    ],
}
SOLVED = {"03.11": solved_numbers, "03.14": solved_numbers}
