"""Lesson 00: its kernels are no GEMMs, so tests/test_lesson_kernels.py makes wrong variants of them itself."""

import re

import numpy as np

from tests.kernels.case import fma32, poison, random

NOTEBOOK = "00_start_here"
LAUNCHES: dict = {}
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
GAPS = ["00.1"]
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
        ("no quotient", [("y * 8 + threadIdx.x / 32", "y * 8 + threadIdx.x % 8")], "8 warps are 8 columns"),
        ("whole thread number", [("threadIdx.x % 32", "threadIdx.x")], "32 lanes are 32 rows"),
    ],
    "00.2": [
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
            "barrier for half the block",
            [("__syncthreads();", "if (t < 128) __syncthreads();")],
            "between writing the tile",
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
        ("right neighbour", [("tile[t - 1]", "tile[(t + 1) % 256]")], "left neighbour"),
    ],
}


def _numbers(skeleton, solution, changes):
    return tuple(int(re.search(rf"`{word} = (\d+)`", solution)[1]) for word in ("blocks", "idle_threads"))


SOLVED = {"00.3": _numbers}
