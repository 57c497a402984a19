"""Lesson 00: its kernels are no GEMMs, so tests/lessons/test_lesson_kernels.py makes wrong variants of them itself."""

import numpy as np

from tests.kernels.case import fma32, poison, random

NOTEBOOK = "00_start_here"
WRONG: dict = {}


def _numbers_of(seed, n, integers):
    x = random(seed).randn(n).astype("f4")
    return np.rint(10 * x) if integers else x


def _saxpy(integers):
    def make():
        return [np.float32(1.7), *(_numbers_of(seed, 1000, integers) for seed in (1, 2)), np.int32(1000)]

    return make, (4,), (256,), lambda a: {2: fma32(a[0], a[1], a[2])}


def _mirror(integers):
    def make():
        return [_numbers_of(1, 768, integers), poison(768, "f4")]

    return make, (3,), (256,), lambda a: {1: a[0].reshape(3, 256)[:, ::-1].reshape(768)}


OTHERS = {"saxpy": _saxpy, "mirror": _mirror}
GAPS = ["00.1", "00.2"]
THE_LOOP = """    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = a * x[i] + y[i];"""
RIGHT_ANSWERS = {
    "00.3": [
        (
            "no if",
            [
                (
                    "if (t > 0)\n        y[t] = tile[t] - tile[t - 1];\n    else\n        y[t] = tile[t];",
                    "y[t] = t ? tile[t] - tile[t - 1] : tile[t];",
                )
            ],
        ),
        ("a barrier more", [("__syncthreads();", "__syncthreads();\n    __syncthreads();")]),
        (
            "thread 0 has ended",
            [("__syncthreads();", "if (t == 0) { y[0] = x[0]; return; }\n    __syncthreads();")],
        ),
    ],
    "00.2": [
        (
            "a block takes a piece that begins anywhere",
            [
                (
                    THE_LOOP,
                    """    int per = (n + gridDim.x - 1) / gridDim.x, end = min(n, int(blockIdx.x + 1) * per);
    for (int i = blockIdx.x * per + threadIdx.x; i < end; i += blockDim.x)
        y[i] = a * x[i] + y[i];""",
                )
            ],
        ),
        (
            "while",
            [
                (
                    THE_LOOP,
                    """    int i = threadIdx.x + blockDim.x * blockIdx.x;
    while (i < n) {
        y[i] += a * x[i];
        i += blockDim.x * gridDim.x;
    }""",
                )
            ],
        ),
        (
            "turns counted",
            [
                (
                    THE_LOOP,
                    """    int all = gridDim.x * blockDim.x;
    for (int turn = 0; turn < (n + all - 1) / all; ++turn) {
        int i = turn * all + blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) y[i] = fmaf(a, x[i], y[i]);
    }""",
                )
            ],
        ),
        (
            "a block takes a stretch",
            [
                (
                    THE_LOOP,
                    """    int turns = (n + gridDim.x * blockDim.x - 1) / (gridDim.x * blockDim.x);
    for (int turn = 0; turn < turns; ++turn) {
        int i = (blockIdx.x * turns + turn) * blockDim.x + threadIdx.x;
        if (i < n) y[i] = a * x[i] + y[i];
    }""",
                )
            ],
        ),
        (
            "pieces of one more than the quotient, from the end of the array on",
            [
                (
                    THE_LOOP,
                    """    int per = n / gridDim.x + 1, first = (gridDim.x - 1 - blockIdx.x) * per;
    for (int i = first + threadIdx.x; i < n && i < first + per; i += blockDim.x)
        y[i] = a * x[i] + y[i];""",
                )
            ],
        ),
    ],
}
WRONG_ANSWERS = {
    "00.1": [
        ("row by row", [("C[m + n * M]", "C[m * N + n]")], "one column after the other"),
        (
            "rows and columns mixed up",
            [
                ("threadIdx.x % 32", "threadIdx.x / 32"),
                ("threadIdx.x / 32;        //", "threadIdx.x % 32; //"),
            ],
            "the remainder",
        ),
        (
            "lanes along a row",
            [
                ("threadIdx.x % 32", "threadIdx.x / 8"),
                ("y * 8 + threadIdx.x / 32", "y * 8 + threadIdx.x % 8"),
            ],
            "32 neighbouring rows",
        ),
        ("no quotient", [("y * 8 + threadIdx.x / 32", "y * 8 + threadIdx.x % 8")], "8 warps are 8 columns"),
        ("whole thread number", [("threadIdx.x % 32", "threadIdx.x")], "32 lanes are 32 rows"),
        ("columns of N elements", [("C[m + n * M]", "C[m + n * N]")], "Columns of C have M elements"),
        ("columns of 32 elements", [("C[m + n * M]", "C[m + n * 32]")], "Columns of C have M elements"),
        ("an endless loop", [("C[m", "for (int i = 0; i < 10;) C[m")], "a loop has no end"),
    ],
    "00.3": [
        (
            "barrier in the if",
            [
                ("__syncthreads();", ""),
                ("if (t > 0)", "if (t > 0) __syncthreads();\n    if (t > 0)"),
                ("y[t] = tile[t];\n", "y[t] = tile[t];\n    __syncthreads();\n"),
            ],
            "meet at a barrier",
        ),
        (
            "barrier in one branch",
            [
                ("__syncthreads();", ""),
                ("if (t > 0)\n        y[t]", "if (t > 0) {\n        __syncthreads();\n        y[t]"),
                ("    else", "    } else"),
            ],
            "meet at a barrier",
        ),
        (
            "barrier for half the block",
            [("__syncthreads();", "if (t < 128) __syncthreads();")],
            "meet at a barrier",
        ),
        (
            "barrier for all warps but one",
            [("__syncthreads();", "if (t >= 32) __syncthreads();")],
            "that all threads pass",
        ),
        (
            "barrier too early",
            [("tile[t] = x[t];\n    __syncthreads();", "__syncthreads();\n    tile[t] = x[t];")],
            "between writing",
        ),
        (
            "barrier too late",
            [("__syncthreads();", ""), ("y[t] = tile[t];", "y[t] = tile[t];\n    __syncthreads();")],
            "between writing",
        ),
        ("only the warp", [("__syncthreads();", "__syncwarp();")], "between writing"),
        ("a fence only", [("__syncthreads();", "__threadfence_block();")], "between writing"),
        (
            "the other way round",
            [("tile[t] - tile[t - 1]", "tile[t - 1] - tile[t]")],
            "minus its left neighbour",
        ),
        ("right neighbour", [("tile[t - 1]", "tile[(t + 1) % 256]")], "left neighbour"),
        (
            "an endless loop",
            [("__syncthreads();", "while (tile[t] == x[t]) __syncthreads();")],
            "a loop has no end",
        ),
        ("a typing mistake", [("__syncthreads();", "__syncthread();")], '"__syncthread" is undefined'),
    ],
    "00.2": [
        (
            "no loop",
            [("for (int i =", "int i ="), ("; i < n; i += gridDim.x * blockDim.x)", ";\n    if (i < n)")],
            "step by the number of all",
        ),
        (
            "step of one block",
            [("i += gridDim.x * blockDim.x", "i += blockDim.x")],
            "two threads work on one element",
        ),
        (
            "every block from 0",
            [("i = blockIdx.x * blockDim.x + threadIdx.x", "i = threadIdx.x")],
            "two threads work on one element",
        ),
        (
            "all elements by all",
            [("i = blockIdx.x * blockDim.x + threadIdx.x", "i = 0"), ("i += gridDim.x * blockDim.x", "++i")],
            "two threads work",
        ),
        ("the old y forgotten", [("a * x[i] + y[i]", "a * x[i]")], "becomes a * x[i] + y[i]"),
        ("one too far", [("i < n", "i <= n")], "the loop ends at n"),
        ("no end", [("i < n; i += gridDim.x * blockDim.x", "i < n;")], "a loop has no end"),
        ("only for this launch", [("gridDim.x * blockDim.x", "192")], "step by the number of all threads"),
        (
            "a stretch for each thread",
            [
                (
                    THE_LOOP,
                    """    int each = (n + gridDim.x * blockDim.x - 1) / (gridDim.x * blockDim.x);
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * each;
    for (int i = first; i < first + each && i < n; ++i)
        y[i] = a * x[i] + y[i];""",
                )
            ],
            "neighbouring threads must take neighbouring elements",
        ),
        (
            "every second element, then the others",
            [
                (
                    THE_LOOP,
                    """    int all = gridDim.x * blockDim.x, t = blockIdx.x * blockDim.x + threadIdx.x;
    for (int odd = 0; odd < 2; ++odd)
        for (int i = 2 * t + odd; i < n; i += 2 * all)
            y[i] = a * x[i] + y[i];""",
                )
            ],
            "neighbouring threads must take neighbouring elements",
        ),
        (
            "one thread does all",
            [
                (
                    THE_LOOP,
                    "    if (blockIdx.x == 0 && threadIdx.x == 0)\n        for (int i = 0; i < n; ++i)\n"
                    "            y[i] = a * x[i] + y[i];",
                )
            ],
            "warp 0 of block 0 takes 512 turns, and not 4. Hint: all threads of all blocks share the work",
        ),
        (
            "block 0 does all",
            [
                (
                    THE_LOOP,
                    "    for (int i = threadIdx.x; blockIdx.x == 0 && i < n; i += blockDim.x)\n"
                    "        y[i] = a * x[i] + y[i];",
                )
            ],
            "warp 0 of block 0 takes 8 turns",
        ),
        (
            "the last block does all",
            [
                (
                    THE_LOOP,
                    "    for (int i = threadIdx.x; blockIdx.x == gridDim.x - 1 && i < n; i += blockDim.x)\n"
                    "        y[i] = a * x[i] + y[i];",
                )
            ],
            "warp 0 of block 0 takes 0 turns",
        ),
        (
            "one thread of each block",
            [
                (
                    THE_LOOP,
                    "    if (threadIdx.x == 0)\n        for (int i = blockIdx.x; i < n; i += gridDim.x)\n"
                    "            y[i] = a * x[i] + y[i];",
                )
            ],
            "all threads of all blocks share the work",
        ),
        (
            "one warp of each block",
            [
                (
                    THE_LOOP,
                    "    for (int i = blockIdx.x * 32 + threadIdx.x; threadIdx.x < 32 && i < n; i += gridDim.x * 32)\n"
                    "        y[i] = a * x[i] + y[i];",
                )
            ],
            "warp 0 of block 0 takes 8 turns",
        ),
    ],
}
SOLVED: dict = {}
