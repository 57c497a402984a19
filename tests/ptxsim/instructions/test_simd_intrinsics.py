"""The SIMD intrinsics and the fused min/max intrinsics of CUDA C++ (CUDA Math API), against Python's integers.

Each is compiled by NVRTC and run, so that every PTX instruction that NVRTC emits for them is known.
"""

import operator
from collections.abc import Callable

import numpy as np
import pytest

from ptxsim import compile, launch
from tests.ptxsim.instructions.exact import clamp, signed

LANES = 512
EDGES = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7F80FF01, 0x80007FFF, 0x80808080, 0xFFFFFFFF]


def operands(count: int) -> np.ndarray:
    """Shape (count, LANES): pairs of edge values first, then random bits, some of whose bytes are equal."""
    random = np.random.default_rng(0)
    table = random.integers(0, 2**32, (count, LANES), np.uint32)
    table[1, 1::2] ^= (table[0] ^ table[1])[1::2] & 0xFF00FFFF
    n = len(EDGES)
    for row, column in zip(table, (np.repeat(EDGES, n), np.tile(EDGES, n), np.tile(EDGES[::-1], n))):
        row[: n * n] = column
    return table


def by_parts(formula: Callable, sign: str, bits: int) -> Callable:
    """The formula on each part of its operands, signed or unsigned numbers of that many bits."""

    def compute(*words: int) -> int:
        result = 0
        for shift in range(0, 32, bits):
            parts = [word >> shift & ((1 << bits) - 1) for word in words]
            value = formula(*(signed(x, bits) if sign == "s" else x for x in parts))
            result |= value % (1 << bits) << shift
        return result

    return compute


COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")  # functions of `operator`


def simd(n: int) -> dict[str, Callable]:
    """The intrinsics on n parts of a word."""
    bits = 32 // n
    found = {
        "vabs": by_parts(abs, "s", bits),
        "vabsss": by_parts(lambda a: clamp(abs(a), f"s{bits}"), "s", bits),
        "vneg": by_parts(lambda a: -a, "s", bits),
        "vnegss": by_parts(lambda a: clamp(-a, f"s{bits}"), "s", bits),
        "vadd": by_parts(lambda a, b: a + b, "u", bits),
        "vsub": by_parts(lambda a, b: a - b, "u", bits),
        "vhaddu": by_parts(lambda a, b: (a + b) >> 1, "u", bits),
        "vavgu": by_parts(lambda a, b: (a + b + 1) >> 1, "u", bits),
        "vavgs": by_parts(lambda a, b: (a + b + (a + b >= 0)) >> 1, "s", bits),  # halves away from zero
    }
    for sign in "su":
        found[f"vadd{sign}s"] = by_parts(lambda a, b, s=sign: clamp(a + b, f"{s}{bits}"), sign, bits)
        found[f"vsub{sign}s"] = by_parts(lambda a, b, s=sign: clamp(a - b, f"{s}{bits}"), sign, bits)
        found[f"vabsdiff{sign}"] = by_parts(lambda a, b: abs(a - b), sign, bits)
        found[f"vmin{sign}"] = by_parts(min, sign, bits)
        found[f"vmax{sign}"] = by_parts(max, sign, bits)
        found[f"vsad{sign}"] = lambda a, b, f=found[f"vabsdiff{sign}"]: sum(
            f(a, b) >> i & ((1 << bits) - 1) for i in range(0, 32, bits)
        )
    for name in COMPARISONS:
        verdict = getattr(operator, name)
        for sign in ("",) if name in ("eq", "ne") else ("s", "u"):
            found[f"vset{name}{sign}"] = by_parts(verdict, sign, bits)
            found[f"vcmp{name}{sign}"] = by_parts(lambda a, b, f=verdict: -int(f(a, b)), sign, bits)
    return {f"__{name}{n}": formula for name, formula in found.items()}


def fused(kind: str) -> dict[str, Callable]:
    """__vimax3 and its kin: two operations on three operands. Sums wrap."""
    sign, bits = kind[0], 16 if kind.endswith("x2") else 32
    found = {}
    for name, pick in {"min": min, "max": max}.items():

        def plus(a: int, b: int, c: int, pick: Callable = pick) -> int:
            total = (a + b) % (1 << bits)
            return pick(signed(total, bits) if sign == "s" else total, c)

        found[f"__vi{name}3_{kind}"] = lambda a, b, c, pick=pick: pick(a, b, c)
        found[f"__viadd{name}_{kind}"] = plus
        if sign == "s":
            found[f"__vi{name}_{kind}_relu"] = lambda a, b, pick=pick: max(pick(a, b), 0)
            found[f"__vi{name}3_{kind}_relu"] = lambda a, b, c, pick=pick: max(pick(a, b, c), 0)
            found[f"__viadd{name}_{kind}_relu"] = lambda a, b, c, f=plus: max(f(a, b, c), 0)
    return {name: by_parts(formula, sign, bits) for name, formula in found.items()}


INTRINSICS = {**simd(2), **simd(4)}
for _kind in ("s32", "u32", "s16x2", "u16x2"):
    INTRINSICS |= fused(_kind)


def count(formula: Callable, table: np.ndarray) -> int:
    """How many operands a formula takes."""
    for n in (1, 2, 3):
        try:
            formula(*(int(x) for x in table[:n, 0]))
            return n
        except TypeError:
            continue
    raise AssertionError(formula)


@pytest.mark.parametrize("arch", ["compute_80", "compute_90"])
def test_intrinsics_compute_like_python(arch):
    table = operands(3)
    inputs = ["in[t]", f"in[t + {LANES}]", f"in[t + {2 * LANES}]"]
    calls = {name: inputs[: count(formula, table)] for name, formula in INTRINSICS.items()}
    body = "\n".join(
        f"out[{i * LANES} + t] = {name}({', '.join(given)});" for i, (name, given) in enumerate(calls.items())
    )
    source = f'extern "C" __global__ void k(unsigned* out, unsigned* in) {{ int t = threadIdx.x;\n{body}\n}}'
    out = np.zeros((len(calls), LANES), np.uint32)
    report = launch(compile(source, "k", (f"-arch={arch}",)), (1,), (LANES,), (out, table.copy()))
    assert report.ok, str(report)
    for (name, formula), row in zip(INTRINSICS.items(), out):
        want = [formula(*map(int, column)) for column in table[: len(calls[name])].T]
        assert row.tolist() == want, name


@pytest.mark.parametrize("kind", ["s32", "u32", "s16x2", "u16x2"])
@pytest.mark.parametrize("name", ["max", "min"])
def test_intrinsics_with_predicates(name, kind):
    """__vibmax_s32(a, b, &pred): the predicate says that a was taken."""
    flags = "&high, &low" if kind.endswith("x2") else "&low"
    source = f"""extern "C" __global__ void k(unsigned* out, const unsigned* in) {{
        int t = threadIdx.x; bool high = false, low = false;
        out[t] = __vib{name}_{kind}(in[t], in[t + {LANES}], {flags});
        out[t + {LANES}] = high * 2 + low; }}"""
    table, out = operands(2), np.zeros((2, LANES), np.uint32)
    assert launch(compile(source, "k", ("-arch=compute_90",)), (1,), (LANES,), (out, table)).ok
    bits = 16 if kind.endswith("x2") else 32
    first = {"max": lambda a, b: a >= b, "min": lambda a, b: a <= b}[name]
    taken = by_parts(first, kind[0], bits)
    best = by_parts({"max": max, "min": min}[name], kind[0], bits)
    for a, b, result, flags in zip(*table.tolist(), *out.tolist()):
        assert result == best(a, b)
        assert flags == (taken(a, b) >> 15 & 2 | taken(a, b) & 1)
