"""Lesson 01."""

import re

from . import solved_kernel

NOTEBOOK = "01_mainloop"
OTHERS: dict = {}
LAUNCHES = {
    "naive": {"tile": (32, 32, 1), "threads": 1024},
    "tiled": {"tile": (32, 32, 32), "threads": 1024},
    "vector_copy": {"tile": (32, 32, 32), "threads": 1024},
    "register_tile": {"tile": (64, 64, 16), "threads": 256},
    "mainloop": {"tile": (128, 128, 32), "threads": 256},
}

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

ALL_HAVE_READ = SECOND_BARRIER + "\n"
GAPS = ["01.1"]
RIGHT_ANSWERS = {
    "01.1": [
        (
            "rows and columns of the tile by threads",
            [
                (
                    "for (int i = threadIdx.x; i < TK * TM; i += THREADS)",
                    "for (int k = threadIdx.x / TM; k < TK; k += THREADS / TM)",
                ),
                (
                    "As[i / TM][i % TM] = A[i % TM + (i / TM) * M]",
                    "As[k][threadIdx.x % TM] = A[threadIdx.x % TM + k * M]",
                ),
            ],
        ),
        ("a barrier more", [("__syncthreads();\n\n", "__syncthreads();\n        __syncthreads();\n\n")]),
    ],
}
WRONG_ANSWERS = {
    "01.1": [
        ("no first barrier", [("__syncthreads();\n\n", "\n")], "between writing the tile"),
        ("no second barrier", [("__syncthreads();\n        A", "A")], "a slow warp still multiplies"),
        ("tile turned round", [("As[i / TM][i % TM]", "As[i % TM][i / TM]")], "a row is a remainder"),
        (
            "size of the other tile",
            [("B[i % TN + (i / TN) * N]", "B[i % TM + (i / TM) * N]")],
            "one of B is N",
        ),
        ("columns of M floats in B", [("(i / TN) * N]", "(i / TN) * M]")], "one of B is N"),
        (
            "neighbouring threads take neighbouring columns of A",
            [
                (
                    "As[i / TM][i % TM] = A[i % TM + (i / TM) * M]",
                    "As[i % TK][i / TK] = A[i / TK + (i % TK) * M]",
                )
            ],
            "neighbouring rows",
        ),
    ],
    "01.2": [
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
        (
            "first barrier moved",
            [("{\n        __syncthreads();\n        multiply", "{\n        multiply")],
            "between writing the tile",
        ),
        ("loop from 0", [("int k_tile = 1;", "int k_tile = 0;")], "follow k_tile"),
        (
            "no last multiplication",
            [("    __syncthreads();\n    multiply(acc, As, Bs, m, n);\n\n", "")],
            "follow k_tile",
        ),
    ],
    "01.3": [
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
        ("old number of threads in the copy", [("THREADS = 128", "THREADS = 256")], "Is THREADS the number"),
        ("old tile", [("TM = 64", "TM = 128")], "side by side along N"),
        ("old depth", [("TK = 16", "TK = 32")], "side by side along N"),
    ],
}


def _with_launch(skeleton, solution, changes):
    return solved_kernel(skeleton[0], solution, changes), eval(re.search(r"`(dict\(.*?\))`", solution)[1])


SOLVED = {"01.3": _with_launch}
