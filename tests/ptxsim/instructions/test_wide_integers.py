"""Integers of 128 and 192 bits: __int128 in CUDA C++, and chains of carries in PTX, against Python's integers."""

import random

import numpy as np
import pytest

from ptxsim import compile, launch
from tests.ptxsim.instructions.exact import signed, truncated

LANES = 64


def numbers(bits: int, seed: int) -> list[int]:
    """Numbers of many lengths, none of them zero; among them all ones and single bits."""
    draw = random.Random(seed)
    edges = [1, 2**32, 2**64 - 1, 2 ** (bits - 1), 2**bits - 1, 2 ** (bits - 1) - 1]
    lengths = [8, 31, 33, 63, 64, 65, 97, bits - 1, bits]
    return edges + [draw.getrandbits(draw.choice(lengths)) or 3 for _ in range(LANES - len(edges))]


def words(values: list[int], bits: int, size: int) -> np.ndarray:
    """Shape (lanes, words): the lowest word first; `size` is the bits of a word."""
    mask = (1 << size) - 1
    return np.array([[v >> i & mask for i in range(0, bits, size)] for v in values], f"u{size // 8}")


def joined(row: np.ndarray) -> int:
    return sum(int(word) << 8 * row.itemsize * i for i, word in enumerate(row))


# --- __int128

C128 = {
    "a + b": lambda a, b: a + b,
    "a - b": lambda a, b: a - b,
    "a * b": lambda a, b: a * b,
    "a / b": truncated,
    "a % b": lambda a, b: a - b * truncated(a, b),
    "a < b": lambda a, b: a < b,
    "a >> (int)(b & 127)": lambda a, b: a >> (b & 127),
    "(T)((U)a << (int)(b & 127))": lambda a, b: a << (b & 127),
}


@pytest.mark.parametrize("kind", ["__int128", "unsigned __int128"])
def test_int128_computes_like_python(kind):
    results = " ".join(f"out[{i} * {LANES} + t] = {text};" for i, text in enumerate(C128))
    source = f"""typedef {kind} T; typedef unsigned __int128 U;
    extern "C" __global__ void k(T* out, const T* in, const T* other) {{
        int t = threadIdx.x; T a = in[t], b = other[t]; {results} }}"""
    a, b = numbers(128, 1), numbers(128, 2)[::-1]
    out = np.zeros((len(C128), LANES, 2), np.uint64)
    kernel = compile(source, "k", ("--device-int128",))
    assert launch(kernel, (1,), (LANES,), (out, words(a, 128, 64), words(b, 128, 64))).ok
    for (text, formula), rows in zip(C128.items(), out):
        for x, y, row in zip(a, b, rows):
            operands = (x, y) if "unsigned" in kind else (signed(x, 128), signed(y, 128))
            assert joined(row) == formula(*operands) % 2**128, (text, *map(hex, operands))


# --- chains in PTX


def chain(first: str, middle: str, last: str, bits: int, size: int) -> str:
    """A kernel of one chain over all words, and the carry that is left, read by `addc` of two zeros."""
    count = bits // size
    letter = "r" if size == 32 else "l"
    lines = [
        f"{op}.u{size} %{i}, %{i + count + 1}, %{i + 2 * count + 1};"
        for i, op in enumerate([first, *[middle] * (count - 1)])
    ]
    outputs = ", ".join(f'"=&{letter}"(d[{i}])' for i in range(count + 1))
    inputs = ", ".join(f'"{letter}"({x}[{i}])' for x in "ab" for i in range(count))
    text = " ".join([*lines, f"{last}.u{size} %{count}, 0, 0;"])
    word = "unsigned" if size == 32 else "unsigned long long"
    return f"""typedef {word} W; extern "C" __global__ void k(W* out, const W* in, const W* other) {{
        W d[{count + 1}]; const W *a = in + threadIdx.x * {count}, *b = other + threadIdx.x * {count};
        asm volatile("{{ {text} }}" : {outputs} : {inputs});
        for (int i = 0; i <= {count}; i++) out[threadIdx.x * {count + 1} + i] = d[i]; }}"""


@pytest.mark.parametrize(("bits", "size"), [(128, 32), (128, 64), (192, 32), (192, 64)])
@pytest.mark.parametrize(
    ("opcodes", "formula"),
    [
        (("add.cc", "addc.cc", "addc"), lambda a, b, n: (a + b, (a + b) >> n)),
        (("sub.cc", "subc.cc", "subc"), lambda a, b, n: (a - b, -(a < b))),
        (("sub.cc", "subc.cc", "addc"), lambda a, b, n: (a - b, a >= b)),
        (("add.cc", "addc.cc", "subc"), lambda a, b, n: (a + b, ((a + b) >> n) - 1)),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else "",
)
def test_chains_of_carries(opcodes, formula, bits, size):
    """NVRTC's own division of __int128 reads the carry of `subc.cc` with `addc`: 1 means that nothing was borrowed."""
    a, b = numbers(bits, 3), numbers(bits, 4)[::-1]
    b[:3] = a[:3]
    out = np.zeros((LANES, bits // size + 1), f"u{size // 8}")
    kernel = compile(chain(*opcodes, bits, size), "k")
    assert launch(kernel, (1,), (LANES,), (out, words(a, bits, size), words(b, bits, size))).ok
    for x, y, row in zip(a, b, out):
        value, carry = formula(x, y, bits)
        assert (joined(row[:-1]), int(row[-1])) == (value % 2**bits, carry % 2**size), (hex(x), hex(y))


@pytest.mark.parametrize("size", [32, 64])
def test_a_product_of_two_words_by_two_words(size):
    """mad.cc and madc as the PTX ISA's own example of extended-precision multiplication has them."""
    steps = ["mul.lo %0, %4, %6", "mul.hi %1, %4, %6", "mad.lo.cc %1, %4, %7, %1", "madc.hi %2, %4, %7, 0"]
    steps += ["mad.lo.cc %1, %5, %6, %1", "madc.hi.cc %2, %5, %6, %2", "addc %3, 0, 0"]
    steps += ["mad.lo.cc %2, %5, %7, %2", "madc.hi %3, %5, %7, %3"]
    text = " ".join(step.replace(" ", f".u{size} ", 1) + ";" for step in steps)
    letter, word = ("r", "unsigned") if size == 32 else ("l", "unsigned long long")
    outputs = ", ".join(f'"=&{letter}"(out[{i}])' for i in range(4))
    inputs = ", ".join(f'"{letter}"({x}[{i}])' for x in "ab" for i in range(2))
    source = f"""typedef {word} W; extern "C" __global__ void k(W* out, const W* a, const W* b) {{
        out += 4 * threadIdx.x; a += 2 * threadIdx.x; b += 2 * threadIdx.x;
        asm volatile("{text}" : {outputs} : {inputs}); }}"""
    a, b = ([x % 4**size for x in numbers(128, seed)] for seed in (5, 6))
    out = np.zeros((LANES, 4), f"u{size // 8}")
    args = out, words(a, 2 * size, size), words(b[::-1], 2 * size, size)
    assert launch(compile(source, "k"), (1,), (LANES,), args).ok
    assert [joined(row) for row in out] == [x * y for x, y in zip(a, b[::-1])]
