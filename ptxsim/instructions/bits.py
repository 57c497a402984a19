"""Bits (PTX ISA: Logic and Shift Instructions; bfe, bfi, bfind, fns, brev, clz, popc, prmt, bmsk).

NumPy shifts by the full width or more give 0, or copies of the sign: what PTX calls clamping.
"""

from collections.abc import Callable

import numpy as np

from ..ptx.opcode import DTYPES, Opcode, UnsupportedInstruction
from .forms import BITS, LONG, SIGNED, UNSIGNED, alike, as_type, form, is_signed, last, same, width
from .registry import Pure, pure

LOGIC = ("pred", *BITS)


# --- logic


form("and", *LOGIC)(alike(np.bitwise_and, 2))
form("or", *LOGIC)(alike(np.bitwise_or, 2))
form("xor", *LOGIC)(alike(np.bitwise_xor, 2))
form("not", *LOGIC)(alike(np.bitwise_not, 1))


@form("cnot", *BITS)
def cnot(op: Opcode) -> Pure:
    """C's logical not: 1 for zero, else 0."""
    return same(lambda a: as_type(a == 0, last(op)), last(op), 1)


@form("lop3", "b32")
def lop3(op: Opcode) -> Pure:
    """Any function of three bits: bit (4a + 2b + c) of the fourth operand, a constant, is the result."""

    def compute(a: np.ndarray, b: np.ndarray, c: np.ndarray, table: np.ndarray) -> np.ndarray:
        result = np.zeros_like(a & b & c)
        for row in range(8):
            if int(table[0]) >> row & 1:
                result |= (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
        return result

    return Pure(compute, ("b32", "b32", "b32", "u32"), ("b32",))


# --- shifts


@form("shl", *BITS)
def shl(op: Opcode) -> Pure:
    """Shift left; an amount beyond the width gives zero."""
    return _shift(np.left_shift, last(op))


@form("shr", *BITS, *UNSIGNED, *SIGNED)
def shr(op: Opcode) -> Pure:
    """Shift right; an amount beyond the width gives zero, or copies of the sign."""
    return _shift(np.right_shift, last(op))


def _shift(ufunc: Callable, kind: str) -> Pure:
    dtype = DTYPES[kind]
    if dtype == np.uint32:
        return Pure(ufunc, (kind, "u32"), (kind,))
    limit = np.uint32(width(kind))
    return Pure(lambda a, n: ufunc(a, np.minimum(n, limit).astype(dtype)), (kind, "u32"), (kind,))


@form("shf", "b32", modifiers=("l", "r", "wrap", "clamp"))
def shf(op: Opcode) -> Pure:
    """Funnel shift of the 64 bits b:a; left gives the upper half of the result, right the lower."""

    def compute(a: np.ndarray, b: np.ndarray, n: np.ndarray) -> np.ndarray:
        amount = (n & 31 if op.has("wrap") else np.minimum(n, 32)).astype(np.uint64)
        both = b.astype(np.uint64) << 32 | a
        return ((both << amount) >> 32 if op.has("l") else both >> amount).astype(np.uint32)

    return Pure(compute, ("b32", "b32", "u32"), ("b32",))


# --- fields


@form("bfe", *LONG)
def bfe(op: Opcode) -> Pure:
    """Extract `length` bits from `position` on; signed types extend the field's top bit."""
    kind, bits = last(op), width(last(op))

    def compute(a: np.ndarray, position: np.ndarray, length: np.ndarray) -> np.ndarray:
        field = a >> _amount(position, kind)
        drop = bits - _amount(length, kind)
        return field << drop >> drop

    return Pure(compute, (kind, "u32", "u32"), (kind,))


@form("bfi", "b32", "b64")
def bfi(op: Opcode) -> Pure:
    """Insert the low `length` bits of a into b from `position` on."""
    kind = last(op)

    def compute(a: np.ndarray, b: np.ndarray, position: np.ndarray, length: np.ndarray) -> np.ndarray:
        shift = _amount(position, kind)
        mask = _low_mask(length, kind) << shift
        return (b & ~mask) | ((a << shift) & mask)

    return Pure(compute, (kind, kind, "u32", "u32"), (kind,))


def _amount(x: np.ndarray, kind: str) -> np.ndarray:
    """x as an amount to shift values of that type by, at most the width of `kind`.

    PTX allows 0 to 255. Beyond that an H100 takes the low 8 bits for 32-bit types, and all bits for 64-bit ones.
    """
    return as_type(np.minimum(x & 255 if width(kind) == 32 else x, width(kind)), kind)


def _low_mask(length: np.ndarray, kind: str) -> np.ndarray:
    """`length` ones."""
    return (DTYPES[kind].type(1) << _amount(length, kind)) - DTYPES[kind].type(1)


@form("bmsk", "b32", modifiers=("wrap", "clamp"))
def bmsk(op: Opcode) -> Pure:
    """A mask of b ones from bit a on."""

    def compute(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        start, length = (a & 31, b & 31) if op.has("wrap") else (np.minimum(a, 32), np.minimum(b, 32))
        return _low_mask(length, "b32") << start

    return same(compute, "b32", 2)


# --- counting and searching


@form("popc", "b32", "b64")
def popc(op: Opcode) -> Pure:
    """Number of ones."""
    return Pure(lambda a: np.bitwise_count(a).astype(np.uint32), (last(op),), ("u32",))


@form("clz", "b32", "b64")
def clz(op: Opcode) -> Pure:
    """Number of leading zeros."""
    bits = np.uint32(width(last(op)))
    return Pure(lambda a: bits - _length(a), (last(op),), ("u32",))


@form("bfind", *LONG, modifiers=("shiftamt",))
def bfind(op: Opcode) -> Pure:
    """Position of the highest bit that differs from the sign (none: 0xffffffff); .shiftamt: from the top."""
    kind, bits = last(op), np.uint32(width(last(op)))

    def compute(a: np.ndarray) -> np.ndarray:
        magnitude = as_type(np.where(a < 0, ~a, a) if is_signed(kind) else a, f"u{bits}")
        length = _length(magnitude)
        return np.where(length == 0, ~np.uint32(0), bits - length if op.has("shiftamt") else length - 1)

    return Pure(compute, (kind,), ("u32",))


def _length(x: np.ndarray) -> np.ndarray:
    """Bits up to the highest one: smear it downward, then count."""
    for shift in (1, 2, 4, 8, 16, 32):
        x = x | x >> shift
    return np.bitwise_count(x).astype(np.uint32)


@pure("fns")
def fns(op: Opcode) -> Pure:
    """Find the n-th one of a mask from a base on: upward for n > 0, downward for n < 0; n = 0 asks for the base itself.

    None: 0xffffffff.
    """
    op.only()

    def compute(mask: np.ndarray, base: np.ndarray, n: np.ndarray) -> np.ndarray:
        found = np.array(0xFFFFFFFF, np.uint32)
        mask = np.where(base < 32, mask, np.uint32(0))
        way, left = np.sign(n).astype(np.uint32), np.maximum(np.abs(n.astype(np.int64)), 1)
        for step in range(32):
            position = base + way * np.uint32(step)  # below 0 it wraps, and the shift gives 0
            one = (mask >> position & 1).astype(bool)
            left = left - one
            found = np.where(one & (left == 0), position, found)
        return found

    return Pure(compute, ("b32", "u32", "s32"), ("u32",))


def _reverse(x: np.ndarray) -> np.ndarray:
    """The bytes, then within each byte."""
    x = x.byteswap()
    for shift, low in ((4, 0x0F), (2, 0x33), (1, 0x55)):
        mask = x.dtype.type(int.from_bytes(bytes([low]) * x.itemsize, "little"))
        x = (x >> shift & mask) | ((x & mask) << shift)
    return x


form("brev", "b32", "b64")(alike(_reverse, 1))


# --- prmt: pick four bytes out of eight

PRMT_MODES = {
    "f4e": (0x3210, 0x4321, 0x5432, 0x6543),
    "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
    "rc8": (0x0000, 0x1111, 0x2222, 0x3333),
    "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
    "ecr": (0x0000, 0x1110, 0x2210, 0x3210),
    "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
}
"""The selectors that each mode stands for, by the two low bits of its third operand."""


@pure("prmt")
def prmt(op: Opcode) -> Pure:
    """Build a word from bytes of b:a: a selector digit names a byte, its bit 3 asks for the sign instead."""
    op.only(*PRMT_MODES)
    mode = next((m for m in op.modifiers if m in PRMT_MODES), None)
    if last(op) != "b32":
        raise UnsupportedInstruction(f"{op.text}: only .b32 exists")
    if mode is None:
        return same(_permute, "b32", 3)
    selectors = np.array(PRMT_MODES[mode], np.uint32)
    return same(lambda a, b, c: _permute(a, b, selectors[c & 3]), "b32", 3)


def _permute(a: np.ndarray, b: np.ndarray, selector: np.ndarray) -> np.ndarray:
    both = b.astype(np.uint64) << 32 | a
    result = np.zeros(1, np.uint32)
    for i in range(4):
        digit = selector >> (4 * i) & 15
        byte = (both >> (digit & 7).astype(np.uint64) * np.uint64(8)).astype(np.uint8)
        sign = (byte.view(np.int8) >> 7).view(np.uint8)
        result = result | np.where(digit & 8, sign, byte).astype(np.uint32) << (8 * i)
    return result
