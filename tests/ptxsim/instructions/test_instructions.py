"""Every pure instruction against Python integers and Fractions, on edge values and on random ones."""

import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxsim.instructions import move, rounding
from ptxsim.instructions.registry import PURE, Pure
from ptxsim.ptx.opcode import DTYPES, Opcode, UnsupportedInstruction
from tests.ptxsim import oracle
from tests.ptxsim.instructions.exact import CASES, bits_of, interpret
from tests.ptxsim.oracle import FORMATS, MODES, Format
from tests.sample import one_in

CONSTANT_OPERAND = ("lop3",)
"""One operand of these is a constant, the same for all lanes: their rows run one by one."""


def build(text: str) -> Pure:
    op = Opcode(text)
    return PURE[op.root](op)


def to_array(values: list[int], kind: str) -> np.ndarray:
    """Integers to the array the machine would pass: bit patterns for floats, wrapped for integers."""
    if kind == "pred":
        return np.array(values, bool)
    wrapped = [value % (1 << bits_of(kind)) for value in values]
    return np.array(wrapped, f"u{DTYPES[kind].itemsize}").view(DTYPES[kind])


def to_integers(array: np.ndarray, kind: str) -> list[int]:
    if kind == "pred":
        return [int(value) for value in array]
    return [int(value) for value in array.view(f"u{DTYPES[kind].itemsize}")]


def run(text: str, rows: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Run one instruction on rows of operands, as the machine would; rows of results come back."""
    if Opcode(text).root in CONSTANT_OPERAND and len(rows) > 1:
        return [run(text, [row])[0] for row in rows]
    pure = build(text)
    columns = [to_array(list(column), kind) for column, kind in zip(zip(*rows), input_kinds(pure))]
    with np.errstate(all="ignore"):
        if Opcode(text).has("ftz"):
            columns = [rounding.flush(c) if k == "f32" else c for c, k in zip(columns, input_kinds(pure))]
        before = [column.copy() for column in columns]
        results = pure.compute(*columns)
    results = results if isinstance(results, tuple) else (results,)
    assert len(results) == len(output_kinds(pure)), (
        f"{text}: {len(results)} results, and outputs {output_kinds(pure)}"
    )
    for column, old in zip(columns, before):
        assert column.tobytes() == old.tobytes(), "an input was modified"
    for result, kind in zip(results, output_kinds(pure), strict=True):
        assert result.dtype == DTYPES[kind] and result.shape == (len(rows),)
        assert not any(np.shares_memory(result, column) for column in columns)
    return list(zip(*(to_integers(r, k) for r, k in zip(results, output_kinds(pure)))))


def input_kinds(pure: Pure) -> tuple[str, ...]:
    return pure.inputs + (("pred",) if pure.reads_carry else ())


def output_kinds(pure: Pure) -> tuple[str, ...]:
    return pure.outputs + (("pred",) if pure.writes_carry else ())


def check(text: str, rows: list[tuple[int, ...]]) -> None:
    pure = build(text)
    for row, got in zip(rows, run(text, rows), strict=True):
        want = CASES[text](*(interpret(value, kind) for value, kind in zip(row, input_kinds(pure))))
        want = want if isinstance(want, tuple) else (want,)
        assert len(want) == len(got), (
            f"{text}: its case in exact.py gives {len(want)} results, the simulator {len(got)}"
        )
        for g, w, kind in zip(got, want, output_kinds(pure)):
            assert same(g, w, kind), f"{text}{tuple(map(hex, row))}: got {g:#x}, expected {w:#x}"


def same(got: int, want: int, kind: str) -> bool:
    """Equal bits; any NaN equals any other, also inside packed types."""
    want %= 1 << bits_of(kind)
    if kind.endswith("x2") and kind[:-2] in FORMATS:
        return same(got & 0xFFFF, want & 0xFFFF, kind[:-2]) and same(got >> 16, want >> 16, kind[:-2])
    f = FORMATS.get(kind)
    return got == want or (f is not None and f.is_nan(got) and f.is_nan(want))


# --------------------------------------------------------------------------- edge values


def float_edges(f: Format) -> list[int]:
    one, step = f.bias << f.fraction, 1 << f.fraction
    positive = [
        0,
        1,
        step - 1,
        step,
        one - 1,
        one,
        one + 1,
        one + step // 2,
        f.infinity - 1,
        f.infinity,
        f.nan,
    ]
    positive += [one + 5 * step + 3, one - 3 * step + 1]
    return positive + [x | f.sign_bit for x in positive]


def integer_edges(width: int) -> list[int]:
    top = 1 << (width - 1)
    around_the_top = [top - 1, top, top + 1, 2 * top - 2, 2 * top - 1]
    return [0, 1, 2, 3, 7, 31, 32, 33, 64, 255, *around_the_top, 0x55AA55AA55AA55AA]


def edges(kind: str) -> list[int]:
    if kind == "pred":
        return [0, 1]
    if kind in FORMATS:
        return float_edges(FORMATS[kind])
    if kind.removesuffix("x2") in FORMATS and kind.endswith("x2"):
        values = float_edges(FORMATS[kind[:-2]])
        return [low | high << 16 for low, high in zip(values, values[7:] + values[:7])]
    return integer_edges(bits_of(kind))


def edge_rows(pure: Pure, limit: int = 400) -> list[tuple[int, ...]]:
    """The product of all edge values, thinned out evenly to at most `limit` rows."""
    rows = list(itertools.product(*(edges(kind) for kind in input_kinds(pure))))
    step = max(1, len(rows) // limit)
    return rows[:: step + (step > 1 and step % 2 == 0)]


def operand(kind: str) -> st.SearchStrategy[int]:
    return st.one_of(st.sampled_from(edges(kind)), st.integers(0, (1 << bits_of(kind)) - 1))


# --------------------------------------------------------------------------- the tests


@pytest.mark.parametrize("text", CASES)
def test_edge_values(text):
    check(text, edge_rows(build(text)))


HYPOTHESIS_CASES = [text for text in CASES if not text.startswith(("cvt", "set", "testp"))]


@pytest.mark.parametrize("text", HYPOTHESIS_CASES)
def test_random_values(text):
    rows = st.lists(st.tuples(*(operand(kind) for kind in input_kinds(build(text)))), min_size=1, max_size=12)

    @settings(max_examples=6, deadline=None, database=None)
    @given(rows)
    def test(rows):
        check(text, rows)

    test()


@settings(max_examples=100, deadline=None, database=None)
@given(st.data())
def test_random_conversions_and_comparisons(data):
    text = data.draw(st.sampled_from([text for text in CASES if text not in HYPOTHESIS_CASES]))
    row = st.tuples(*(operand(kind) for kind in input_kinds(build(text))))
    check(text, data.draw(st.lists(row, min_size=1, max_size=12)))


@settings(max_examples=50, deadline=None, database=None)
@given(
    st.lists(st.tuples(*[st.integers(-(2**12), 2**12)] * 2, st.integers(-60, 60)), min_size=1, max_size=20)
)
def test_fma_near_ties(rows):
    """Products that end halfway between two float32, plus or minus something very small."""
    table = []
    for a, b, exponent in rows:
        x, y = np.float32(1 + a / 2**12), np.float32(1 + b / 2**12)
        z = np.float32(math.copysign(2.0 ** -abs(exponent), exponent))
        table.append(tuple(int(v.view(np.uint32)) for v in (x, y, z)))
    for text in ("fma.rn.f32", "fma.rn.ftz.f32"):
        check(text, table)


def float64_bits() -> st.SearchStrategy[int]:
    """Bit patterns whose exponents meet: near the smallest, the largest, and halves of them; few or many ones."""
    exponent = st.sampled_from([0, 1, 2, 52, 53, 106, 510, 512, 1022, 1023, 1075, 1535, 2044, 2045, 2046])
    fraction = st.one_of(st.integers(0, (1 << 52) - 1), st.sampled_from([0, 1, 1 << 51, (1 << 52) - 1]))
    return st.builds(lambda s, e, f: s << 63 | e << 52 | f, st.integers(0, 1), exponent, fraction)


FLOAT64 = [f"{name}.{mode}.f64" for name in ("add", "sub", "mul", "fma", "div", "sqrt") for mode in MODES]


@pytest.mark.parametrize("text", one_in(3, FLOAT64))
def test_float64_with_extreme_exponents(text):
    rows = st.lists(st.tuples(*[float64_bits()] * len(build(text).inputs)), min_size=10, max_size=40)

    @settings(max_examples=20, deadline=None, database=None)
    @given(rows)
    def test(rows):
        if text.startswith("fma"):  # and such whose sum nearly cancels
            negated = [oracle.mul(oracle.F64, a, b) ^ oracle.F64.sign_bit for a, b, _ in rows]
            rows = rows + [(a, b, p) for (a, b, _), p in zip(rows, negated)]
        check(text, rows)

    test()


def test_float64_beside_the_largest_number():
    largest = oracle.F64.infinity - 1
    for text, b in (("add.rm.f64", largest), ("sub.rz.f64", largest), ("sub.rm.f64", largest | 1 << 63)):
        check(text, [(0xFFCC061DACFDCB6E, b), (0x7FD391F49B379233, b), (0xFFC4DF4EA269884E, b)])


@pytest.mark.parametrize("text", ["fma.rn.f64", "fma.rz.f64", "mul.rz.f64", "div.rz.f64", "sqrt.rp.f64"])
def test_float64_is_computed_with_whole_arrays(text):
    """At most a microsecond a lane: one by one, subnormal numbers took eighteen and more."""
    pure = build(text)
    numbers = np.random.default_rng(0).integers(0, 2**52, (3, 4096), np.uint64).view(np.float64)
    seconds = []
    with np.errstate(all="ignore"):
        for _ in range(5):
            start = time.thread_time()
            pure.compute(*numbers[: len(pure.inputs)])
            seconds.append(time.thread_time() - start)
    assert min(seconds) / 4096 < 2e-6  # twice that, for a busy machine


@pytest.mark.parametrize(
    "text", ["fma.rn.f32", "fma.rn.ftz.f32", "add.rz.f32", "fma.rn.f16x2", "fma.rn.bf16"]
)
def test_one_value_for_all_lanes(text):
    """Shapes (1,) and (n,) mix in any combination."""
    pure = build(text)
    columns = [to_array(edges(kind)[:8], kind) for kind in pure.inputs]
    with np.errstate(all="ignore"):
        for sizes in itertools.product((1, 8), repeat=len(columns)):
            mixed = [column[3:4] if size == 1 else column for column, size in zip(columns, sizes)]
            full = [np.resize(column, 8) for column in mixed]
            np.testing.assert_array_equal(np.resize(pure.compute(*mixed), 8), pure.compute(*full))


APPROXIMATIONS = {
    "rsqrt.approx.f32": lambda x: 1 / math.sqrt(x),
    "sqrt.approx.ftz.f32": math.sqrt,
    "rcp.approx.f32": lambda x: 1 / x,
    "ex2.approx.ftz.f32": lambda x: 2.0**x,
    "lg2.approx.f32": math.log2,
    "sin.approx.f32": math.sin,
    "cos.approx.f32": math.cos,
    "tanh.approx.f32": math.tanh,
    "lg2.approx.ftz.f32": math.log2,
    "sin.approx.ftz.f32": math.sin,
    "cos.approx.ftz.f32": math.cos,
    "rsqrt.approx.ftz.f64": lambda x: 1 / math.sqrt(x),
    "ex2.approx.f16": lambda x: 2.0**x,
    "tanh.approx.f16": math.tanh,
}


@pytest.mark.parametrize("text", APPROXIMATIONS)
def test_approximations(text):
    pure = build(text)
    x = np.array([0.25, 0.5, 1.5, 3.0, 7.75], DTYPES[pure.inputs[0]])
    want = [APPROXIMATIONS[text](float(value)) for value in x]
    np.testing.assert_allclose(pure.compute(x), want, rtol=1e-3 if "f16" in text else 2e-7)


OF_HALVES = {
    f"{name}.approx.{kind}": exact
    for name, exact in (("ex2", math.exp2), ("ex2.ftz", math.exp2), ("tanh", math.tanh))
    for kind in ("bf16", "f16x2", "bf16x2")
}


@pytest.mark.parametrize("text", OF_HALVES)
def test_approximations_of_halves(text):
    kind = Opcode(text).types[-1]
    scalar = FORMATS[kind.removesuffix("x2")]
    numbers = [-7.75, 0.25, 0.5, 1.5, 3.0]
    halves = [scalar.round(oracle.Fraction(number)) for number in numbers]
    packed = kind.endswith("x2")
    rows = [low | high << 16 * packed for low, high in zip(halves, halves[::-1] if packed else [0] * 5)]
    got = to_integers(build(text).compute(to_array(rows, kind)), kind)
    low = [float(scalar.value(bits & 0xFFFF)) for bits in got]
    np.testing.assert_allclose(low, list(map(OF_HALVES[text], numbers)), rtol=1e-2)
    if packed:
        high = [float(scalar.value(bits >> 16)) for bits in got]
        np.testing.assert_allclose(high, low[::-1], rtol=0)


def test_division_by_huge_numbers_is_zero_when_approximate():
    pure = build("div.approx.f32")
    a, b = np.array([1, -6, np.inf], np.float32), np.array([2.0**127, 3, 2.0**127], np.float32)
    np.testing.assert_array_equal(pure.compute(a, b), np.array([0, -2, np.nan], np.float32))


def test_packing():
    low, high = np.array([1.5], np.float32), np.array([7], np.uint32)
    packed = move.pack([low, high], "b64")
    assert packed.tolist() == [7 << 32 | 0x3FC00000]
    assert [part.tolist() for part in move.unpack(packed, 2)] == [[0x3FC00000], [7]]
    assert [part.dtype for part in move.unpack(packed, 4)] == [np.uint16] * 4


@pytest.mark.parametrize(
    "text", ["add.rn.xyz.f32", "mul.s32", "sqrt.xyz.f64", "cvt.rn.e4m3x2.f32", "add.b128", "setp.f32"]
)
def test_unknown_forms_are_refused(text):
    with pytest.raises(UnsupportedInstruction, match=text.split(".")[0]):
        build(text)
