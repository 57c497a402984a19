"""What CuPy's RawKernel and RawModule do, and what the stand-in says."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cupy_or_sim import cupy_on_numpy as cp
from tests.bugs.case import ints, nans, told_by

CASES = []


@dataclass
class Trap:
    """`faulty` (None: there is none) must raise an error with one of the words; `mended` gives what came and what is
    right."""

    name: str
    report: str
    faulty: Callable | None
    mended: Callable
    words: tuple

    def told(self, messages):
        if not self.faulty:
            return "as on GPU"
        try:
            got = self.faulty()
        except Exception as error:
            messages.append(f"{type(error).__name__}: {error}")
            return told_by(messages[-1], self.words)
        return f"MISSED ({np.ravel(got)[:4]})"

    def told_mended(self, messages):
        got, want = self.mended()
        return "clean" if np.array_equal(got, want) else f"WRONG NUMBERS {got}"


COPY = r"""extern "C" __global__ void k(const float* x, float* y, int n) { int i = threadIdx.x; if (i < n) y[i] = x[i]; }"""
SCALE = r"""#include <cuComplex.h>
extern "C" __global__ void k(cuFloatComplex a, cuFloatComplex* y) { y[threadIdx.x] = a; }"""
STRUCT = r"""struct P { float a; int n; double d; };
extern "C" __global__ void k(P p, double* y) { if (threadIdx.x == 0) { y[0] = p.a; y[1] = p.n; y[2] = p.d; } }"""
TEMPLATE = r"""template <typename T> __global__ void k(const T* x, T* y, int n) { int i = threadIdx.x; if (i < n) y[i] = x[i] * T(2); }"""
CONSTANT = r"""__constant__ float c[4];
extern "C" __global__ void k(float* y) { y[threadIdx.x] = c[threadIdx.x]; }"""
F = np.dtype({"names": ["a", "n", "d"], "formats": ["f4", "i4", "f8"]}, align=True)


def go(source, args, out, block=(32,), grid=(1,), name="k"):
    cp.RawKernel(source, name)(grid, block, args)
    return out.copy()


def copy(x, y=None):
    y = nans(32) if y is None else y
    return go(COPY, (x, y, np.int32(32)), y)


def X():
    return ints(32)


def scale(a):
    y = np.zeros(32, "c8")
    return go(SCALE, (a, y), y)


def struct(v):
    y = nans(3, "f8")
    return go(STRUCT, (v, y), y)


def template(names, name):
    m = cp.RawModule(code=TEMPLATE, options=("--std=c++17",), name_expressions=names)
    y = nans(32)
    m.get_function(name)((1,), (32,), (X(), y, np.int32(32)))
    return y


def constant():
    m = cp.RawModule(code=CONSTANT)
    y = nans(4)
    p = m.get_global("c")
    a = cp.ndarray((4,), "f4", p)
    a[:] = cp.arange(4, dtype="f4")
    m.get_function("k")((1,), (4,), (y,))
    return y


CASES += [
    Trap(
        "float64 array for float*",
        "cupy/cupy#3186",
        lambda: copy(X().astype("f8")),
        lambda: (copy(X()), X()),
        ("float64", "float32"),
    ),
    Trap(
        "float32 array for the output double*",
        "cupy/cupy#3186",
        lambda: go(COPY.replace("float* y", "double* y"), (X(), y := nans(32), np.int32(32)), y),
        lambda: (copy(X()), X()),
        ("float32", "float64", "double"),
    ),
    Trap(
        "struct by value, as a NumPy record with align=True",
        "cupy/cupy#2778, #4829",
        lambda: struct(np.array((1.5, 7, 2.5), dtype=[("a", "f4"), ("n", "f8"), ("d", "f8")])[()]),
        lambda: (struct(np.array((1.5, 7, 2.5), F)[()]), np.array([1.5, 7, 2.5])),
        ("byte", "struct", "P"),
    ),
    Trap(
        "template: get_function without name_expressions",
        "cupy/cupy#3185",
        lambda: template(None, "k<float>"),
        lambda: (template(("k<float>",), "k<float>"), X() * 2),
        ("name_expressions",),
    ),
    Trap(
        "constant memory: RawModule.get_global",
        "cupy/cupy#1703, #2510",
        None,
        lambda: (constant(), np.arange(4, dtype="f4")),
        (),
    ),
    Trap(
        'extern "C" forgotten',
        "cupy/cupy#3185 (thread)",
        lambda: go(COPY.replace('extern "C" ', ""), (X(), y := nans(32), np.int32(32)), y),
        lambda: (copy(X()), X()),
        ('extern "C"',),
    ),
    Trap(
        "a list for an array (CuPy: TypeError, unsupported type)",
        "cupy/cupy#3295 (lists taken for arrays)",
        lambda: copy([1.0] * 32),
        lambda: (copy(X()), X()),
        ("list", "array"),
    ),
    Trap(
        "int64 array (NumPy's default) for int*",
        "cupy/cupy#1203, #3295",
        lambda: go(COPY.replace("float", "int"), (np.arange(32), y := nans(32, "i4"), np.int32(32)), y),
        lambda: (
            go(
                COPY.replace("float", "int"),
                (np.arange(32, dtype="i4"), y := nans(32, "i4"), np.int32(32)),
                y,
            ),
            np.arange(32, dtype="i4"),
        ),
        ("int64", "int32"),
    ),
]
