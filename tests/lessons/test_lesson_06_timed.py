"""What lesson 06 times on a GPU, run here: the functions that make its calls, at small sizes, with cuBLAS replaced."""

import inspect
import json
from types import SimpleNamespace

import numpy as np
import pytest

import course_lib
from course_lib.lessons import sources
from tests.lessons import replaced

CELLS = ["c01", "waste", "run", "fuse-separate", "fuse-one", "fuse-exact", "fuse-pieces"]
"""Beside the kernel's parts: what the cells with `timed` use."""


def names_of(*cells, changes=(), **names):
    """The names that these cells of the lesson define, where some of their text is replaced."""
    path = sources.NOTEBOOKS / "06_complete_gemm.ipynb"
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if "part" in cell["metadata"].get("tags", ()) or cell["id"] in cells:
            source = "".join(cell["source"])
            for old, new in changes if cell["id"] == cells[-1] else ():
                source = replaced(source, old, new)
            exec(source, names)
    return names


@pytest.fixture
def written(monkeypatch):
    """The array that cuBLAS is to write, and what it would write."""
    found = {}

    def cublas(gemm, C=None):
        A, B, new, *_ = gemm.arguments(*gemm.inputs)
        found["C"] = C = new if C is None else C

        def call():
            C[:] = A.astype(np.float64) @ B.astype(np.float64).T

        return call

    monkeypatch.setattr(course_lib, "cublas", cublas)
    return found


def test_a_layer_in_each_way(written):
    small = [
        ("4096, 4096, K", "256, 192, K"),
        ("(4096, 4096)", "(256, 192)"),
        ("normal(4096)", "normal(192)"),
    ]
    layer = names_of(*CELLS, "fuse-measured", changes=small)["layer"]
    results = {}
    for label, call in layer(40).items():
        if "C" in written:
            written["C"][:] = np.nan
        call()
        results[label] = written["C"].astype(np.float64)
    assert results["plain"].min() < 0 and np.allclose(results["plain"], results["cuBLAS"], atol=0.02)
    assert np.array_equal(results["three kernels"], results["in 4 pieces, two streams"])
    for label in "fused", "three kernels", "cuBLAS + two kernels":
        assert results[label].min() == 0
        assert np.allclose(results[label], results["fused"], atol=0.04)
    assert -0.2 < results["fused, GELU"].min() < -0.1


def test_a_kernel_of_ones_own_against_matmul(written):
    names = names_of(*CELLS, "fuse-measured")
    names["check_exercise"] = lambda *_: SimpleNamespace(ok=True)
    calls = names_of("own-gemm", "own-against", **names)["against"](256, 128, 64)
    C, results = inspect.getclosurevars(calls["matmul"]).nonlocals["C"], []
    for label in "matmul", "yours":
        C[:] = np.nan
        calls[label]()
        results.append(C.astype(np.float64))
    calls["cuBLAS"]()
    assert all(np.allclose(result, written["C"], atol=0.02) for result in results)
