"""`matmul` of batches and of lists: exact, without hazards, in as few launches as it says."""

import re
import sys

import numpy as np
import pytest

from cupy_or_sim import cp
from matmul import many, matmul, warm
from ptxsim import HazardError
from ptxsim.gpus import H100
from tests.matmul.test_matmul import edit, stored, value
from tests.matmul.test_matmul_hopper import SMALL as HOPPER
from tests.matmul.test_views import launched, whole
from tests.sample import one_in

room, ready = sys.modules["matmul.matmul"], sys.modules["matmul.ready"]


def product_of(A, B):
    return A.astype("f4") @ B.astype("f4")


BATCHES = {
    "both": (lambda: (whole(3, 70, 40), whole(3, 40, 24)), ["grouped"]),
    "one matrix for all, as one product": (lambda: (whole(3, 70, 40), whole(40, 24)), ["gemm"]),
    "a batch of one is a matrix": (lambda: (whole(3, 70, 40), whole(1, 40, 24)), ["gemm"]),
    "one row of each": (lambda: (whole(5, 1, 40)[:, :, 8:32], whole(24, 16)), ["gemm"]),
    "a product of one": (lambda: (whole(1, 70, 40), whole(40, 24)), ["gemm"]),
    "the same on the left": (lambda: (whole(70, 40), whole(3, 40, 24)), ["grouped"]),
    "transposed": (lambda: (whole(3, 40, 72).swapaxes(1, 2), whole(3, 24, 40).swapaxes(1, 2)), ["grouped"]),
    "heads side by side": (lambda: heads(whole(40, 6, 16)), ["grouped"]),
    "rows at odd places": (lambda: (whole(3, 20, 41), whole(3, 41, 24)), ["grouped", "pad"]),
    "odd places, one matrix for all": (lambda: (whole(21, 41), whole(3, 41, 23)), ["grouped", "pad"]),
    "upside down": (lambda: (whole(3, 70, 40)[::-1], whole(3, 40, 24)), ["grouped"]),
    "bent": (lambda: (whole(3, 70, 80)[:, :, ::2], whole(3, 40, 24)), ["copy", "grouped"]),
    "nothing to add": (lambda: (whole(3, 70, 0), whole(3, 0, 24)), ["grouped"]),
    "empty": (lambda: (whole(0, 70, 40), whole(0, 40, 24)), []),
    "no rows": (lambda: (whole(3, 0, 40), whole(40, 24)), []),
}  # fmt: skip


def heads(X):
    """(tokens, 6 heads, 16): queries of three heads and keys of three."""
    return X[:, :3].transpose(1, 0, 2), X[:, 3:].transpose(1, 2, 0)


@pytest.mark.parametrize("what", one_in(3, BATCHES))
def test_batches(what, monkeypatch):
    make, wanted = BATCHES[what]
    A, B = make()
    names, C = launched(monkeypatch, lambda: matmul(A, B))
    assert names == wanted
    exact = product_of(A, B)
    assert C.shape == exact.shape and (exact == C).all()


def test_a_batch_with_all_that_a_product_may_have():
    A, B, bias = whole(3, 20, 40), whole(3, 40, 24), whole(24)
    beside = cp.full((3, 24, 40), 5, np.float32)
    out = beside[:, :, 8:28].swapaxes(1, 2)
    out[...] = 1
    assert matmul(A, B, out, bias, "relu", alpha=2.0, beta=-3.0) is out
    np.testing.assert_array_equal(out, np.maximum(2 * product_of(A, B) - 3 + bias, 0))
    out[...] = 5
    assert (beside == 5).all()


@pytest.mark.parametrize("columns", [64, 68])
def test_one_after_the_other(columns, monkeypatch):
    """With lesson 07's kernel: where each matrix begins is looked at."""
    A, B = whole(3, 20, 40), whole(3, 40, columns)[:, :, 2:42]
    names, C = launched(monkeypatch, lambda: matmul(A, B, lesson=7), HOPPER)
    assert set(names) == {"hopper", "pad"}
    assert (product_of(A, B) == C).all()


def test_large_products_do_not_share_a_launch():
    """On a GPU that has lesson 07's kernel the faster way is taken."""
    each = many.product(*(np.empty((16, 4096, 4096), np.float16),) * 3)
    small = many.product(*(np.empty((64, 256, 256), np.float16),) * 3)
    faster = [
        many.us_together([one], H100.shared_block) * room.SIX < one.count * room.us_alone(one, (6, 7))
        for one in (each, small)
    ]
    assert faster == [False, True]


def lists():
    sizes = [(70, 24, 40), (5, 3, 130), (0, 8, 8), (16, 16, 8), (33, 40, 41)]
    return [whole(M, K) for M, _, K in sizes], [whole(K, N) for _, N, K in sizes]


def test_a_list_is_one_launch(monkeypatch):
    As, Bs = lists()
    names, Cs = launched(monkeypatch, lambda: matmul(As, Bs))
    assert [name for name in names if name != "pad"] == ["grouped"]
    for A, B, C in zip(As, Bs, Cs, strict=True):
        assert C.shape == (A.shape[0], B.shape[1]) and (product_of(A, B) == C).all()


def test_a_list_with_all_that_a_product_may_have(monkeypatch):
    """Types, layouts and outputs of different kinds: a launch for each kind."""
    As, Bs = lists()
    As[1], Bs[1] = (cp.asarray(stored(value(x), "bfloat16")) for x in (As[1], Bs[1]))
    As[3], Bs[3] = whole(2, 16, 8), whole(8, 16)
    outs = [cp.full((A.shape[0], B.shape[1]), 2, np.float32) for A, B in zip(As, Bs, strict=True)]
    outs[0], outs[3] = cp.full((70, 48), 2, np.float16)[:, ::2], cp.full((2, 16, 16), 2, np.float16)
    bias = [None, None, None, None, whole(40)]
    names, got = launched(
        monkeypatch, lambda: matmul(As, Bs, out=outs, bias=bias, beta=0.5, activation="relu")
    )
    assert names.count("grouped") == 3 and all(one is out for one, out in zip(got, outs, strict=True))
    for A, B, C, v in zip(As, Bs, outs, bias, strict=True):
        exact = value(A) @ value(B) + 1 + (0 if v is None else value(v))
        np.testing.assert_array_equal(value(C), np.maximum(exact, 0))


def test_more_sizes_than_a_table_has(monkeypatch):
    monkeypatch.setattr(many, "SIZES", (1, 2))
    As, Bs = lists()
    names, Cs = launched(monkeypatch, lambda: matmul(As, Bs))
    assert names.count("grouped") == 2
    assert all((product_of(A, B) == C).all() for A, B, C in zip(As, Bs, Cs, strict=True))


def test_a_list_of_one_that_is_kept_is_not_the_problem_itself(monkeypatch):
    """Nor is one list another: two of three arrays, and three of two."""
    keys = []

    def form_of(arrays, *others):
        keys.append((tuple(None if array is None else array.shape for array in arrays), *others))
        return keys[-1], [None if array is None else array.ctypes.data for array in arrays]

    monkeypatch.setattr(warm, "_known", {})
    monkeypatch.setattr(warm, "form_of", form_of)
    monkeypatch.setattr(warm, "cupy", lambda: cp)
    A, B, out = whole(20, 40), whole(40, 24), whole(20, 24)
    for _ in range(2):
        assert matmul(A, B, out=out) is out and (matmul(A, B) == product_of(A, B)).all()
        (C,), (D,) = matmul([A], [B], out=[out]), matmul([A], [B])
        assert C is out and (product_of(A, B) == D).all()
        assert all((product_of(A, B) == C).all() for C in matmul([A, A], [B, B]))
    assert len(warm._known) == 5 == len(set(keys))


def test_lists_of_nothing():
    assert matmul([], []) == []
    (C,) = matmul([whole(16, 0)], [whole(0, 8)], bias=[whole(8)])
    assert (whole(8) == C).all()


BAD = {
    "one list": (lambda A, B: matmul([A], B), TypeError, "A is a list, and B is not; allowed are arrays, or lists"),
    "numbers": (lambda A, B: matmul([[1.0]], B), TypeError, "pass cp.asarray"),
    "lengths": (lambda A, B: matmul([A], [B, B]), ValueError, "different lengths: A 1, B 2"),
    "lesson 6 of float32": (lambda A, B: matmul([A, A.astype("f4")], [B, B.astype("f4")], lesson=6), ValueError,
                            "float32 has a kernel of its own"),
    "one out": (lambda A, B: matmul([A], [B], out=A), TypeError, "A and B are lists, and out is not"),
    "which one": (lambda A, B: matmul([A, A], [B, A]), ValueError, r"problem 1: A has shape \(16, 8\) and B \(16, 8\)"),
    "batches": (lambda A, B: matmul(cp.ones((2, 16, 8), "f2"), cp.ones((3, 8, 4), "f2")), ValueError,
                r"A has shape \(2, 16, 8\) and B \(3, 8, 4\); .*or batches"),
    "four dimensions": (lambda A, B: matmul(A[None, None], B), ValueError, "more dimensions reshape"),
    "out in another": (lambda A, B: matmul([A, A], [B, B], out=[room_for(0), room_for(1)]), ValueError,
                       "out of problem 0 shares memory with out of problem 1"),
    "out is read": (lambda A, B: matmul([A, ROOM[:, 4:]], [B, B], out=[ROOM[:, :8], cp.ones((16, 8), "f2")]),
                    ValueError, "out of problem 0 shares memory with A of problem 1"),
}  # fmt: skip
ROOM = cp.zeros((16, 12), np.float16)


def room_for(number):
    return ROOM[:, number : number + 8]


@pytest.mark.parametrize("what", BAD)
def test_what_is_refused(what):
    call, error, words = BAD[what]
    with pytest.raises(error, match=words):
        call(cp.ones((16, 8), np.float16), cp.ones((8, 8), np.float16))


WRONG = {
    "all take the first of A": ("p.A + product * p.a_next", "p.A", "wrong"),
    "a batch without its last": ("if (product >= p.count)", "if (product >= p.count - 1)", "wrong|out-of-bounds"),
    "tiles of the one before": ("number -= p.count * tiles, ++size", "++size", "wrong"),
    "tiles left out": ("number += gridDim.x;", "number += gridDim.x + 1;", "wrong"),
    "no barrier between tiles": ("tile.store(sum, finish, at.x * TM, at.y * TN);\n        __syncthreads();",
                                 "tile.store(sum, finish, at.x * TM, at.y * TN);", "write-after-read"),
}  # fmt: skip


@pytest.mark.parametrize("what", one_in(2, WRONG))
def test_wrong_kernels_are_found(what, monkeypatch):
    old, new, words = WRONG[what]
    source = ready.matmul_source(6)
    begin = source.index("void all_tiles(")
    part = source[begin:].replace(old, new, 1)
    assert part != source[begin:]
    edit(monkeypatch, 6, source[begin:], part)
    monkeypatch.setattr(many, "sms", lambda: 1)
    A, B = whole(3, 40, 72), whole(3, 72, 80)
    try:
        Cs = matmul([A, A], [B, B])
        said = "" if all((product_of(A, B) == C).all() for C in Cs) else "wrong"
    except HazardError as error:
        said = str(error)
    assert re.search(words, said), said
