"""`matmul` with lesson 06's kernel, for any shape, layout and type: exact on whole numbers, close to float64 on random
ones, and no hazard.

`make bench` tries 200 random problems, and all tiles with all numbers of slots; the tests here take a few of the same
kind.
"""

import ctypes
import math
import re
import sys
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

from course_lib.lessons import sources
from cupy_or_sim import device
from matmul import matmul, operands, plans, tuner, warm
from matmul.hopper_plans import HopperPlan
from ptxsim import HazardError
from ptxsim.compiler.nvrtc import compile_ptx
from ptxsim.gpus import H100
from tests.sample import one_in

room, ready = sys.modules["matmul.matmul"], sys.modules["matmul.ready"]
OUTPUTS = {"float16": np.float16, "bfloat16": np.uint16, "float32": np.float32}
SMALL = plans.Plan((64, 64, 64), (32, 32), 3)


def to_bits(x):
    """float32 to the bits of bfloat16, rounded to nearest, ties to even; NaN stays NaN."""
    bits = np.array(x, np.float32).view(np.uint32)
    rounded = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(x), np.uint16(0x7FC0), rounded)


def stored(x, kind, order="C"):
    """float64 as it lies in an array of this kind."""
    x = np.asarray(x, np.float32)
    return np.array(to_bits(x) if kind == "bfloat16" else x.astype(kind), order=order)


def value(array):
    """As float64."""
    array = device.cp.asnumpy(array)
    bits = array.dtype == np.uint16
    return ((array.astype(np.uint32) << 16).view(np.float32) if bits else array).astype(np.float64)


@dataclass(frozen=True)
class Problem:
    M: int
    N: int
    K: int
    orders: str = "CF"  # of A and of B; "CF" is contiguous along K twice
    kind: str = "float16"
    out: str = "float16"
    out_order: str = "C"
    bias: bool = False
    activation: str | None = None
    alpha: float = 1.0
    beta: float = 0.0
    whole: bool = True  # whole numbers
    moved: int = 0  # elements that A's and B's first address is moved by: breaks their alignment
    seed: int = 0


def random_problem(seed, most=300):
    """One of 0 to `most` in each dimension, small and odd sizes among them more often than by chance."""
    random = np.random.default_rng(seed)
    pick = lambda *choices: choices[random.integers(len(choices))]  # noqa: E731
    M, N, K = (
        int(random.integers(0, most + 1)) if random.random() < 0.9 else pick(0, 1, 8, 64) for _ in "MNK"
    )
    orders = pick("C", "F") + pick("C", "F")
    kind = pick("float16", "bfloat16")
    alpha, beta = pick((1.0, 0.0), (1.0, 0.0), (2.0, -1.0), (-1.0, 0.5))
    return Problem(
        *(
            M,
            N,
            K,
            orders,
            kind,
            pick(*OUTPUTS),
            pick("C", "F"),
            pick(False, True),
            pick(None, "relu", "gelu"),
        ),
        *(alpha, beta, bool(random.integers(2)), pick(0, 0, 1, 4), seed),
    )


def wrong_with(problem, plan=None):
    """What is wrong with matmul's answer, or "". With `plan`: the kernels of this plan, else those of lesson 06."""
    p, random, cp = problem, np.random.default_rng(problem.seed), device.cp

    def draw(shape, kind, order="C", moved=0):
        """An array of `cp`, and its values."""
        x = random.integers(-3, 4, shape) if p.whole else random.standard_normal(shape)
        host = stored(x, kind, order)
        room = cp.asarray(np.zeros(host.size + moved, host.dtype))
        room[moved:] = cp.asarray(host.ravel(order="K"))
        return room[moved:].reshape(shape, order=order), value(host)

    A, a = draw((p.M, p.K), p.kind, p.orders[0], p.moved)
    B, b = draw((p.K, p.N), p.kind, p.orders[1], p.moved)
    bias, v = draw(p.N, p.kind) if p.bias else (None, np.zeros(p.N))
    before = np.full((p.M, p.N), np.nan)
    if p.beta:
        before = value(stored(random.integers(-9, 10, (p.M, p.N)), p.out))
    out = cp.asarray(stored(before, p.out, p.out_order), order="K")
    with np.errstate(all="ignore"):
        expected = p.alpha * (a @ b) + (p.beta * before if p.beta else 0) + v
    if p.activation == "relu":
        expected = np.maximum(expected, 0)
    if p.activation == "gelu":
        expected *= 0.5 * (1 + np.vectorize(math.erf, otypes=[float])(expected / math.sqrt(2)))
    try:
        lesson = 7 if isinstance(plan, HopperPlan) else 6
        with_plan(plan, lambda: matmul(A, B, out, bias, p.activation, p.alpha, p.beta, lesson=lesson))
    except HazardError as error:
        return str(error)
    got = value(out)
    if p.whole and p.activation != "gelu":
        good = got == value(stored(expected, p.out))
    else:  # a rounding of the result, and those of the sums: float32, and on tensor cores not to nearest
        relative = {"float16": 2**-11, "bfloat16": 2**-8, "float32": 2**-20}[p.out]
        sums = 1e-6 + 1e-5 * max(1, abs(p.alpha)) * p.K**0.5
        good = np.abs(got - expected) <= 1.01 * relative * np.abs(expected) + sums
    if good.all():
        return ""
    where = tuple(map(int, np.argwhere(~good)[0]))
    return f"{(~good).sum()} of {good.size} wrong, first at {where}: {got[where]}, not {expected[where]}"


def with_plan(plan, call):
    planned = room.planned
    if plan:
        room.planned = lambda shape, *more: (
            plan.parts(shape[2], plan.split) if all(shape) else planned(shape, *more)
        )
    try:
        return call()
    finally:
        room.planned = planned


def check(problem, plan=None):
    wrong = wrong_with(problem, plan)
    assert not wrong, f"{problem}, {plan}: {wrong}"


@pytest.mark.parametrize("number", one_in(3, range(len(plans.TILES))))
def test_every_tile_that_a_plan_may_have_is_right_and_clean(number):
    """More than one block in each direction, more k-tiles than slots; layouts, types and activations in turn."""
    tile = plans.TILES[number].plan
    TM, TN, TK = tile.tile
    K = (tile.stages + 1) * TK + 24
    kinds = [
        ("float16", "float16"),
        ("bfloat16", "bfloat16"),
        ("float16", "float32"),
        ("float16", "bfloat16"),
    ]
    layouts = [o for o in ("CF", "CC", "FF", "FC") if tile.fits(o[0] == "C", o[1] == "F")]
    problem = Problem(TM + 8, TN + 9, K, layouts[number % len(layouts)], *kinds[number // 2 % 4], seed=number)
    check(problem, tile)
    check(replace(problem, M=5, K=2 * TK - 3, bias=True, activation="relu", alpha=2.0, beta=-1.0), tile)


OTHER_RINGS = [
    plan
    for base in tuner.BASES
    for stages in tuner.STAGES
    if (plan := replace(base, stages=stages)).fits(True, True)
    and plan not in [tile.plan for tile in plans.TILES]
]
"""All that tuning may pick; those of the table above are tested there."""
WON = {(plan.tile, plan.stages) for plan in plans.tuned(H100.driver_name).values()}


def check_ring(plan):
    """One block, more k-tiles than slots; the edges do not know of slots."""
    check(Problem(plan.tile[0] - 3, 16, (plan.stages + 1) * plan.tile[2] + 24), plan)


@pytest.mark.parametrize(
    "plan",
    one_in(3, (plan for plan in OTHER_RINGS if (plan.tile, plan.stages) in WON)),
    ids=lambda p: f"{p.tile}, {p.stages}",
)
def test_rings_that_tuning_picked_are_right_and_clean(plan):
    """The others, too: `python -m tools.author.problems`."""
    check_ring(plan)


@pytest.mark.parametrize("group", tuner.GROUPS)
def test_every_order_of_blocks_makes_each_tile_once(group):
    for M, N in ((1, 1), (64 * 7, 64 * 3), (64 * 33 - 1, 65), (64 * 40, 1)):
        plan = replace(SMALL, group=group, split=2)
        down, across = plan.tiles(M, N)
        x, y, z = plan.grid(M, N)
        made = [  # as the kernel finds them; those behind the last row return at once
            (part, row, column)
            for part, group_z in ((place // plan.groups(M), place % plan.groups(M)) for place in range(z))
            for row in (group_z * x + at for at in range(x))
            for column in range(y)
            if row * 64 < M
        ]
        assert sorted(made) == [(p, r, c) for p in range(2) for r in range(down) for c in range(across)]
        assert x <= group
    if group < 8:
        check(Problem(64 * 5 - 9, 70, 72), replace(SMALL, group=group))


@pytest.mark.parametrize("orders", ["CF", "CC", "FF", "FC"])
@pytest.mark.parametrize("moved", one_in(2, [1, 0, 4]))
def test_layouts_and_alignments(orders, moved):
    check(Problem(70, 80, 136, orders, moved=moved), SMALL)
    check(Problem(68 - moved, 76, 100, orders, "bfloat16", "float32", moved=moved, whole=False), SMALL)


@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (0, 5, 3), (5, 0, 3), (5, 3, 0), (0, 0, 0), (1, 130, 7), (65, 1, 64), (64, 64, 1)]
)
def test_edges(shape):
    for out_order in "CF":
        check(Problem(*shape, out_order=out_order, bias=True, alpha=-1.0, beta=0.5), SMALL)


@pytest.mark.parametrize("out_order", ["C", "F"])
@pytest.mark.parametrize("out", OUTPUTS)
def test_k_in_parts(out, out_order):
    split = replace(SMALL, split=3)
    check(Problem(65, 67, 300, out=out, out_order=out_order, bias=True, activation="relu", beta=0.5), split)
    check(Problem(64, 72, 260, out=out, out_order=out_order, whole=False, activation="gelu"), split)


def test_nan_and_infinity_go_where_they_belong():
    A, B = np.ones((66, 40), np.float16), np.ones((40, 70), np.float16)
    A[3, 5], B[7, 9] = np.nan, np.inf
    C = value(matmul(device.cp.asarray(A), device.cp.asarray(B), activation="relu"))
    assert np.isnan(C[3]).all() and np.isposinf(np.delete(C[:, 9], 3)).all()
    assert (np.delete(np.delete(C, 3, 0), 9, 1) == 40).all()


@pytest.mark.parametrize("seed", range(3))
def test_random_problems(seed):
    check(random_problem(seed, most=120))


def test_what_it_returns():
    cp = device.cp
    A, B = cp.ones((3, 8), np.float16), cp.ones((8, 5), np.float16)
    assert matmul(A, B).dtype == np.float16
    assert matmul(A, B, dtype=np.float32).dtype == matmul(A, B, dtype="float32").dtype == np.float32
    assert matmul(A, B, dtype="bfloat16").dtype == np.uint16
    for spelled in ("f2", "half", "<f2", np.float16, np.dtype("f2")):  # as NumPy takes it
        assert matmul(A, B, dtype=spelled).dtype == np.float16, spelled
    bits = cp.asarray(stored(np.ones((3, 8)), "bfloat16"))
    assert matmul(bits, bits.T).dtype == np.uint16 and (value(matmul(bits, bits.T)) == 8).all()
    out = cp.empty((3, 5), np.float32)
    assert matmul(A, B, out) is out


def spread(row, count, stride=0):
    """A row, again and again, each time so many bytes further."""
    return np.ndarray((count, row.shape[1]), row.dtype, row.base, 0, (stride, row.itemsize))


BAD = {
    "a list": (lambda A, B, C: matmul([[1.0]], B, C), TypeError, "A is a list, and B and out are not.*cp.asarray"),
    "float32": (lambda A, B, C: matmul(A.astype("f4"), B, C), TypeError,
                r"A is float32 and B is float16; allowed.*B\.astype\(cp\.float32\); or .*A\.astype\(cp\.float16\)$"),
    "B of float64": (lambda A, B, C: matmul(A, B.astype("f8"), C), TypeError, r"convert: B\.astype\(cp\.float16\)$"),
    "both float64": (lambda A, B, C: matmul(A.astype("f8"), B.astype("f8"), C), TypeError,
                     r"convert: A\.astype\(cp\.float32\), and convert: B\.astype\(cp\.float32\)$"),
    "whole numbers": (lambda A, B, C: matmul(A.astype("i4"), B.astype("i4")), TypeError,
                      r"A is int32 and B is int32; allowed.*A\.astype\(cp\.float32\)"),
    "lesson 6 of float32": (lambda A, B, C: matmul(A.astype("f4"), B.astype("f4"), lesson=6), ValueError,
                            "float32 has a kernel of its own: leave lesson out"),
    "complex": (lambda A, B, C: matmul(A, B.astype("c8"), C), TypeError, "B is complex.*would drop its imaginary part"),
    "two types": (lambda A, B, C: matmul(A, B.view(np.uint16), C), TypeError,
                  "A is float16 and B is uint16.*make B anew as float16: astype does not"),
    "bits and float64": (lambda A, B, C: matmul(A.view(np.uint16), B.astype("f8")), TypeError, "make B anew as uint16"),
    "shapes": (lambda A, B, C: matmul(A, B.T, C), ValueError, r"A has shape \(16, 8\) and B \(24, 8\)"),
    "a vector": (lambda A, B, C: matmul(A, B[:, 0], C), ValueError, r"allowed are \(M, K\) and \(K, N\)"),
    "out's shape": (lambda A, B, C: matmul(A, B, C[:, :5]), ValueError, r"out has shape \(16, 5\).*shape \(16, 24\)"),
    "out spread": (lambda A, B, C: matmul(A, B, spread(C[:1], 16)), ValueError,
                   r"strides \(0, 2\): elements of it lie over each other"),
    "out's rows in each other": (lambda A, B, C: matmul(A, B, spread(C[:1], 16, 8)), ValueError, "lie over each other"),
    "other byte order": (lambda A, B, C: matmul(A, B.astype(">f2"), C), TypeError, "B is >f2; .*convert: B.astype"),
    "out's rows": (lambda A, B, C: matmul(A, B, C[:5]), ValueError, r"out has shape \(5, 24\).*shape \(16, 24\)"),
    "out's dtype": (lambda A, B, C: matmul(A, B, C.astype("f8")), ValueError, "dtype float64"),
    "dtype": (lambda A, B, C: matmul(A, B, dtype="int8"), TypeError, "dtype is 'int8'; allowed are 'float16'"),
    "dtype and out": (lambda A, B, C: matmul(A, B, C, dtype="float32"), ValueError, "out is float16, and dtype says"),
    "bias": (lambda A, B, C: matmul(A, B, C, bias=C[:, 0].copy()), ValueError,
             r"bias has shape \(16,\).*\(24,\), dtype float16: give it 24 numbers$"),
    "bias's dtype": (lambda A, B, C: matmul(A, B, C, bias=C[0].astype("f4")), ValueError,
                     r"dtype float32.*bias\.astype\(cp\.float16\)$"),
    "activation": (lambda A, B, C: matmul(A, B, C, activation="tanh"), ValueError, "'tanh'; allowed are None, 'relu'"),
    "beta": (lambda A, B, C: matmul(A, B, beta=1.0), ValueError, "no out to take it times"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_refused_and_out_left_alone(what):
    call, error, words = BAD[what]
    cp = device.cp
    A, B, C = cp.ones((16, 8), np.float16), cp.ones((8, 24), np.float16), cp.full((16, 24), 7, np.float16)
    with pytest.raises(error, match=words):
        call(A, B, C)
    assert (C == 7).all()


def test_an_array_on_another_gpu_is_refused(monkeypatch):
    class Array:
        shape, strides, dtype = (8, 8), (16, 2), np.dtype("f2")

        def __init__(self, gpu):
            self.data = SimpleNamespace(device_id=gpu, ptr=0)

    runtime = SimpleNamespace(getDevice=lambda: 1)
    cuda = SimpleNamespace(Device=lambda: SimpleNamespace(id=1), runtime=runtime)
    monkeypatch.setattr(device, "backend", lambda: "cupy")
    monkeypatch.setattr(device, "cp", SimpleNamespace(ndarray=Array, cuda=cuda, empty=None), raising=False)
    with pytest.raises(ValueError, match=r"B is on GPU 0, and GPU 1 is in use: .*cp\.cuda\.Device\(0\)"):
        matmul(Array(1), Array(0))


def test_an_output_that_overlaps_an_input_is_refused():
    memory = device.cp.zeros(16 * 16 * 2, np.float16)
    A, B, C = (
        memory[:256].reshape(16, 16),
        device.cp.ones((16, 16), np.float16),
        memory[248:504].reshape(16, 16),
    )
    with pytest.raises(ValueError, match="out shares memory with A"):
        matmul(A, B, C)
    with pytest.raises(ValueError, match="out shares memory with B"):
        matmul(B, A, C)
    with pytest.raises(ValueError, match="out shares memory with bias"):
        matmul(B, B, C, bias=C[0])
    with pytest.raises(ValueError, match="out shares memory with A"):
        matmul(A, B, memory[:512].reshape(16, 32)[:, 8:24])
    touches = memory[256:].reshape(16, 16)
    assert matmul(A, B, touches) is touches


WRONG = {
    "row guard off by one": ("inside = row < M", "inside = row <= M", "out-of-bounds"),
    "column guard off by one": ("&& column < N;", "&& column <= N;", "out-of-bounds|block-conflict|write-after|wrong"),
    "rows outside not replaced": ("mine + i * TURN < size ?", "true ?", "out-of-bounds"),
    "no zeros behind K": ("inside ? 16 : 0", "16", "out-of-bounds|wrong"),
    "one k too many": ("i * TURN) < left", "i * TURN) <= left", "out-of-bounds|wrong"),
    "beta forgotten": ("beta * float(word.of[i])", "float(word.of[i])", "wrong, first at"),
    "bias of the other axis": ("bias[n + j + i]", "bias[min(m + j + i, N - 1)]", "wrong, first at"),
    "alpha forgotten": ("x[i] = alpha * sums[i]", "x[i] = sums[i]", "wrong, first at"),
    "activation before the bias": ("alpha * sums[i] +", "max(alpha * sums[i], 0.0f) +", "wrong, first at"),
    "wait for one copy less": ("wait_group<STAGES - 2>", "wait_group<STAGES - 1>", "unwaited-copy|read-after-write"),
    "no barrier in the loop": ("__syncthreads();    TRACE", "TRACE", "read-after-write|write-after-read"),
}  # fmt: skip


def edit(monkeypatch, lesson, old, new):
    """In the kernel of `matmul` one text is replaced, for the rest of a test."""
    whole = ready.matmul_source
    wrong = sources.edited(whole(lesson), (old, new))
    monkeypatch.setattr(ready, "matmul_source", lambda asked: wrong if asked == lesson else whole(asked))
    monkeypatch.setattr(ready, "kernel_of", ready.kernel_of.__wrapped__)


@pytest.mark.parametrize("what", one_in(3, WRONG))
def test_wrong_kernels_are_rejected(what, monkeypatch):
    old, new, words = WRONG[what]
    assert wrong_with(TELLING, SMALL) == ""
    edit(monkeypatch, 6, old, new)
    wrong = wrong_with(TELLING, SMALL)
    assert re.search(words, wrong), wrong


TELLING = Problem(65, 72, 264, bias=True, activation="relu", alpha=2.0, beta=-1.0, seed=1)
"""Tells all of these wrong kernels from the right one."""


@pytest.mark.parametrize("first", [0, 8])
def test_where_memory_begins_does_not_choose_another_kernel(first):
    """NumPy in a browser aligns to 8 bytes. The simulator puts every array where a GPU would."""
    raw = (ctypes.c_char * (2 * 64 * 64 + 24))()
    first += -ctypes.addressof(raw) % 16
    memory = (ctypes.c_char * (2 * 64 * 64)).from_buffer(raw, first)
    array = np.frombuffer(memory, np.float16).reshape(64, 64)
    assert operands.Operand(array).in_place(False)
    assert not operands.Operand(array.reshape(-1)[4:-60].reshape(63, 64)).in_place(False)


@pytest.mark.parametrize("name", ["reduce<__half, __half>", "pad<unsigned int>"])
def test_a_gpu_before_hopper_is_not_asked_to_overlap_kernels(name):
    """griddepcontrol is there from compute capability 9.0 on: before it the assembler refuses the whole program."""
    for arch, there in ("80", False), ("90", True):
        ptx = compile_ptx(ready.matmul_source(6), (name,), (*device.OPTIONS, f"-arch=compute_{arch}"))
        assert ("griddepcontrol" in str(ptx)) == there, arch


def place(array):
    return None if array is None else array.ctypes.data


def form(array):
    return None if array is None else (array.shape, array.strides, array.dtype.name)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("K", [40, 43])
def test_a_call_that_is_kept_takes_other_arrays(order, K, monkeypatch):
    """On a GPU a call is kept by the forms of its arrays; here, where none is, by these."""
    monkeypatch.setattr(warm, "_known", {})
    monkeypatch.setattr(
        warm, "form_of", lambda arrays, *others: ((*map(form, arrays), *others), [*map(place, arrays)])
    )
    monkeypatch.setattr(warm, "cupy", lambda: device.cp)
    for seed in range(3):
        random = np.random.default_rng(seed)
        A, B, bias = (random.integers(-4, 5, shape).astype(np.float16) for shape in ((70, K), (K, 48), 48))
        out = np.full((70, 48), np.nan, np.float16, order=order)
        exact = np.maximum(A.astype("f4") @ B.astype("f4") + bias, 0)
        assert room.matmul(A, B, out=out, bias=bias, activation="relu") is out
        np.testing.assert_array_equal(out, exact)
        np.testing.assert_array_equal(room.matmul(A, B), (A.astype("f4") @ B.astype("f4")))
    assert len(warm._known) == 2
    with pytest.raises(ValueError, match="out shares memory with A"):
        square = np.zeros((48, 48), np.float16)
        room.matmul(square, square.copy(), out=np.empty_like(square))
        room.matmul(square, square.copy(), out=square)
