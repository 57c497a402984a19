"""Integer arithmetic (PTX ISA: Integer Arithmetic Instructions, Extended-Precision Integer Arithmetic).

Registers wrap, and so do NumPy's integer arrays, so most of these are one ufunc.
"""

from collections.abc import Callable

import numpy as np

from ..ptx.opcode import DTYPES, Opcode, UnsupportedInstruction
from .forms import INTEGERS, LONG, SIGNED, alike, as_type, form, is_signed, last, same, wider, width
from .registry import Pure, pure

PACKED = ("u16x2", "s16x2")
"""Two 16-bit integers in one register (sm_90)."""


# --- add and subtract, with saturation and carries


@form("add", *INTEGERS, modifiers=("sat", "cc"))
def add(op: Opcode) -> Pure:
    return _sum(op, np.add, _add_with_carry, np.False_)


@form("addc", *LONG, modifiers=("cc",))
def addc(op: Opcode) -> Pure:
    """Add with carry-in."""
    return _carrying(op, _add_with_carry, 2, reads=True)


@form("sub", *INTEGERS, modifiers=("sat", "cc"))
def sub(op: Opcode) -> Pure:
    return _sum(op, np.subtract, _subtract_with_carry, np.True_)


@form("subc", *LONG, modifiers=("cc",))
def subc(op: Opcode) -> Pure:
    """Subtract with borrow-in."""
    return _carrying(op, _subtract_with_carry, 2, reads=True)


def _sum(op: Opcode, ufunc: Callable, with_carry: Callable, carry: np.bool_) -> Pure:
    """`add` or `sub`; one that writes the carry flag begins with `carry`, and reads none."""
    if op.has("cc"):
        return _carrying(op, lambda a, b: with_carry(a, b, carry), 2)
    return same(_saturated(ufunc) if op.has("sat") else ufunc, last(op), 2)


def _saturated(ufunc: Callable) -> Callable:
    """`.sat` exists for s32 only: compute in 64 bits, then clamp."""
    return lambda a, b: _clamp32(ufunc(a.astype(np.int64), b.astype(np.int64)))


def _clamp32(x: np.ndarray) -> np.ndarray:
    return np.clip(x, -(2**31), 2**31 - 1).astype(np.int32)


def _carrying(op: Opcode, compute: Callable, inputs: int, reads: bool = False) -> Pure:
    """An instruction on the carry flag; `compute` works on unsigned arrays and returns (result, carry)."""
    kind = f"u{width(last(op))}"
    writes = op.has("cc")
    chosen = compute if writes else lambda *operands: compute(*operands)[0]
    return Pure(chosen, (kind,) * inputs, (kind,), reads_carry=reads, writes_carry=writes)


def _add_with_carry(
    a: np.ndarray, b: np.ndarray, carry: np.ndarray | np.bool
) -> tuple[np.ndarray, np.ndarray]:
    partial = a + b
    total = partial + carry.astype(a.dtype)
    return total, (partial < a) | (total < partial)


def _subtract_with_carry(a: np.ndarray, b: np.ndarray, carry: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """a + ~b + carry, as the hardware does: the flag is 1 where nothing was borrowed.

    The PTX ISA (Extended-Precision Integer Arithmetic Instructions) speaks of a borrow. A chain of `subc` cannot tell;
    `addc` after it can, and NVRTC's division of __int128 has one.
    """
    return _add_with_carry(a, ~b, carry)


# --- multiply


@form("mul", *INTEGERS, modifiers=("lo", "hi", "wide"))
def mul(op: Opcode) -> Pure:
    kind = last(op)
    output = wider(kind) if op.has("wide") else kind
    return Pure(_product(op), (kind, kind), (output,))


@form("mad", *INTEGERS, modifiers=("lo", "hi", "wide", "sat", "cc"))
def mad(op: Opcode) -> Pure:
    """Multiply, take one part of the product, add."""
    product = _product(op)
    if op.has("cc"):
        return _mad_with_carry(op, reads=False)
    kind = last(op)
    output = wider(kind) if op.has("wide") else kind
    plus = _saturated(np.add) if op.has("sat") else np.add
    return Pure(lambda a, b, c: plus(product(a, b), c), (kind, kind, output), (output,))


@form("madc", *LONG, modifiers=("lo", "hi", "cc"))
def madc(op: Opcode) -> Pure:
    """`mad` with carry-in."""
    return _mad_with_carry(op, reads=True)


def _mad_with_carry(op: Opcode, reads: bool) -> Pure:
    product, kind = _product(op), last(op)

    def compute(
        a: np.ndarray, b: np.ndarray, c: np.ndarray, carry: np.ndarray | np.bool = np.False_
    ) -> tuple[np.ndarray, ...]:
        part = product(as_type(a, kind), as_type(b, kind))
        return _add_with_carry(as_type(part, f"u{width(kind)}"), c, carry)

    return _carrying(op, compute, 3, reads)


def _product(op: Opcode) -> Callable:
    """The part of a product that `.lo`, `.hi` or `.wide` names."""
    kind = last(op)
    if op.has("lo"):
        return np.multiply
    if op.has("hi"):
        return _high_product(kind)
    if op.has("wide"):
        double = DTYPES[wider(kind)]
        return lambda a, b: a.astype(double) * b.astype(double)
    raise UnsupportedInstruction(f"{op.text}: expected .lo, .hi or .wide")


def _high_product(kind: str) -> Callable:
    if kind == "u64":
        return _high_u64
    if kind == "s64":
        return _high_s64
    double, shift = DTYPES[wider(kind)], width(kind)
    return lambda a, b: as_type((a.astype(double) * b.astype(double)) >> shift, kind)


def _high_u64(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Upper 64 bits of a 128-bit product, from four products of 32-bit halves."""
    low = np.uint64(0xFFFFFFFF)
    a_high, a_low, b_high, b_low = a >> 32, a & low, b >> 32, b & low
    middle = a_high * b_low + (a_low * b_low >> 32)
    other = a_low * b_high + (middle & low)
    return a_high * b_high + (middle >> 32) + (other >> 32)


def _high_s64(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    high = _high_u64(a.view(np.uint64), b.view(np.uint64)).view(np.int64)
    return high - np.where(a < 0, b, 0) - np.where(b < 0, a, 0)


@form("mul24", "s32", "u32", modifiers=("lo", "hi"))
def mul24(op: Opcode) -> Pure:
    """Product of the low 24 bits: its low 32 bits, or its bits 47..16."""
    return same(_product24(op), last(op), 2)


@form("mad24", "s32", "u32", modifiers=("lo", "hi", "sat"))
def mad24(op: Opcode) -> Pure:
    product = _product24(op)
    plus = _saturated(np.add) if op.has("sat") else np.add
    return same(lambda a, b, c: plus(product(a, b), c), last(op), 3)


def _product24(op: Opcode) -> Callable:
    kind = last(op)
    double, shift = DTYPES[wider(kind)], 16 if op.has("hi") else 0

    def compute(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return as_type(((a << 8 >> 8).astype(double) * (b << 8 >> 8).astype(double)) >> shift, kind)

    return compute


# --- divide


def _quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cut toward zero. Division by zero, unspecified in PTX, gives all ones."""
    ones = a.dtype.type(-1) if a.dtype.kind == "i" else np.iinfo(a.dtype).max
    return np.where(b == 0, ones, (a - np.fmod(a, b)) // b)


def _remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """With the sign of the dividend; of a division by zero: the dividend."""
    return np.where(b == 0, a, np.fmod(a, b))


form("div", *INTEGERS)(alike(_quotient, 2))
form("rem", *INTEGERS)(alike(_remainder, 2))


# --- one or two operands

form("abs", *SIGNED)(alike(np.abs, 1))  # the smallest number is its own absolute value
form("neg", *SIGNED)(alike(np.negative, 1))


@form("min", *INTEGERS, modifiers=("relu",))
def min_(op: Opcode) -> Pure:
    return same(_relu(op, np.minimum), last(op), 2)


@form("max", *INTEGERS, modifiers=("relu",))
def max_(op: Opcode) -> Pure:
    return same(_relu(op, np.maximum), last(op), 2)


def _relu(op: Opcode, ufunc: Callable) -> Callable:
    """`ufunc`; with .relu negative results become 0."""
    return (lambda a, b: np.maximum(ufunc(a, b), 0)) if op.has("relu") else ufunc


@form("add", *PACKED)
def add_packed(op: Opcode) -> Pure:
    return _packed(op, np.add)


@form("min", *PACKED, modifiers=("relu",))
def min_packed(op: Opcode) -> Pure:
    return _packed(op, _relu(op, np.minimum))


@form("max", *PACKED, modifiers=("relu",))
def max_packed(op: Opcode) -> Pure:
    return _packed(op, _relu(op, np.maximum))


def _packed(op: Opcode, compute: Callable) -> Pure:
    """Apply `compute` to both 16-bit halves of 32-bit registers."""
    half = last(op).removesuffix("x2")

    def both(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        low, high = (as_type(compute(as_type(a >> s, half), as_type(b >> s, half)), "u16") for s in (0, 16))
        return low.astype(np.uint32) | (high.astype(np.uint32) << 16)

    return same(both, last(op), 2)


form("sad", *INTEGERS)(alike(lambda a, b, c: c + np.where(a < b, b - a, a - b), 3))


@pure("dp4a")
def dp4a(op: Opcode) -> Pure:
    """c plus the dot product of four bytes of a with four bytes of b."""
    op.only()
    return _dot(op, [(8 * i, 8 * i) for i in range(4)], ("8", "8"))


@pure("dp2a")
def dp2a(op: Opcode) -> Pure:
    """c plus the dot product of two 16-bit parts of a with the low or high two bytes of b."""
    op.only("lo", "hi")
    first = 16 if op.has("hi") else 0
    return _dot(op, [(0, first), (16, first + 8)], ("16", "8"))


def _dot(op: Opcode, shifts: list[tuple[int, int]], widths: tuple[str, str]) -> Pure:
    """Sum of products of parts; shifts[i] says where the parts of a and b of product i begin."""
    a_type, b_type = op.types
    result = "s32" if "s32" in op.types else "u32"
    a_part, b_part = a_type[0] + widths[0], b_type[0] + widths[1]

    def compute(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        products = (as_type(a >> i, a_part).astype(np.int64) * as_type(b >> j, b_part) for i, j in shifts)
        return as_type(sum(products, c.astype(np.int64)), result)

    return Pure(compute, (a_type, b_type, result), (result,))


@form("szext", "s32", "u32", modifiers=("wrap", "clamp"))
def szext(op: Opcode) -> Pure:
    """Sign- or zero-extend the low b bits of a."""
    kind = last(op)

    def compute(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        drop = 32 - (b & 31 if op.has("wrap") else np.minimum(b, 32)).astype(np.int64)
        wide = as_type(a, "s32" if is_signed(kind) else "u32").astype(np.int64) << (32 + drop)
        return as_type(np.where(drop == 32, 0, _shift_right(wide, 32 + drop, is_signed(kind))), kind)

    return Pure(compute, (kind, "u32"), (kind,))


def _shift_right(x: np.ndarray, amount: np.ndarray, signed: bool) -> np.ndarray:
    return x >> amount if signed else (x.view(np.uint64) >> amount.astype(np.uint64)).view(np.int64)
