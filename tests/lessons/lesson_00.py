"""Lesson 00: its kernels are no GEMMs, so tests/lessons/test_lesson_kernels.py makes wrong variants of them itself."""

import numpy as np

from tests.kernels.case import fma32, poison, random
from tests.lessons.tables import answers_beside

NOTEBOOK = "00_start_here"


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
OUTER = "    C[m + n * M] = x[m] * y[n];\n"
REMARKED = {
    "00.3": [
        (
            "two barriers",
            [("    __syncthreads();\n", "    __syncthreads();\n    __syncthreads();\n")],
            "one of the barriers in lines 8 and 9 can go",
        ),
        (
            "one in front as well",
            [("    tile[t] = x[t];", "    __syncthreads();\n    tile[t] = x[t];")],
            "in line 7 can go",
        ),
    ],
}
RIGHT_ANSWERS, WRONG_ANSWERS = answers_beside(__file__, **globals())
