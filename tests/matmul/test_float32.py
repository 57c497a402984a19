"""`matmul` of float32: exact on whole numbers, as near as float32 allows on others, without hazards."""

import re
import sys
from dataclasses import replace

import numpy as np
import pytest

from cupy_or_sim import cp
from matmul import many, matmul
from matmul.float_plans import float_plan, tiles_of
from ptxsim import HazardError
from ptxsim.front.arguments import Struct, packed_bytes
from tests.matmul.test_matmul import edit
from tests.matmul.test_views import launched
from tests.sample import one_in

room = sys.modules["matmul.matmul"]
SMALL = tiles_of(False)[-1].plan
LAYOUTS = ["CC", "CF", "FC", "FF"]


def whole(*shape, seed=0, order="C"):
    return cp.asarray(
        np.random.default_rng([seed, *shape]).integers(-4, 5, shape).astype(np.float32), order=order
    )


@pytest.fixture
def with_plan(monkeypatch):
    def use(plan):
        monkeypatch.setattr(room, "planned_float", lambda *_: (plan, 1.0))

    return use


EVERY = [(tile.plan, *orders) for orders in LAYOUTS for tile in tiles_of(orders[1] == "F")[:2]]
EVERY += [(SMALL, "C", "C"), (SMALL, "F", "F")]


@pytest.mark.parametrize(("plan", "left", "right"), one_in(3, EVERY))
def test_every_tile(plan, left, right, with_plan):
    """More than one block in each direction, more k-tiles than slots; the last ones are not whole."""
    TM, TN = plan.tile
    with_plan(plan)
    A, B, bias = whole(TM + 8, 84, order=left), whole(84, TN + 12, order=right), whole(TN + 12)
    C = matmul(A, B, bias=bias, activation="relu", alpha=2.0)
    np.testing.assert_array_equal(C, np.maximum(2 * (A @ B) + bias, 0))
    np.testing.assert_array_equal(matmul(A, B, bias=bias, alpha=2.0), 2 * (A @ B) + bias)


STORED = [
    ("float32_plain", lambda: cp.empty((20, 12), np.float32), {"bias": whole(12), "alpha": -3.0}),
    ("float32_plain", lambda: cp.empty((20, 16), np.float32)[:, 4:], {}),
    ("float32", lambda: cp.empty((20, 13), np.float32)[:, :12], {}),
    ("float32", lambda: cp.empty((20, 16), np.float32)[:, 1:13], {}),
    ("float32", lambda: cp.empty((12, 20), np.float32).T, {"bias": whole(12)}),
    ("float32", lambda: cp.empty((20, 12), np.float16), {}),
    ("float32", lambda: cp.ones((20, 12), np.float32), {"beta": 1.0}),
    ("float32", lambda: cp.empty((20, 12), np.float32), {"activation": "relu"}),
]


@pytest.mark.parametrize(("name", "out", "finish"), one_in(3, STORED))
def test_what_is_stored_plainly(name, out, finish, monkeypatch):
    """float32 in rows of whole words, with no more than a bias."""
    A, B, C = whole(20, 24), whole(24, 12), out()
    sums = finish.get("alpha", 1) * (A @ B) + finish.get("bias", 0) + finish.get("beta", 0)
    names, _ = launched(monkeypatch, lambda: matmul(A, B, out=C, **finish))
    assert names == [name]
    np.testing.assert_array_equal(C, np.maximum(sums, 0) if "activation" in finish else sums)


@pytest.mark.parametrize("orders", LAYOUTS)
@pytest.mark.parametrize("K", one_in(2, [21, 20]))
def test_layouts_and_places(orders, K, with_plan, monkeypatch):
    """Rows at any place: those that do not begin at multiples of 16 bytes are moved first."""
    with_plan(SMALL)
    A, B = whole(72, K + 1, order=orders[0])[:, 1:], whole(K, 68, order=orders[1])
    _, C = launched(monkeypatch, lambda: matmul(A, B))
    np.testing.assert_array_equal(C, A @ B)


@pytest.mark.parametrize("shape", [(1, 1, 1), (0, 5, 3), (5, 3, 0), (1, 130, 7), (65, 8, 64)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_edges(shape, order):
    M, N, K = shape
    A, B, C = whole(M, K), whole(K, N), whole(M, N, order=order)
    exact = -(A @ B) + 0.5 * C
    assert matmul(A, B, out=C, alpha=-1.0, beta=0.5) is C
    np.testing.assert_array_equal(C, exact)


@pytest.mark.parametrize("orders", ["CF", "FC"])
def test_k_in_parts(orders, with_plan, monkeypatch):
    with_plan(replace(SMALL, split=3))
    A, B, bias = whole(65, 132, order=orders[0]), whole(132, 67, order=orders[1]), whole(67)
    out = cp.full((65, 67), 2, np.float16)
    names, _ = launched(monkeypatch, lambda: matmul(A, B, out=out, bias=bias, activation="relu", beta=0.5))
    assert [name for name in names if name != "pad"] == ["float32", "reduce"]
    np.testing.assert_array_equal(out, np.maximum(A @ B + 1 + bias, 0).astype("f2"))


def test_no_bit_of_an_operand_is_lost():
    """Tensor cores would round operands of float32 to 11 bits."""
    A = cp.asarray(np.array([[1 + 2**-23, 1.0]], np.float32))
    B = cp.asarray(np.array([[1.0], [-1.0]], np.float32))
    assert matmul(A, B)[0, 0] == np.float32(2**-23)


def test_as_near_as_float32_allows():
    random = np.random.default_rng(0)
    A, B = (cp.asarray(random.standard_normal(shape).astype("f4")) for shape in ((40, 500), (500, 24)))
    exact = A.astype("f8") @ B.astype("f8")
    assert (np.abs(matmul(A, B) - exact) < 500 * 2**-24 * (np.abs(A) @ np.abs(B))).all()


def test_batches_and_lists_with_others(monkeypatch):
    A, B, H = whole(3, 20, 40), whole(3, 40, 24), whole(40, 24).astype("f2")
    names, (C, D) = launched(monkeypatch, lambda: matmul([A, H.T], [B, H]))
    assert names == ["float32", "grouped"]
    np.testing.assert_array_equal(C, A @ B)
    np.testing.assert_array_equal(D, (H.T.astype("f4") @ H.astype("f4")).astype("f2"))


def test_plans():
    for M, N, K in ((1024, 1024, 1024), (1, 1, 1), (64, 64, 65536), (4096, 4096, 4096), (5, 5, 0)):
        plan, us = float_plan(M, N, K, False)
        assert us > 0 and (plan.split - 1) * plan.k_part(K) < max(K, 1) <= max(plan.split * plan.k_part(K), 1)
    assert float_plan(64, 64, 65536, True)[0].split > 8


def test_plans_know_the_layout():
    assert [float_plan(8192, 8192, 8192, along_k)[0].tile for along_k in (False, True)] == [
        (128, 256),
        (256, 128),
    ]


def test_a_row_of_the_table_is_as_long_as_in_the_kernel():
    row = many.row_of(many.product(whole(8, 8), whole(8, 8), whole(8, 8)), SMALL)
    assert len(many.FIELDS.unpack(bytes(many.FIELDS.size))) == 4 + len(row)
    assert packed_bytes(many._struct([None] * 4, row)) == many.FIELDS.size
    assert many.SIZES[-1] * many.FIELDS.size + 64 < 32764 and many.SIZES[0] * many.FIELDS.size + 64 < 4096
    made = Struct(*[many._struct([None] * 4, row)] * 2)
    packed = many.FIELDS.pack(0, 0, 0, 0, *row)
    from ptxsim.front.arguments import _packed

    assert _packed(made, "it", [], [])[0].tobytes() == packed * 2


WRONG = {
    "rows outside not left out": ("i / 2 * TURN < size && k + later < left", "k + later < left", "out-of-bounds"),
    "no zeros behind K": ("i / 2 * TURN < size && k + later < left", "i / 2 * TURN < size", "out-of-bounds|wrong"),
    "a swizzle of the wrong rows": ("(row / 4 ^ k)", "(row / 8 ^ k)", "wrong|uninitialised-read"),
    "copied while others read": ("(k - TK / 2) * GROUPS + group;", "k * GROUPS + group;", "after"),
    "wait for one copy less": ("wait_group<SLOTS - 3>", "wait_group<SLOTS - 2>", "unwaited-copy|read-after-write"),
    "no barrier in the loop": ("__syncthreads();                  // and all", "//", "after"),
    "fragments of the next k": ("b[k % 2]", "b[(k + 1) % 2]", "wrong|uninitialised-read"),
    "the second half of the columns": ("column + g * 32];", "column + g * 16];", "wrong|race|write-after|conflict"),
    "the second half of the columns, of parts": ("i % 2 * 32)]", "i % 2 * 16)]", "wrong|race|write-after|conflict"),
    "rows that are not there": ("row + group * 16 + r < M && ", "", "out-of-bounds"),
    "a bias that is not there": ("bias && column < N", "column < N", "out-of-bounds|null|wrong|illegal"),
    "all of K in each part": ("min((long long)p.K, p.all_k - product * (long long)p.K)", "p.all_k", "wrong|out-of"),
}  # fmt: skip


@pytest.mark.parametrize("what", one_in(3, WRONG))
def test_wrong_kernels_are_found(what, monkeypatch, with_plan):
    old, new, words = WRONG[what]
    edit(monkeypatch, "float32", old, new)
    with_plan(replace(SMALL, split=2) if "part" in what else SMALL)
    said = ""
    for orders in ("CF", "FC"):  # along K, and along M and N
        A, B = whole(70, 132, order=orders[0]), whole(132, 68, order=orders[1])
        try:
            said += "" if (matmul(A, B) == A @ B).all() else "wrong"
        except HazardError as error:
            said += str(error)
    assert re.search(words, said), said
