"""The exercises of the bank for lesson 00."""

from tests.lessons import solved_numbers

NEXT = "    if (t == 0 && i + 64 < n)\n        tile[64] = x[i + 64];\n"
ADD = "            tile[t] += tile[t + half];                // 256 numbers become 128, then 64, 32, ...\n"
IF_ADD = "        if (t < half)\n" + ADD
TURN = "    for (int half = 128; half > 0; half /= 2) {\n" + IF_ADD + "        __syncthreads();\n    }\n"
COPIED = "    __syncthreads();\n    for (int half"
COPY = """    for (int i = t; i < 64 * 32; i += 256)
        tile[i] = x[i];                               // neighbours read neighbours
"""
COMPLETE = "    __syncthreads();                                  // the tile is complete\n"
ADD_UP = """    if (t < 32) {
        float sum = 0;
        for (int m = 0; m < 64; ++m)
            sum += tile[m + t * 64];
        sums[t] = sum;
    }
"""
NO_TILE = [(COPY + COMPLETE, ""), ("sum += tile[m", "sum += x[m")]

GAPS = ["00.14"]
RIGHT_ANSWERS = {
    "00.11": [
        ("fractions without a rest", [("(5, 8, 4, 2)", "(5.0, 32 * 2 / 8, 4, 32 / 2 / 8)")]),
        ("counted by a set", [("5,", "len({(t + 1) // 8 for t in range(32)}),")]),
        ("numbers of NumPy", [("(5, 8, 4, 2)", "__import__('numpy').array([5, 8, 4, 2])")]),
    ],
    "00.12": [
        (
            "the last thread brings it",
            [("t == 0 && i + 64 < n", "t == 63 && i + 1 < n"), ("x[i + 64]", "x[i + 1]")],
        ),
        (
            "a loop over the tile",
            [
                (
                    "    if (i < n)\n        tile[t] = x[i];\n" + NEXT,
                    "    for (int j = t; j < 65 && blockIdx.x * 64 + j < n; j += 64)\n"
                    "        tile[j] = x[blockIdx.x * 64 + j];\n",
                )
            ],
        ),
        (
            "two neighbours for each thread",
            [(NEXT, ""), ("tile[t + 1]) / 2", "(t < 63 ? tile[t + 1] : x[i + 1])) / 2")],
        ),
    ],
    "00.13": [
        (
            "the barrier at the top of the turn",
            [
                (COPIED, "    for (int half"),
                (IF_ADD + "        __syncthreads();\n", "        __syncthreads();\n" + IF_ADD),
            ],
        ),
        (
            "neighbours first",
            [
                (
                    TURN,
                    "    for (int step = 1; step < 256; step *= 2) {\n        if (t % (2 * step) == 0)\n"
                    "            tile[t] += tile[t + step];\n        __syncthreads();\n    }\n",
                )
            ],
        ),
        (
            "the last turns in one warp",
            [
                (
                    "        __syncthreads();\n    }",
                    "        if (half > 32) __syncthreads(); else __syncwarp();\n    }",
                )
            ],
        ),
        ("halves by shifting", [("half > 0; half /= 2", "half; half >>= 1")]),
        (
            "the sum in a register",
            [
                ("    tile[t] = x", "    float mine;\n    tile[t] = mine = x"),
                ("tile[t] += tile[t + half];", "tile[t] = mine += tile[t + half];"),
            ],
        ),
    ],
    "00.14": [
        (
            "a warp takes a column",
            [
                (
                    COPY + COMPLETE + ADD_UP,
                    """    for (int n = t / 32; n < 32; n += 8)
        tile[n * 32 + t % 32] = x[n * 64 + t % 32] + x[n * 64 + t % 32 + 32];
    __syncthreads();
    if (t < 32) {
        float sum = 0;
        for (int i = 0; i < 32; ++i)
            sum += tile[t * 32 + i];
        sums[t] = sum;
    }
""",
                )
            ],
        ),
        (
            "a running sum in registers, added in shared memory",
            [
                (
                    COPY + COMPLETE + ADD_UP,
                    """    if (t < 32) tile[t] = 0;
    __syncthreads();
    for (int i = t; i < 64 * 32; i += 256)
        atomicAdd(&tile[i / 64], x[i]);
    __syncthreads();
    if (t < 32) sums[t] = tile[t];
""",
                )
            ],
        ),
        (
            "a warp adds by shuffles",
            [
                (
                    COPY + COMPLETE + ADD_UP,
                    """    for (int n = t / 32; n < 32; n += 8) {
        float sum = x[n * 64 + t % 32] + x[n * 64 + t % 32 + 32];
        for (int half = 16; half > 0; half /= 2)
            sum += __shfl_down_sync(0xffffffff, sum, half);
        if (t % 32 == 0) tile[n] = sum;
    }
    __syncthreads();
    if (t < 32) sums[t] = tile[t];
""",
                )
            ],
        ),
        (
            "eight threads a column",
            [
                (
                    COPY + COMPLETE + ADD_UP,
                    """    if (t < 32) tile[t] = 0;
    __syncthreads();
    float sum = 0;
    for (int m = t % 8; m < 64; m += 8)
        sum += x[m + t / 8 * 64];
    atomicAdd(&tile[t / 8], sum);
    __syncthreads();
    if (t < 32) sums[t] = tile[t];
""",
                )
            ],
        ),
        (
            "as two dimensions",
            [
                (
                    COPY,
                    "    for (int n = t / 64; n < 32; n += 4)\n        tile[n * 64 + t % 64] = x[n * 64 + t % 64];\n",
                )
            ],
        ),
    ],
}
WRONG_ANSWERS = {
    "00.11": [
        ("as if aligned", [("5,", "4,")], "How many sectors do they touch"),
        (
            "one sector for each lane",
            [("(5, 8, 4, 2)", "(32, 32, 32, 32)")],
            "load a does not take 32 sectors",
        ),
        ("half a sector counted as none", [("8,", "4,")], "is one left out"),
        ("a sector for each lane with a gap", [("8,", "32,")], "is one left out"),
        ("backwards as one by one", [("4,", "32,")], "which lane wants which"),
        ("backwards as a fifth sector", [("4,", "5,")], "which lane wants which"),
        ("two lanes, two requests", [("2)", "4)")], "How many different floats"),
        ("bytes", [("(5, 8, 4, 2)", "(128, 128, 128, 128)")], "load a does not take 128"),
        ("words", [("5,", "'five',")], "is a whole number"),
        ("one number", [("(5, 8, 4, 2)", "(5,)")], "four whole numbers"),
        ("half a sector", [("8,", "7.5,")], "is a whole number, and not 7.5"),
    ],
    "00.12": [
        ("the thread that has no neighbour at all", [("(63,", "(0,")], "thread ... of block"),
        ("counted from 1", [("(63,", "(64,")], "thread ... of block"),
        ("the byte", [("64)\n", "256)\n")], "counts bytes"),
        ("the element before", [("64)\n", "63)\n")], "counts bytes"),
        ("nothing changed", [(NEXT, "")], "has no thread of its own"),
        ("without looking at n", [("t == 0 && i + 64 < n", "t == 0")], "does the one that you bring exist"),
        ("one too far", [("i + 64 < n", "i + 64 <= n")], "does the one that you bring exist"),
        (
            "after the barrier",
            [(NEXT, ""), ("    __syncthreads();\n", "    __syncthreads();\n" + NEXT)],
            "before the barrier",
        ),
        ("the wrong element", [("x[i + 64]", "x[i + 63]")], "the first one of the next block"),
        ("all threads bring it", [("t == 0 && i + 64 < n", "i + 64 < n")], "needs one thread"),
        (
            "blocks that overlap",
            [(NEXT, ""), ("blockIdx.x * 64 + t", "blockIdx.x * 63 + t")],
            "two blocks write one element",
        ),
        ("the tile larger", [(NEXT, ""), ("tile[65]", "tile[128]")], "has no thread of its own"),
        (
            "the neighbour left out",
            [("tile[t + 1]) / 2", "tile[t < 63 ? t + 1 : t]) / 2")],
            "the first one of the next block",
        ),
        (
            "not written",
            [(NEXT, ""), ("if (i + 1 < n)", "if (i + 1 < n && t < 63)")],
            "the first one of the next block",
        ),
    ],
    "00.13": [
        (
            "as given",
            [
                (
                    TURN,
                    TURN.replace("if (t < half)\n", "if (t < half) {\n").replace(
                        "        __syncthreads();\n", "        __syncthreads(); }\n"
                    ),
                )
            ],
            "all threads must meet",
        ),
        (
            "no barrier in the loop",
            [(TURN, TURN.replace("        __syncthreads();\n", ""))],
            "between two turns",
        ),
        ("only the warp waits", [(TURN, TURN.replace("syncthreads", "syncwarp"))], "between two turns"),
        ("no barrier before the loop", [(COPIED, "    for (int half")], "before the first one"),
        ("a turn too many", [("half = 128;", "half = 256;")], "t + half must stay below 256"),
        ("a turn too few", [("half > 0;", "half > 1;")], "Is every number added"),
        ("from the quarter", [("half = 128;", "half = 64;")], "Is every number added"),
        ("no sum", [("tile[t] += tile[t + half]", "tile[t] = tile[t + half]")], "Is every number added"),
        (
            "one thread adds all",
            [(TURN, "    if (t == 0)\n        for (int i = 1; i < 256; ++i) tile[0] += tile[i];\n")],
            "half of the threads rest",
        ),
        (
            "barriers to be sure",
            [("        __syncthreads();\n    }", "        __syncthreads(); __syncthreads();\n    }")],
            "one in each turn are enough",
        ),
        ("a fence only", [(TURN, TURN.replace("__syncthreads", "__threadfence_block"))], "between two turns"),
        ("no end", [("half /= 2", "half /= 1")], "a loop has no end"),
    ],
    "00.14": [
        ("as before", NO_TILE, "must read 32 neighbouring floats"),
        ("no barrier", [(COMPLETE, "")], "a barrier must stand"),
        ("the warp waits alone", [(COMPLETE, "    __syncwarp();\n")], "a barrier must stand"),
        (
            "added up in global memory",
            [
                (
                    COPY + COMPLETE + ADD_UP,
                    """    if (t < 32) sums[t] = 0;
    __syncthreads();
    for (int i = t; i < 2048; i += 256)
        atomicAdd(&sums[i / 64], x[i]);
""",
                )
            ],
            "belongs in shared memory",
        ),
        (
            "added up by many at once",
            [
                (
                    COPY + COMPLETE + ADD_UP,
                    """    if (t < 32) tile[t] = 0;
    __syncthreads();
    for (int i = t; i < 2048; i += 256)
        tile[i / 64] += x[i];
    __syncthreads();
    if (t < 32) sums[t] = tile[t];
""",
                )
            ],
            "let one thread do it",
        ),
        ("one turn of the copy", [("i += 256", "i += 64 * 32")], "a part of the tile is never written"),
        ("one too far", [("i < 64 * 32", "i <= 64 * 32")], "where does the loop end"),
        (
            "one thread copies all",
            [("int i = t; i < 64 * 32; i += 256", "int i = 0; i < 64 * 32 && t == 0; ++i")],
            "share the work out",
        ),
        (
            "a stretch for each thread",
            [("int i = t; i < 64 * 32; i += 256", "int i = 8 * t; i < 8 * t + 8; ++i")],
            "must read 32 neighbouring floats",
        ),
        ("the sums of rows", [("tile[m + t * 64]", "tile[m * 32 + t]")], "column n has the 64 elements"),
        ("half a column", [("m < 64", "m < 32")], "column n has the 64 elements"),
        ("no end", [("i += 256", "i += 0")], "a loop has no end"),
    ],
}
SOLVED = {"00.11": solved_numbers, "00.12": solved_numbers}
