"""`matmul` on views: what is read and written in place, what goes by way of a copy, and what is never written."""

import sys

import numpy as np
import pytest

from cupy_or_sim import cp
from matmul import copies, matmul
from matmul.places import folded, shared, span, straight
from tests.matmul.test_matmul import SMALL, edit, with_plan
from tests.matmul.test_matmul_hopper import SMALL as HOPPER

room, ready = sys.modules["matmul.matmul"], sys.modules["matmul.ready"]


def whole(*shape, seed=0):
    return cp.asarray(np.random.default_rng([seed, *shape]).integers(-4, 5, shape).astype(np.float16))


def launched(monkeypatch, call, plan=SMALL):
    """The kernels that a call launches, and how often it copies arrays."""
    names, kernel_of = [], ready.kernel_of
    monkeypatch.setattr(
        ready, "kernel_of", lambda name: names.append(name.partition("<")[0]) or kernel_of(name)
    )
    copy = copies.device.cp.array
    monkeypatch.setattr(
        copies.device.cp,
        "array",
        lambda *given, **more: names.append("copy") or copy(*given, **more),
        raising=False,
    )
    result = with_plan(plan, call)
    monkeypatch.undo()
    return sorted(names), result


@pytest.mark.parametrize("plan, name", [(SMALL, "gemm"), (HOPPER, "hopper")])
def test_slices_of_one_array_are_read_where_they_lie(plan, name, monkeypatch):
    """Queries, keys and values side by side: what stands beside one another has no element in common."""
    QKV = whole(40, 3 * 64)
    Q, K, V = (QKV[:, first : first + 64] for first in (0, 64, 128))
    lesson = 7 if name == "hopper" else 6
    names, S = launched(monkeypatch, lambda: matmul(Q, K.T, lesson=lesson), plan)
    assert names == [name]
    np.testing.assert_array_equal(S, (Q.astype("f4") @ K.T.astype("f4")).astype("f2"))
    weights = whole(64, 64, seed=1)
    exact = K.astype("f4") @ weights.astype("f4")
    names, _ = launched(monkeypatch, lambda: matmul(K, weights, out=V, lesson=lesson), plan)
    assert names == [name]
    np.testing.assert_array_equal(V, exact.astype("f2"))


def test_the_copy_engine_reads_and_writes_a_view_of_any_width(monkeypatch):
    X, room_for_C = whole(40, 136), cp.full((72, 88), 7, np.float16)
    A, B, C = X[:, 8:111], whole(103, 80)[:, 8:], room_for_C[:40, 8:80]
    names, _ = launched(monkeypatch, lambda: matmul(A, B, out=C, lesson=7), HOPPER)
    assert names == ["hopper"]
    np.testing.assert_array_equal(C, A.astype("f4") @ B.astype("f4"))
    C[...] = 7
    assert (room_for_C == 7).all()


@pytest.mark.parametrize("columns", [60, 61, 64])
def test_what_stands_beside_a_view_is_left_alone(columns):
    """Rows of 60 that begin at multiples of 16 bytes: the last 16 bytes of each are not all its own."""
    beside = cp.full((70, 80), 7, np.float16)
    out, A, B = beside[:, 8 : 8 + columns], whole(70, 40), whole(40, columns)
    for plan in (SMALL, HOPPER):
        with_plan(plan, lambda plan=plan: matmul(A, B, out=out, lesson=7 if plan is HOPPER else 6))
        np.testing.assert_array_equal(out, A.astype("f4") @ B.astype("f4"))
    out[...] = 7
    assert (beside == 7).all()


def test_a_store_that_does_not_know_of_neighbours_is_found(monkeypatch):
    edit(monkeypatch, 6, "(stride | N) % WIDE", "stride % WIDE")
    with pytest.raises(AssertionError):
        test_what_stands_beside_a_view_is_left_alone(60)


def test_what_goes_by_way_of_a_copy(monkeypatch):
    X, B = whole(40, 80), whole(40, 24)
    every_other = X[:, ::2]
    names, C = launched(monkeypatch, lambda: matmul(every_other, B))
    assert names == ["copy", "gemm"]
    np.testing.assert_array_equal(C, every_other.astype("f4") @ B.astype("f4"))
    out = X[:, 1:49:2]
    names, _ = launched(monkeypatch, lambda: matmul(X[:, :40].copy(), B, out=out))
    assert names == ["gemm"]  # and out[...] = C behind it


@pytest.mark.parametrize("rows", [slice(None, None, -1), slice(None, None, 3), [0] * 8])
def test_rows_in_any_order(rows, monkeypatch):
    """Upside down, every third, or one again and again: the threads read them where they lie, the copy engine not."""
    X, B = whole(24, 64), whole(64, 8)
    A = np.ndarray((24, 64), np.float16, X, 0, (0, 2)) if isinstance(rows, list) else X[rows]
    for plan, wanted in ((SMALL, ["gemm"]), (HOPPER, ["hopper", "pad"])):
        if plan is HOPPER and rows == slice(None, None, 3):
            wanted = ["hopper"]
        names, C = launched(
            monkeypatch, lambda plan=plan: matmul(A, B, lesson=7 if plan is HOPPER else 6), plan
        )
        assert names == wanted
        np.testing.assert_array_equal(C, A.astype("f4") @ B.astype("f4"))


def test_spread_arrays_are_read():
    """As broadcast_to makes them; NumPy's may not be written, so the simulator takes a copy."""
    A, B = cp.broadcast_to(whole(1, 40), (9, 40)), cp.broadcast_to(whole(40, 1), (40, 7))
    np.testing.assert_array_equal(matmul(A, B), A.astype("f4") @ B.astype("f4"))
    bias = cp.broadcast_to(np.float16(3), 7)
    np.testing.assert_array_equal(matmul(A, B, bias=bias), A.astype("f4") @ B.astype("f4") + 3)


def test_where_arrays_lie():
    X = np.zeros((6, 8), np.float16)
    assert span(X) == (0, 96) and span(X[::-1]) == (-80, 16) and span(X[:0]) == (0, 0)
    assert not shared(X[:, :4], X[:, 4:]) and shared(X[:, :5], X[:, 4:]) and not shared(X[::2], X[1::2])
    assert straight(X) and straight(X.T) and straight(X[::2, 1:3]) and not straight(X[:, ::2])
    assert not straight(X.view(np.uint8)[:, 1:-1].view(np.float16)[:, ::2])
    assert straight(X[0]) and not straight(X[0, ::2])
    assert not any(map(folded, (X, X.T, X[:, ::2], X[::-1], X[:0], X[:1])))
    assert folded(np.broadcast_to(X[0], (3, 8))) and folded(np.ndarray((3, 4), np.float16, X, 0, (4, 2)))


def test_elements_of_odd_bytes_are_copied():
    """A column of a structured array: its elements are three bytes apart."""
    records = np.zeros(40, [("x", np.float16), ("y", np.uint8)])
    records["x"] = np.arange(40) % 5
    B = whole(40, 8)
    np.testing.assert_array_equal(
        matmul(records["x"][None], B), records["x"][None].astype("f4") @ B.astype("f4")
    )
