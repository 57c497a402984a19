"""Lesson 01."""

import re

from course_lib import Launch
from tests.lessons import solved_kernel

NOTEBOOK = "01_mainloop"
OTHERS: dict = {}

FIRST_BARRIER = "__syncthreads();                              // the k-tile is complete"
SECOND_BARRIER = "__syncthreads();                              // all have read it"
NO_FIRST = ("first barrier removed", FIRST_BARRIER, "", "read-after-write")
NO_SECOND = ("second barrier removed", SECOND_BARRIER, "", "write-after-read")
NO_LAST_TILE = (
    "last k-tile skipped",
    "k_tile < K / TK;",
    "k_tile < K / TK - 1;",
    "without the last k-tile|NaN|wrong",
)
NO_LAST_K = ("k off by one", "k < TK;", "k < TK - 1;", "without the last k of every k-tile")
NO_FIRST_K = (
    "k off by one at the start",
    "int k = 0; k < TK;",
    "int k = 1; k < TK;",
    "without the first k of every",
)
COPIES = [
    ("same k-tile each time", "A + k_tile * TK * M, M", "A, M", "wrong"),
    ("transposed operand", "B + k_tile * TK * N, N", "B + k_tile * TK, K", "wrong|misaligned|out-of-bounds"),
    ("A with the columns of B", "A + k_tile * TK * M, M", "A + k_tile * TK * N, N", "wrong|out-of-bounds"),
]

WRONG = {
    "naive": [
        ("last k skipped", "k < K;", "k < K - 1;", "without the last k-tile|never written|wrong"),
        ("k off by one", "int k = 0;", "int k = 1;", "without the first k-tile|wrong"),
        ("transposed operand", "A[m + k * M]", "A[m * K + k]", "A read as if it was transposed"),
        ("result transposed", "C[m + n * M]", "C[m * N + n]", "stored transposed"),
        ("row off by one", "A[m + k * M]", "A[m + 1 + k * M]", "out-of-bounds|wrong"),
        ("wrong block", "blockIdx.x * 32", "blockIdx.y * 32", "wrong|out-of-bounds"),
    ],
    "tiled": [
        NO_FIRST, NO_SECOND, NO_LAST_TILE, NO_LAST_K,
        ("transposed operand", "As[k][m]", "As[m][k]", "wrong"),
        ("transposed tile", "B[t % TN + (t / TN) * N]", "B[t / TN + (t % TN) * N]", "wrong"),
        ("step off", "B += TK * N;", "B += TK * M;", "wrong|out-of-bounds"),
        ("blocks in one place", "(blockIdx.y * TN + n) * M", "n * M", "block-conflict"),
    ],
    "vector_copy": [
        NO_FIRST, NO_SECOND, NO_LAST_TILE, NO_LAST_K,
        ("transposed operand", "B[i + j * N]", "B[i * K + j]", "wrong|misaligned|out-of-bounds"),
        ("columns of the other matrix", "A[i + j * M]", "A[i + j * N]", "wrong|out-of-bounds"),
        ("B not copied", "t < 512", "t < 256", "uninitialised-read"),
        ("floats counted as bytes", "4 * (t % 8)", "16 * (t % 8)", "out-of-bounds|write-after-write|wrong"),
    ],
    "register_tile": [
        NO_FIRST, NO_SECOND, NO_LAST_TILE, NO_LAST_K, NO_FIRST_K, *COPIES,
        ("half the tile", "/ (4 * THREADS); ++turn", "/ (8 * THREADS); ++turn", "uninitialised-read"),
        ("turns on top of each other", "turn * THREADS + threadIdx.x", "threadIdx.x / 2", "uninitialised-read"),
        ("tiles mixed up", "float4 a4 = *(float4*)&As[k][m]", "float4 a4 = *(float4*)&Bs[k][m]", "wrong"),
        ("columns of C off by one", "*(float4*)&C[j * M]", "*(float4*)&C[(j + 1) * M]", "wrong|block-conflict|out-of"),
    ],
    "mainloop": [
        NO_FIRST, NO_SECOND, NO_LAST_TILE, NO_LAST_K, NO_FIRST_K, *COPIES,
        ("groups too close", "&As[k][m + 32]", "&As[k][m + 16]", "wrong"),
        ("shape of a warp", "warp % 2 * 64", "warp % 2 * 32", "wrong"),
        ("columns of C", "j / 4 * 16", "j / 4 * 4", "wrong|block-conflict"),
    ],
}  # fmt: skip

COPY_ALONE = """    for (int i = threadIdx.x; i < TK * TM; i += THREADS)
        As[i / TM][i % TM] = A[i % TM + (i / TM) * M];
    __syncthreads();

    for"""
COPY_A = """for (int i = threadIdx.x; i < TK * TM; i += THREADS)
            As[i / TM][i % TM] = A[i % TM + (k_tile * TK + i / TM) * M];"""
COPY_B = """for (int i = threadIdx.x; i < TK * TN; i += THREADS)
            Bs[i / TN][i % TN] = B[i % TN + (k_tile * TK + i / TN) * N];"""
MATH = """for (int k = 0; k < TK; ++k)
            for (int j = 0; j < 4; ++j)
                for (int i = 0; i < 2; ++i)
                    acc[j][i] += As[k][m + 32 * i] * Bs[k][n + 8 * j];"""
ALL_HAVE_READ = SECOND_BARRIER + "\n"
FROM_GLOBAL = """for (int k = 0; k < TK; ++k)
            for (int j = 0; j < 4; ++j)
                for (int i = 0; i < 2; ++i)
                    acc[j][i] += A[m + 32 * i + (k_tile * TK + k) * M] * B[n + 8 * j + (k_tile * TK + k) * N];"""

GAPS = ["01.1", "01.2"]
RIGHT_ANSWERS = {
    "01.1": [
        (
            "a row for each lane, columns by warps",
            [
                (
                    COPY_ALONE,
                    """    for (int k = threadIdx.x / TM; k < TK; k += THREADS / TM)
        As[k][threadIdx.x % TM] = A[threadIdx.x % TM + k * M];
    __syncthreads();
    for""",
                )
            ],
        ),
        (
            "16 bytes",
            [
                (
                    COPY_ALONE,
                    """    int r = threadIdx.x % 16 * 4, k = threadIdx.x / 16;
    *(float4*)&As[k][r] = *(const float4*)&A[r + k * M];
    __syncthreads();
    for""",
                )
            ],
        ),
        (
            "half of the threads",
            [
                (
                    COPY_ALONE,
                    """    if (threadIdx.x < 128)
        for (int i = threadIdx.x; i < TK * TM; i += 128)
            As[0][i] = A[i % TM + i / TM * M];
    __syncthreads();
    for""",
                )
            ],
        ),
    ],
    "01.2": [
        (
            "rows and columns of the tile by threads, pointers moved",
            [
                (
                    COPY_A,
                    """for (int k = threadIdx.x / TM; k < TK; k += THREADS / TM)
            As[k][threadIdx.x % TM] = A[threadIdx.x % TM + k * M];""",
                ),
                (
                    COPY_B,
                    """for (int k = threadIdx.x / TN; k < TK; k += THREADS / TN)
            Bs[k][threadIdx.x % TN] = B[threadIdx.x % TN + k * N];
        A += TK * M;
        B += TK * N;""",
                ),
            ],
        ),
        (
            "16 bytes",
            [
                (
                    COPY_A,
                    """int t = threadIdx.x;
        *(float4*)&As[t / 16][t % 16 * 4] = *(const float4*)&A[t % 16 * 4 + (k_tile * TK + t / 16) * M];""",
                ),
                (
                    COPY_B,
                    """if (t < 128)
            *(float4*)&Bs[t / 8][t % 8 * 4] = *(const float4*)&B[t % 8 * 4 + (k_tile * TK + t / 8) * N];""",
                ),
            ],
        ),
        (
            "the second barrier in front of the copy",
            [(ALL_HAVE_READ, "\n"), (COPY_A, "__syncthreads();\n        " + COPY_A)],
        ),
        (
            "operands in registers first",
            [
                (
                    MATH,
                    """for (int k = 0; k < TK; ++k) {
            float a[2] = {As[k][m], As[k][m + 32]};
            for (int j = 0; j < 4; ++j) {
                float b = Bs[k][n + 8 * j];
                acc[j][0] = fmaf(a[0], b, acc[j][0]);
                acc[j][1] = fmaf(a[1], b, acc[j][1]);
            }
        }""",
                )
            ],
        ),
    ],
    "01.3": [
        ("a barrier more", [(ALL_HAVE_READ, ALL_HAVE_READ + "        __syncthreads();\n")]),
        (
            "in the function, after its math",
            [
                (ALL_HAVE_READ, "\n"),
                ("* Bs[k][n + j];\n", "* Bs[k][n + j];\n    __syncthreads();\n"),
            ],
        ),
        (
            "a barrier that counts",
            [(SECOND_BARRIER, "__syncthreads_count(1);")],
        ),
        (
            "not in the last turn of a loop to the end",
            [(SECOND_BARRIER, "if (k_tile < K / TK) __syncthreads();")],
        ),
    ],
    "01.4": [
        (
            "a row of warps by their number",
            [
                (
                    "int m = lane % 8 * 4, n = warp * 32",
                    "int m = 4 * (threadIdx.x & 7), n = threadIdx.x / 32 * 32",
                )
            ],
        ),
        ("unrolled by 8", [("UNROLL = TK", "UNROLL = 8")]),
        ("no bound of registers", [("__launch_bounds__(THREADS, 2)", "__launch_bounds__(THREADS)")]),
    ],
}
WRONG_ANSWERS = {
    "01.1": [
        ("no barrier", [("    __syncthreads();\n", "")], "between writing the tile"),
        ("only the warp waits", [("__syncthreads", "__syncwarp")], "between writing the tile"),
        ("one turn only", [("i += THREADS)\n        As", "i += 10 * THREADS)\n        As")], "never written"),
        ("columns of the tile's length", [("(i / TM) * M", "(i / TM) * TM")], "M floats long"),
        ("tile turned round", [("As[i / TM][i % TM] =", "As[i % TK][i / TK] =")], "row i % TM"),
        ("row and column mixed up", [("As[i / TM][i % TM] =", "As[i % TM][i / TM] =")], "As[k][row]"),
        ("the block counted twice", [("A[i % TM", "A[blockIdx.x * TM + i % TM")], "A already points"),
        (
            "neighbouring threads take neighbouring columns",
            [
                (
                    "As[i / TM][i % TM] = A[i % TM + (i / TM) * M]",
                    "As[i % TK][i / TK] = A[i / TK + (i % TK) * M]",
                )
            ],
            "neighbouring rows (see the picture)",
        ),
        (
            "a stretch for each thread",
            [
                (
                    COPY_ALONE,
                    COPY_ALONE.replace(
                        "threadIdx.x; i < TK * TM; i += THREADS",
                        "threadIdx.x * 4; i < threadIdx.x * 4 + 4; ++i",
                    ),
                )
            ],
            "neighbouring rows (see the picture)",
        ),
        (
            "one thread copies all",
            [
                (
                    "int i = threadIdx.x; i < TK * TM; i += THREADS)\n        As",
                    "int i = 0; threadIdx.x == 0 && i < TK * TM; ++i)\n        As",
                )
            ],
            "one thread copies for many",
        ),
        (
            "all threads copy all",
            [
                (
                    "int i = threadIdx.x; i < TK * TM; i += THREADS)\n        As",
                    "int i = 0; i < TK * TM; ++i)\n        As",
                )
            ],
            "one thread copies for many",
        ),
        ("no end", [("i += THREADS)\n        As", "i += 0)\n        As")], "a loop has no end"),
    ],
    "01.2": [
        ("no first barrier", [(FIRST_BARRIER, "")], "between writing the tile"),
        ("no second barrier", [(SECOND_BARRIER, "")], "a slow warp still multiplies"),
        (
            "math before the copy",
            [(MATH, ""), (COPY_A, MATH + "\n        " + COPY_A)],
            "a slow warp still multiplies",
        ),
        (
            "barrier between the copies",
            [(FIRST_BARRIER, ""), (COPY_B, "__syncthreads();\n        " + COPY_B)],
            "between writing the tile",
        ),
        (
            "barrier for half the block",
            [(FIRST_BARRIER, "if (threadIdx.x < 128) __syncthreads();")],
            "meet at a barrier",
        ),
        ("tile turned round", [("As[i / TM][i % TM]", "As[i % TM][i / TM]")], "stays below TK"),
        ("size of the other tile", [("B[i % TN +", "B[i % TM +")], "How many rows has the tile"),
        ("columns of M floats in B", [("i / TN) * N]", "i / TN) * M]")], "with M = N it is right"),
        ("columns of N floats in A", [("i / TM) * M]", "i / TM) * N]")], "with M = N it is right"),
        (
            "columns of the length of a tile",
            [("i / TN) * N]", "i / TN) * TN]")],
            "one block is right, several are not",
        ),
        (
            "the first k-tile every time",
            [("k_tile * TK + ", "")],
            "every turn copies the same k-tile",
        ),
        ("no sum", [("acc[j][i] +=", "acc[j][i] =")], "what becomes of the ones before"),
        (
            "a new sum in each turn",
            [(MATH, "for (int j = 0; j < 4; ++j)\n            acc[j][0] = acc[j][1] = 0;\n        " + MATH)],
            "the sums of the turns before",
        ),
        ("a k too few", [("int k = 0; k < TK;", "int k = 0; k < TK - 1;")], "a value of k is left out"),
        ("k of B backwards", [("* Bs[k]", "* Bs[TK - 1 - k]")], "have both factors the same k"),
        ("A one row further", [("A[i % TM +", "A[(i + 1) % TM +")], "B arrives as it should, A does not"),
        ("B one row further", [("B[i % TN +", "B[(i + 1) % TN +")], "A arrives as it should, B does not"),
        (
            "rows and columns of the math",
            [("[m + 32 * i] * Bs[k][n + 8 * j]", "[n + 8 * j] * Bs[k][m]")],
            "neither A nor B arrives",
        ),
        (
            "k-tiles one column apart",
            [("k_tile * TK + i / TM", "k_tile + i / TM")],
            "At which column does k-tile 1 begin",
        ),
        ("columns of a thread too close", [("n + 8 * j", "n + 4 * j")], "some columns of a tile are right"),
        ("rows of the warp in a row", [("m + 32 * i", "m + i")], "some rows of a tile are right"),
        (
            "only half of the math",
            [("j < 4; ++j)\n                for", "j < 2; ++j)\n                for")],
            "some columns of a tile are right",
        ),
        (
            "neighbouring threads take neighbouring columns of A",
            [
                (
                    "As[i / TM][i % TM] = A[i % TM + (k_tile * TK + i / TM) * M]",
                    "As[i % TK][i / TK] = A[i / TK + (k_tile * TK + i % TK) * M]",
                )
            ],
            "neighbouring rows (see the picture)",
        ),
        ("the block counted twice", [("B[i % TN", "B[blockIdx.y * TN + i % TN")], "an index leaves A or B"),
        (
            "16 bytes from every float on",
            [(COPY_A, "int t = threadIdx.x;\n        *(float4*)&As[t / 16][t % 16] = *(float4*)&A[t];")],
            "16 bytes begin at a multiple of 4 floats",
        ),
        ("no end", [("++k_tile", "k_tile += 0")], "a loop has no end"),
        ("a typing mistake", [("__syncthreads();", "__synchthreads();")], "is undefined"),
        (
            "no tiles at all",
            [(COPY_A, ""), (COPY_B, ""), (MATH, FROM_GLOBAL)],
            "an element is copied more than once",
        ),
    ],
    "01.3": [
        (
            "barrier after the copy",
            [
                (ALL_HAVE_READ, ""),
                ("k_tile * TK * N, N);\n", "k_tile * TK * N, N);\n        __syncthreads();\n"),
            ],
            "a slow warp still multiplies",
        ),
        (
            "barrier between the copies",
            [
                (ALL_HAVE_READ, ""),
                ("copy_tile<THREADS>(Bs, B + k", "__syncthreads();\n        copy_tile<THREADS>(Bs, B + k"),
            ],
            "a slow warp still",
        ),
        ("only the warp waits", [(SECOND_BARRIER, "__syncwarp();")], "a slow warp still multiplies"),
        (
            "first barrier moved",
            [("{\n        __syncthreads();\n        multiply", "{\n        multiply")],
            "between writing the tile",
        ),
        ("loop from 0", [("int k_tile = 1;", "int k_tile = 0;")], "follow k_tile"),
        ("one turn less", [("k_tile < K / TK;", "k_tile < K / TK - 1;")], "follow k_tile"),
        (
            "no last multiplication",
            [("    __syncthreads();\n    multiply(acc, As, Bs, m, n);\n\n", "")],
            "follow k_tile",
        ),
    ],
    "01.4": [
        (
            "place of a warp",
            [
                (
                    "int m = lane % 8 * 4, n = warp * 32",
                    "int m = warp % 2 * 64 + lane % 8 * 4, n = warp / 2 * 32",
                )
            ],
            "side by side along N",
        ),
        (
            "warps along M",
            [("lane % 8 * 4, n = warp * 32 +", "warp * 32 + lane % 8 * 4, n =")],
            "side by side along N",
        ),
        ("two warps in one place", [("n = warp * 32", "n = warp % 2 * 32")], "side by side along N"),
        ("old number of threads in the copy", [("THREADS = 128", "THREADS = 256")], "Is THREADS the number"),
        ("old tile", [("TM = 64", "TM = 128")], "side by side along N"),
        ("old depth", [("TK = 16", "TK = 32")], "side by side along N"),
    ],
}


def _with_launch(skeleton, solution, changes):
    launch = re.search(r"`(Launch\(.*?\))`", solution)[1]
    return solved_kernel(skeleton[0], solution, changes), eval(launch, {"Launch": Launch})


SOLVED = {"01.4": _with_launch}
