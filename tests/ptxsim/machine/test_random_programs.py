"""Random CUDA C programs: NVRTC compiles them, the simulator runs them, Python evaluates the same trees.

Only what C++ and CUDA define is generated: signed arithmetic goes through unsigned types, divisors are
guarded, conversions from floats are the saturating intrinsics, and multiply-add contraction is off. Float
inputs hold no subnormals: under `-ftz=true` only results of arithmetic are flushed, and the tests of single
instructions look at the rest.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ptxsim import compile, launch
from tests.ptxsim import oracle
from tests.ptxsim.oracle import F16, F32, F64, Format

pytestmark = pytest.mark.usefixtures("compiled_anew")

LANES = 32
KINDS = ("int", "unsigned", "long long", "unsigned long long", "float", "double", "half")
BITS = {"int": 32, "unsigned": 32, "long long": 64, "unsigned long long": 64}
UNSIGNED = {"int": "unsigned", "long long": "unsigned long long"}
FLOATS: dict[str, Format] = {"float": F32, "double": F64, "half": F16}
VARIABLE = dict(zip(KINDS, ("i", "u", "l", "m", "f", "d", "h")))
"""Each type has two variables: an int is `i_0` or `i_1`."""
Env = dict[str, int]


@dataclass(frozen=True)
class Expr:
    """C text of a type, and what it means: variables to an integer (a bit pattern for floats)."""

    kind: str
    text: str
    value: Callable[[Env], int]


def wrap(x: int, kind: str) -> int:
    bits = BITS[kind]
    x &= (1 << bits) - 1
    return x - (1 << bits) if kind in UNSIGNED and x >> (bits - 1) else x


def unsigned(x: int, kind: str) -> int:
    return x & ((1 << BITS[kind]) - 1)


def make(kind: str, text: str, function: Callable, *operands: Expr) -> Expr:
    """`text` with the operands put in for {0}, {1}...; `function` of their values."""
    return Expr(
        kind,
        "(" + text.format(*(operand.text for operand in operands)) + ")",
        lambda env: function(*(operand.value(env) for operand in operands)),
    )


# --------------------------------------------------------------------------- integers

ARITHMETIC = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}
COMPARISONS = {"==": "eq", "!=": "neu", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
"""C operators, and the PTX comparison that has their meaning for NaN."""


def divide(a: int, b: int, remainder: bool) -> int:
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return a - b * quotient if remainder else quotient


@st.composite
def integer(draw, kind: str, depth: int) -> Expr:
    def sub(other: str = kind) -> Expr:
        return draw(expression(other, depth - 1))

    bits = BITS[kind]
    choice = draw(
        st.sampled_from(("arithmetic", "shift", "divide", "cast", "bits", "unary", "minmax", "from float"))
    )
    if choice == "arithmetic":
        sign = draw(st.sampled_from(sorted(ARITHMETIC)))
        wide = UNSIGNED.get(kind, kind)
        text = f"({kind})(({wide}){{0}} {sign} ({wide}){{1}})"
        return make(kind, text, lambda a, b: wrap(ARITHMETIC[sign](a, b), kind), sub(), sub())
    if choice == "shift":
        if draw(st.booleans()):
            wide = UNSIGNED.get(kind, kind)
            text = f"({kind})(({wide}){{0}} << ({{1}} & {bits - 1}))"
            return make(kind, text, lambda a, n: wrap(a << (n & bits - 1), kind), sub(), sub("unsigned"))
        return make(
            kind, f"{{0}} >> ({{1}} & {bits - 1})", lambda a, n: a >> (n & bits - 1), sub(), sub("unsigned")
        )
    if choice == "divide":
        remainder = draw(st.booleans())
        divisor = draw(st.integers(1, 100))
        text = f"{{0}} {'%' if remainder else '/'} ({kind}){divisor}"
        if draw(st.booleans()):
            return make(kind, text, lambda a: divide(a, divisor, remainder), sub())
        text = f"{{0}} {'%' if remainder else '/'} ({kind})(({{1}} & 1023) + 1)"
        return make(kind, text, lambda a, b: divide(a, (b & 1023) + 1, remainder), sub(), sub())
    if choice == "cast":
        other = draw(st.sampled_from(sorted(BITS)))
        narrow, width = draw(
            st.sampled_from((("", 0), ("(signed char)", 8), ("(short)", 16), ("(unsigned char)", -8)))
        )

        def cast(a: int) -> int:
            a = a & (1 << abs(width)) - 1 if width else a
            return wrap(a - (1 << width) if width > 0 and a >> (width - 1) else a, kind)

        return make(kind, f"({kind}){narrow}{{0}}", cast, sub(other))
    if choice == "bits":
        return draw(bit_trick(kind, sub))
    if choice == "unary":
        wide = UNSIGNED.get(kind, kind)
        if draw(st.booleans()):
            return make(kind, "~{0}", lambda a: wrap(~a, kind), sub())
        return make(kind, f"({kind})(0 - ({wide}){{0}})", lambda a: wrap(-a, kind), sub())
    if choice == "minmax":
        name = draw(st.sampled_from(("min", "max")))
        return make(kind, f"{name}({{0}}, {{1}})", min if name == "min" else max, sub(), sub())
    return draw(from_float(kind, sub))


@st.composite
def bit_trick(draw, kind: str, sub: Callable) -> Expr:
    """Intrinsics on 32 or 64 bits."""
    bits = BITS[kind]
    tail = "ll" if bits == 64 else ""
    name = draw(st.sampled_from(("popc", "clz", "brev", "mulhi", "funnel", "perm")))
    if name == "popc":
        return make(kind, f"({kind})__popc{tail}({{0}})", lambda a: unsigned(a, kind).bit_count(), sub())
    if name == "clz":
        return make(
            kind, f"({kind})__clz{tail}({{0}})", lambda a: bits - unsigned(a, kind).bit_length(), sub()
        )
    if name == "brev":
        reverse = lambda a: wrap(int(f"{unsigned(a, kind):0{bits}b}"[::-1], 2), kind)  # noqa: E731
        return make(kind, f"({kind})__brev{tail}({{0}})", reverse, sub())
    if name == "mulhi":
        function = {"int": "__mulhi", "unsigned": "__umulhi", "long long": "__mul64hi"}.get(
            kind, "__umul64hi"
        )
        return make(kind, f"{function}({{0}}, {{1}})", lambda a, b: wrap(a * b >> bits, kind), sub(), sub())
    if name == "funnel":

        def funnel(low: int, high: int, n: int) -> int:
            return wrap(((high << 32 | low) << (n & 31)) >> 32 & 0xFFFFFFFF, kind)

        operands = (sub("unsigned"), sub("unsigned"), sub("unsigned"))
        return make(kind, f"({kind})__funnelshift_l({{0}}, {{1}}, {{2}})", funnel, *operands)

    def permute(a: int, b: int) -> int:
        pool = (b << 32 | a).to_bytes(8, "little")
        return wrap(int.from_bytes(bytes(pool[i] for i in (6, 0, 5, 3)), "little"), kind)

    text = f"({kind})__byte_perm({{0}}, {{1}}, 0x3506)"
    return make(kind, text, permute, sub("unsigned"), sub("unsigned"))


CONVERSIONS = {"int": "int", "unsigned": "uint", "long long": "ll", "unsigned long long": "ull"}
ROUNDINGS = {"rz": "rzi", "rn": "rni", "rd": "rmi", "ru": "rpi"}


@st.composite
def from_float(draw, kind: str, sub: Callable) -> Expr:
    source = draw(st.sampled_from(("float", "double")))
    rounding = draw(st.sampled_from(sorted(ROUNDINGS)))
    f = FLOATS[source]
    low, high = (
        (-(1 << BITS[kind] - 1), (1 << BITS[kind] - 1) - 1)
        if kind in UNSIGNED
        else (0, (1 << BITS[kind]) - 1)
    )

    def convert(a: int) -> int:
        if f.is_nan(a):
            return wrap(1 << BITS[kind] - 1 if f is F64 or BITS[kind] == 64 else 0, kind)
        if f.is_infinite(a):
            return low if f.negative(a) else high
        return max(low, min(high, oracle.to_integral(f, a, ROUNDINGS[rounding])))

    return make(kind, f"__{source}2{CONVERSIONS[kind]}_{rounding}({{0}})", convert, sub(source))


# --------------------------------------------------------------------------- floats


def flushed(f: Format, x: int) -> int:
    return f.flush(x) if f is F32 else x


def float_result(f: Format, function: Callable, *more) -> Callable:
    """A function of bit patterns whose float32 result is flushed."""
    return lambda *operands: flushed(f, function(f, *operands, *more))


C_FUNCTIONS = {
    "float": {
        "add": "{0} + {1}",
        "sub": "{0} - {1}",
        "mul": "{0} * {1}",
        "div": "{0} / {1}",
        "sqrt": "sqrtf({0})",
    },
    "double": {
        "add": "{0} + {1}",
        "sub": "{0} - {1}",
        "mul": "{0} * {1}",
        "div": "{0} / {1}",
        "sqrt": "sqrt({0})",
    },
    "half": {"add": "__hadd({0}, {1})", "sub": "__hsub({0}, {1})", "mul": "__hmul({0}, {1})"},
}
FMA = {"float": "fmaf({0}, {1}, {2})", "double": "fma({0}, {1}, {2})", "half": "__hfma({0}, {1}, {2})"}


@st.composite
def floating(draw, kind: str, depth: int) -> Expr:
    def sub(other: str = kind) -> Expr:
        return draw(expression(other, depth - 1))

    f = FLOATS[kind]
    choice = draw(st.sampled_from(("arithmetic", "arithmetic", "fma", "convert", "from integer", "directed")))
    if choice == "arithmetic":
        name = draw(st.sampled_from(sorted(C_FUNCTIONS[kind])))
        operands = [sub()] if name == "sqrt" else [sub(), sub()]
        return make(kind, C_FUNCTIONS[kind][name], float_result(f, getattr(oracle, name)), *operands)
    if choice == "fma":
        return make(kind, FMA[kind], float_result(f, oracle.fma), sub(), sub(), sub())
    if choice == "from integer" and kind != "half":
        source = draw(st.sampled_from(sorted(BITS)))
        return make(kind, f"({kind}){{0}}", lambda a: f.round(Fraction(a)), sub(source))
    if choice == "directed" and kind == "float":
        name, (suffix, mode) = (
            draw(st.sampled_from(("add", "mul"))),
            draw(st.sampled_from((("rz", "rz"), ("rd", "rm")))),
        )
        return make(
            kind,
            f"__f{name}_{suffix}({{0}}, {{1}})",
            float_result(f, getattr(oracle, name), mode),
            sub(),
            sub(),
        )
    return draw(converted(kind, sub))


@st.composite
def converted(draw, kind: str, sub: Callable) -> Expr:
    """From another float type: rounded to nearest; half goes through float."""
    source = {"float": draw(st.sampled_from(("double", "half"))), "double": "float", "half": "float"}[kind]
    text = (
        "__half2float({0})"
        if source == "half"
        else "__float2half_rn({0})"
        if kind == "half"
        else f"({kind}){{0}}"
    )
    a, b = FLOATS[source], FLOATS[kind]
    return make(kind, text, lambda x: flushed(b, oracle.convert(a, b, x)), sub(source))


# --------------------------------------------------------------------------- any type


def variable(kind: str, number: int) -> str:
    return f"{VARIABLE[kind]}_{number}"


def leaf(kind: str) -> st.SearchStrategy[Expr]:
    """A variable, or for integers a literal."""
    names = [variable(kind, 0), variable(kind, 1)]
    variables = st.sampled_from(names).map(lambda chosen: Expr(kind, chosen, lambda env: env[chosen]))
    if kind in FLOATS:
        return variables
    return st.one_of(variables, st.integers(0, 300).map(lambda n: Expr(kind, f"({kind}){n}", lambda env: n)))


@st.composite
def condition(draw, depth: int) -> Expr:
    kind = draw(st.sampled_from(KINDS))
    name = draw(st.sampled_from(sorted(COMPARISONS)))
    if kind in FLOATS:
        compare = lambda a, b: oracle.compare(FLOATS[kind], COMPARISONS[name], a, b)  # noqa: E731
    else:
        compare = lambda a, b: oracle_compare(name, a, b)  # noqa: E731
    text = "__half2float({0}) %s __half2float({1})" if kind == "half" else "{0} %s {1}"
    return make(
        "bool", text % name, compare, draw(expression(kind, depth - 1)), draw(expression(kind, depth - 1))
    )


def oracle_compare(name: str, a: int, b: int) -> bool:
    return {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[name]


@st.composite
def ternary(draw, kind: str, depth: int) -> Expr:
    test, yes, no = (draw(s) for s in (condition(depth - 1), *[expression(kind, depth - 1)] * 2))
    text = f"({test.text} ? {yes.text} : {no.text})"
    return Expr(kind, text, lambda env: yes.value(env) if test.value(env) else no.value(env))


def expression(kind: str, depth: int) -> st.SearchStrategy[Expr]:
    if depth <= 0:
        return leaf(kind)
    inner = floating(kind, depth) if kind in FLOATS else integer(kind, depth)
    return st.one_of(inner, inner, inner, inner, ternary(kind, depth), leaf(kind))


# --------------------------------------------------------------------------- programs


@dataclass(frozen=True)
class Statement:
    """`result` starts as `first`; a loop whose length differs between threads replaces it with `step`."""

    first: Expr
    count: Expr
    step: Expr

    def text(self, i: int) -> str:
        """C text; inside the loop the variable `acc` holds the result so far."""
        kind = "__half" if self.first.kind == "half" else self.first.kind
        return f"""    {{
        {kind} acc = {self.first.text};
        for (unsigned k = 0; k < ({self.count.text} & 3); ++k) acc = {self.step.text.replace(self.own(), "acc")};
        out[t * COUNT + {i}] = {as_bits(self.first.kind, "acc")};
    }}
"""

    def own(self) -> str:
        return variable(self.first.kind, 0)

    def value(self, env: Env) -> int:
        result = self.first.value(env)
        for _ in range(self.count.value(env) & 3):
            result = self.step.value({**env, self.own(): result})
        return result


def as_bits(kind: str, text: str) -> str:
    casts = {
        "float": "__float_as_uint(%s)",
        "double": "__double_as_longlong(%s)",
        "half": "__half_as_ushort(%s)",
    }
    return casts.get(kind, "%s") % text


@st.composite
def statement(draw) -> Statement:
    kind = draw(st.sampled_from(KINDS))
    return Statement(draw(expression(kind, 3)), draw(expression("unsigned", 1)), draw(expression(kind, 2)))


STORED = {"half": "unsigned short"}
FROM_STORED = {"half": "__ushort_as_half(%s)"}


def program(statements: list[Statement]) -> str:
    parameters = ", ".join(f"const {STORED.get(kind, kind)}* {VARIABLE[kind]}" for kind in KINDS)
    loads = "".join(
        f"    {'__half' if kind == 'half' else kind} {variable(kind, i)} = "
        f"{FROM_STORED.get(kind, '%s') % f'{VARIABLE[kind]}[t * 2 + {i}]'};\n"
        for kind in KINDS
        for i in (0, 1)
    )
    body = "".join(s.text(i) for i, s in enumerate(statements))
    return f"""#include <cuda_fp16.h>
#define COUNT {len(statements)}
extern "C" __global__ void program({parameters}, unsigned long long* out) {{
    int t = threadIdx.x;
{loads}{body}}}
"""


def inputs(seed: int) -> dict[str, list[list[int]]]:
    """Two values of each type for every lane: edge cases and random bits."""
    random = np.random.default_rng(seed)
    return {kind: [[one_value(kind, random) for _ in range(2)] for _ in range(LANES)] for kind in KINDS}


def one_value(kind: str, random: np.random.Generator) -> int:
    if kind in BITS:
        top = 1 << BITS[kind] - 1
        edges = [0, 1, -1, 2, 31, top, top - 1, int(random.integers(0, 1 << 40))]
        return wrap(edges[random.integers(len(edges))], kind)
    f = FLOATS[kind]
    one = f.bias << f.fraction
    edges = [0, one, one + 1, one - 1, f.infinity - 1, f.infinity, f.nan, 1 << f.fraction]
    value = edges[random.integers(len(edges))]
    if random.integers(2):
        value = one + int(random.integers(-6, 7)) * (1 << f.fraction) + int(random.integers(1 << f.fraction))
    value |= f.sign_bit * int(random.integers(2))
    return f.flush(value)


def stored(kind: str, rows: list[list[int]]) -> np.ndarray:
    bits = FLOATS[kind].bits if kind in FLOATS else BITS[kind]
    return np.array([[x & (1 << bits) - 1 for x in row] for row in rows], f"u{bits // 8}")


def equal(kind: str, got: int, want: int) -> bool:
    f = FLOATS.get(kind)
    bits = f.bits if f else BITS[kind]
    got, want = got & (1 << bits) - 1, want & (1 << bits) - 1
    return got == want or (f is not None and f.is_nan(got) and f.is_nan(want))


@settings(
    max_examples=30,
    deadline=None,
    derandomize=True,  # the same programs in every run; raise max_examples to search for more
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.lists(statement(), min_size=4, max_size=8), st.integers(0, 2**32 - 1))
def test_random_programs(statements, seed):
    source = program(statements)
    table = inputs(seed)
    out = np.zeros((LANES, len(statements)), np.uint64)
    kernel = compile(source, "program", options=("-fmad=false",))
    report = launch(kernel, (1,), (LANES,), (*(stored(kind, table[kind]) for kind in KINDS), out))
    assert report.ok, f"{report}\n{source}"
    for lane in range(LANES):
        env = {variable(kind, i): table[kind][lane][i] for kind in KINDS for i in (0, 1)}
        for i, s in enumerate(statements):
            got, want = int(out[lane, i]), s.value(env)
            assert equal(s.first.kind, got, want), (
                f"lane {lane}: got {got:#x}, expected {want:#x} from{s.text(i)}{env}"
            )
