"""`matmul` on arrays as hypothesis draws them: views with gaps, transposed, turned round and spread, of every type. Its
answer is exact, nothing beside `out` is written, and no hazard is seen.
"""

from dataclasses import dataclass

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cupy_or_sim import device
from matmul import matmul
from tests.matmul.test_matmul import SMALL, stored, value, with_plan
from tests.sample import EVERY, in_long

COUNT = 150 if EVERY else 25
FEW = settings(
    max_examples=COUNT,
    deadline=None,
    derandomize=True,  # the same in every run: what the compiler makes of their kernels is kept
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
SIZES = st.one_of(st.integers(0, 24), st.sampled_from([8, 16, 32, 65, 72]))
ELSEWHERE = -77
"""In all elements that are of no view."""


@dataclass(frozen=True)
class View:
    """How a matrix lies in a larger array: behind so many rows and columns, every so-manieth of them, in front of so
    many more; turned round, transposed; or spread, one row for all."""

    behind: tuple[int, int] = (0, 0)
    steps: tuple[int, int] = (1, 1)
    before: tuple[int, int] = (0, 0)
    turned: tuple[bool, bool] = (False, False)
    transposed: bool = False
    spread: bool = False

    def of(self, numbers, kind):
        """An array of `cp` with these numbers, as a view; and the array that holds it."""
        if self.transposed:
            array, whole = View(self.behind, self.steps, self.before, self.turned).of(numbers.T, kind)
            return array.T, whole
        shape = numbers.shape
        whole = device.cp.asarray(
            stored(
                np.full(
                    [
                        b + s * n + m
                        for b, s, n, m in zip(self.behind, self.steps, shape, self.before, strict=True)
                    ],
                    ELSEWHERE,
                ),
                kind,
            )
        )
        array = whole[
            tuple(slice(b, b + s * n, s) for b, s, n in zip(self.behind, self.steps, shape, strict=True))
        ][tuple(slice(None, None, -1 if turned else 1) for turned in self.turned)]
        array[...] = device.cp.asarray(stored(numbers, kind))
        if self.spread and shape[0]:
            array = device.cp.broadcast_to(array[:1], shape)
        return array, whole


def pairs(of):
    return st.tuples(of, of)


VIEWS = st.builds(
    View,
    behind=pairs(st.sampled_from([0, 0, 1, 8])),
    steps=st.sampled_from([(1, 1), (1, 1), (2, 1), (3, 1), (1, 2)]),
    before=pairs(st.sampled_from([0, 0, 3, 8])),
    turned=st.sampled_from([(False, False), (False, False), (True, False), (False, True)]),
    transposed=st.booleans(),
)
READ = st.one_of(VIEWS, VIEWS, st.just(View(spread=True)))
KINDS = st.sampled_from(["float16", "bfloat16", "float32"])
OUT = st.sampled_from(["float16", "bfloat16", "float32"])


def numbers(seed, *shape):
    return np.random.default_rng([seed, *shape]).integers(-3, 4, shape).astype(np.float64)


@FEW
@given(SIZES, SIZES, SIZES, KINDS, READ, READ, st.data())
def test_any_view(M, N, K, kind, of_a, of_b, data):
    A, B = (view.of(numbers(M, *shape), kind)[0] for view, shape in ((of_a, (M, K)), (of_b, (K, N))))
    exact = value(A) @ value(B)
    C = with_plan(SMALL, lambda: matmul(A, B))
    assert (value(C) == exact).all() and C.shape == (M, N)

    out_kind, of_out = data.draw(OUT), data.draw(VIEWS)
    beta = data.draw(st.sampled_from([0.0, 0.0, 2.0]))
    bias = data.draw(st.sampled_from([None, View(), View(behind=(0, 1), steps=(1, 3)), View(spread=True)]))
    v = None if bias is None else bias.of(numbers(1, 1, N), kind)[0][0]
    before = numbers(2, M, N)
    out, whole = of_out.of(before, out_kind)
    exact += beta * before + (0 if v is None else value(v))
    beside = device.cp.asnumpy(whole) == stored(ELSEWHERE, out_kind)
    assert with_plan(SMALL, lambda: matmul(A, B, out, bias=v, beta=beta)) is out
    assert (value(out) == exact).all()
    assert (device.cp.asnumpy(whole)[beside] == stored(ELSEWHERE, out_kind)).all()


SHAPES = st.tuples(SIZES, SIZES, SIZES)
BATCH = st.sampled_from([None, None, 1, 2, 3])
ORDERS = st.sampled_from(["one after the other", "last first", "side by side", "all one"])


def batch_of(data, count, rows, columns):
    """A batch of views of one kind, or one matrix where `count` is None."""
    order, view = data.draw(ORDERS), data.draw(VIEWS)
    if count is None:
        return view.of(numbers(3, rows, columns), "float16")[0]
    if order == "side by side":  # as heads are
        wide = device.cp.asarray(stored(numbers(4, rows, count * columns), "float16"))
        return wide.reshape(rows, count, columns).transpose(1, 0, 2)
    batch = device.cp.stack([view.of(numbers(5 + i, rows, columns), "float16")[0] for i in range(count)])
    if order == "all one":
        return device.cp.broadcast_to(batch[:1], (count, rows, columns))
    return batch[::-1] if order == "last first" else batch


@FEW
@given(SHAPES, BATCH, BATCH, st.data())
def test_any_batch(shape, count_of_a, count_of_b, data):
    M, N, K = shape
    count_of_b = count_of_b if count_of_a in (None, 1) or count_of_b in (None, 1) else count_of_a
    A, B = batch_of(data, count_of_a, M, K), batch_of(data, count_of_b, K, N)
    exact = value(A) @ value(B)
    C = with_plan(SMALL, lambda: matmul(A, B, dtype="float32"))
    assert C.shape == exact.shape and (value(C) == exact).all()


@in_long
@FEW
@given(st.lists(SHAPES, max_size=4), st.data())
def test_any_list(shapes, data):
    def views(kinds, forms, seed):
        return [
            data.draw(kinds).of(numbers(seed, *form), kind)[0]
            for form, kind in zip(forms, types, strict=True)
        ]

    types = [data.draw(KINDS) for _ in shapes]
    As, Bs = views(READ, [(M, K) for M, _, K in shapes], 6), views(READ, [(K, N) for _, N, K in shapes], 7)
    types = ["float32"] * len(shapes)
    outs = views(VIEWS, [(M, N) for M, N, _ in shapes], 8)
    exact = [value(A) @ value(B) - value(C) for A, B, C in zip(As, Bs, outs, strict=True)]
    got = matmul(As, Bs, out=outs, beta=-1.0)
    assert all((value(C) == wanted).all() for C, wanted in zip(got, exact, strict=True))
