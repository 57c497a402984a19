"""The exercises of the bank for lesson 01."""

from tests.lessons import solved_numbers

PIECE = """    if (4 * i + 3 < n) {                              // four floats that all exist
        float4 v = *(const float4*)&x[4 * i];
        *(float4*)&y[4 * i] = make_float4(a * v.x, a * v.y, a * v.z, a * v.w);
    }"""
REST = """ else {                                          // at most three are left
        for (int j = 4 * i; j < n; ++j)
            y[j] = a * x[j];
    }
"""
BODY = PIECE + REST
LOAD = "        tile[i / 32][i % 32] = A[i % 32 + (i / 32) * M];\n"
STORE = "        B[i % 32 + (i / 32) * N] = tile[i % 32][i / 32];\n"
TILE = "tile[32][33];                    // 33: a row and a column both go through all banks"
BARRIER = "    __syncthreads();\n"

GAPS = ["01.12", "01.13"]
RIGHT_ANSWERS = {
    "01.11": [
        ("fractions without a rest", [("(2, 1, 1, 8, 4)", "(32 / 16, 33 / 33, 1.0, 32 / 4, 32 * 16 / 128)")]),
        ("counted", [("8,", "max(sum(8 * t % 32 == bank for t in range(32)) for bank in range(32)),")]),
    ],
    "01.12": [
        (
            "the rest by as many threads",
            [(BODY, PIECE + "\n    if (i < n % 4)\n        y[n - 1 - i] = a * x[n - 1 - i];\n")],
        ),
        ("pieces counted", [("4 * i + 3 < n", "i < n / 4")]),
        (
            "pointers to pieces",
            [
                (
                    BODY,
                    """    const float4* from = (const float4*)x;
    float4* to = (float4*)y;
    int whole = n / 4;
    if (i < whole) {
        float4 v = from[i];
        v.x *= a, v.y *= a, v.z *= a, v.w *= a;
        to[i] = v;
    }
    for (int j = 4 * whole; j < n && i == whole; ++j) y[j] = x[j] * a;
""",
                )
            ],
        ),
        (
            "first out, then the pieces",
            [
                (
                    BODY,
                    "    if (4 * i + 4 > n) {\n        for (int j = 0; j < 4; ++j)\n            if (4 * i + j < n) "
                    "y[4 * i + j] = a * x[4 * i + j];\n        return;\n    }\n" + PIECE + "\n",
                )
            ],
        ),
    ],
    "01.13": [
        (
            "columns exchanged in each row",
            [
                (TILE, "tile[32][32];"),
                ("tile[i / 32][i % 32]", "tile[i / 32][(i + i / 32) % 32]"),
                ("tile[i % 32][i / 32]", "tile[i % 32][(i / 32 + i) % 32]"),
            ],
        ),
        (
            "by exclusive or",
            [
                (TILE, "tile[32][32];"),
                ("tile[i / 32][i % 32]", "tile[i / 32][i % 32 ^ i / 32]"),
                ("tile[i % 32][i / 32]", "tile[i % 32][i / 32 ^ i % 32]"),
            ],
        ),
        (
            "turned on the way in",
            [
                ("tile[i / 32][i % 32]", "tile[i % 32][i / 32]"),
                ("= tile[i % 32][i / 32]", "= tile[i / 32][i % 32]"),
            ],
        ),
        (
            "lanes and warps",
            [
                (
                    LOAD,
                    "        { int lane = threadIdx.x % 32, k = i / 32; tile[k][lane] = A[lane + k * M]; }\n",
                )
            ],
        ),
    ],
    "01.14": [
        ("fractions without a rest", [("(4, 2, 1)", "(16 / 4, 16 / 8, 16 / 16)")]),
        ("a list", [("(4, 2, 1)", "[4, 2, 1]")]),
    ],
}
WRONG_ANSWERS = {
    "01.11": [
        ("a has no conflict", [("(2,", "(1,")], "how many of these floats lie in each"),
        ("a all in one", [("(2,", "(32,")], "how many of these floats lie in each"),
        ("b as a column", [("2, 1, 1,", "2, 32, 1,")], "Write down the first few"),
        ("c one after the other", [("1, 8", "4, 8")], "served together"),
        ("d as many as the distance times four", [("8,", "32,")], "Which banks are that"),
        ("d as few as the banks", [("8,", "4,")], "Which banks are that"),
        ("e no conflict, so one", [("4)", "1)")], "16 bytes each"),
        ("e a conflict", [("4)", "16)")], "16 bytes each"),
        ("too few", [("(2, 1, 1, 8, 4)", "(2, 1)")], "five whole numbers"),
    ],
    "01.12": [
        ("no rest", [(REST, "\n")], "also the last one, two or three"),
        ("one piece too many", [("4 * i + 3 < n", "4 * i < n")], "only if float 4 * i + 3 exists"),
        ("one float too far", [("4 * i + 3 < n", "4 * i + 3 <= n")], "only if float 4 * i + 3 exists"),
        (
            "one by one",
            [(BODY, "    for (int j = 4 * i; j < 4 * i + 4 && j < n; ++j)\n        y[j] = a * x[j];\n")],
            "16 bytes for each whole piece",
        ),
        (
            "only the loads are wide",
            [
                (
                    "*(float4*)&y[4 * i] = make_float4(a * v.x, a * v.y, a * v.z, a * v.w);",
                    "y[4 * i] = a * v.x; y[4 * i + 1] = a * v.y; y[4 * i + 2] = a * v.z; y[4 * i + 3] = a * v.w;",
                )
            ],
            "16 bytes for each whole piece",
        ),
        ("pieces one float apart", [("x[4 * i];", "x[i];")], "begin at a multiple of 4 floats"),
        ("not multiplied in the rest", [("= a * x[j]", "= x[j]")], "each float of x is multiplied once"),
        (
            "the rest of all by all",
            [(REST, "\n    for (int j = n / 4 * 4; j < n; ++j)\n        y[j] = a * x[j];\n")],
            "only what is left, and once",
        ),
        ("the rest too long", [("j < n;", "j < n + 1;")], "one by one up to n"),
        ("one factor forgotten", [("a * v.w", "v.w")], "each float of x is multiplied once"),
    ],
    "01.13": [
        (
            "no tile",
            [
                (BARRIER, ""),
                (LOAD, ""),
                (STORE, "        B[i / 32 + (i % 32) * N] = A[i % 32 + (i / 32) * M];\n"),
            ],
            "turn it round in shared memory",
        ),
        (
            "not turned in shared memory",
            [
                ("tile[i % 32][i / 32];", "tile[i / 32][i % 32];"),
                ("B[i % 32 + (i / 32) * N]", "B[i / 32 + (i % 32) * N]"),
            ],
            "turn it round in shared memory",
        ),
        ("rows of 32", [("[33]", "[32]")], "What if a row is one float longer"),
        ("rows of 34", [("[33]", "[34]")], "What if a row is one float longer"),
        ("no barrier", [(BARRIER, "")], "a barrier must stand"),
        ("only the warp waits", [(BARRIER, "    __syncwarp();\n")], "a barrier must stand"),
        ("not turned at all", [("tile[i % 32][i / 32]", "tile[i / 32][i % 32]")], "is element (n, m) of B"),
        (
            "blocks not exchanged",
            [("blockIdx.y * 32 + blockIdx.x * 32 * N", "blockIdx.x * 32 + blockIdx.y * 32 * N")],
            "a column of A has M floats",
        ),
        (
            "columns of M in B",
            [("(i / 32) * N]", "(i / 32) * M]"), ("blockIdx.x * 32 * N", "blockIdx.x * 32 * M")],
            "two threads write one element",
        ),
        ("one turn", [("i += 256)\n        tile", "i += 1024)\n        tile")], "never written"),
        (
            "barrier for some",
            [(BARRIER, "    if (threadIdx.x < 128) __syncthreads();\n")],
            "all threads must meet",
        ),
    ],
    "01.14": [
        ("all the same", [("(4, 2, 1)", "(1, 1, 1)")], "any multiple of 4 bytes"),
        ("as float2", [("(4,", "(2,")], "any multiple of 4 bytes"),
        ("merged", [("2,", "1,")], "two float2"),
        ("split", [("2,", "4,")], "two float2"),
        ("floats", [("1)", "4)")], "may all of it come at once"),
        ("halves", [("1)", "2)")], "may all of it come at once"),
        ("bytes", [("(4, 2, 1)", "(16, 16, 16)")], "any multiple of 4 bytes"),
        ("no number", [("1)", "'one')")], "is a whole number"),
    ],
}
SOLVED = {"01.11": solved_numbers, "01.14": solved_numbers}
