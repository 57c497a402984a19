"""Lesson 01."""

from tests.lessons.tables import answers_beside

NOTEBOOK = "01_mainloop"

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
CAN_GO = "can go: all is right without it"
REMARKED = {
    "01.2": [("one between the copies", [(COPY_A, COPY_A + "\n        __syncthreads();")], CAN_GO)],
    "01.3": [("one for each tile", [(ALL_HAVE_READ, ALL_HAVE_READ + "        __syncthreads();\n")], CAN_GO)],
}
RIGHT_ANSWERS, WRONG_ANSWERS = answers_beside(__file__, **globals())
