"""What lesson 06 times on a GPU, run here: the functions that make its calls, at small sizes, with cuBLAS replaced."""

import inspect
from types import SimpleNamespace

import numpy as np
import pytest

import cupy_or_sim
from course_lib.notebooks.figures import comparisons
from cupy_or_sim import timing
from tests.lessons.reading import cells_of, text_of


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

    monkeypatch.setattr(timing, "cublas", cublas)
    monkeypatch.setattr(cupy_or_sim, "cublas", cublas)
    return found


def test_a_layer_in_each_way(written):
    results = {}
    for label, call in comparisons.layer(256, 192, 40).items():
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


@pytest.mark.parametrize("kind", ["gemm", "persistent", "stream_k", "matmul", "cuBLAS"])
def test_rivals_make_the_same_product(kind, written, monkeypatch):
    monkeypatch.setattr(comparisons, "large", lambda: comparisons.single.SMALL)
    monkeypatch.setattr(comparisons, "SMS", 3)
    source = comparisons.parts("gemm", "stream_k")
    made = {}
    monkeypatch.setattr(
        comparisons.device.cp, "empty", lambda *a: made.setdefault("C", np.full(*a[:1], np.nan, a[1]))
    )
    calls = comparisons._rivals(("gemm", "persistent", "stream_k"), source, (130, 72, 136))
    calls[kind]()
    C = written["C"] if kind == "cuBLAS" else made["C"]
    calls["cuBLAS"]()
    assert np.allclose(C.astype(np.float64), written["C"], atol=0.02)


def test_each_kernel_notes_all_of_its_pieces(monkeypatch):
    monkeypatch.setattr(comparisons, "large", lambda: comparisons.single.SMALL)
    monkeypatch.setattr(comparisons, "SMS", 4)  # six tiles of three k-tiles: of 18, a block gets 4 or 5
    monkeypatch.setattr(comparisons, "TAIL", (130, 72))
    small = comparisons.Gemm(130, 72, 136, "float16")
    monkeypatch.setattr(comparisons, "Gemm", lambda *_: small)
    found = comparisons._watched()
    assert [len(rows) for rows in found.values()] == [6, 6, 8]


def test_a_kernel_of_ones_own_against_matmul(written):
    names = {}
    for cell in cells_of("deeper/06_own_gemm"):
        if cell["id"] in ("g01", "own-gemm", "own-against"):
            exec(text_of(cell), names)
            names["check_exercise"] = lambda *_: SimpleNamespace(ok=False)
            names["timed"] = lambda *_: None
    calls = names["against"](256, 128, 64)
    C, results = inspect.getclosurevars(calls["matmul"]).nonlocals["C"], []
    for label in "matmul", "yours":
        C[:] = np.nan
        calls[label]()
        results.append(C.astype(np.float64))
    calls["cuBLAS"]()
    assert all(np.allclose(result, written["C"], atol=0.02) for result in results)
