"""Conversions (PTX ISA: cvt). The result has the type named first; the source type is named last.

A destination register may be wider than the type (`cvt.u8.u32` into a 16-bit register): whoever writes the
result extends it.
"""

from collections.abc import Callable

import numpy as np

from ..ptx.opcode import DTYPES, Opcode, UnsupportedInstruction
from . import rounding
from .elements import eight_bits, to_eight_bits
from .forms import width
from .half import clamp_of, join, split
from .registry import Pure, pure
from .rounding import MODES, rounding_mode

TO_INTEGRAL = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
PACKED = ("f16x2", "bf16x2")
PAIRS_OF_8 = ("e4m3x2", "e5m2x2")
FLOATING = ("f16", "bf16", "f32", "f64")


@pure("cvt")
def cvt(op: Opcode) -> Pure:
    op.only(*MODES, *TO_INTEGRAL, "sat", "satfinite", "ftz", "relu", "rna", "tf32")
    if op.has("tf32"):
        return _to_tf32(op)
    if any(kind in PAIRS_OF_8 for kind in op.types):
        return _pairs_of_8(op)
    if op.has("satfinite"):
        raise UnsupportedInstruction(f"{op.text}: '.satfinite' is simulated for e4m3x2 and e5m2x2")
    if len(op.types) != 2:
        raise UnsupportedInstruction(f"{op.text}: this conversion is not simulated")
    target, source = op.types
    if target in PACKED:
        return _two_f32_to_halves(op)
    chosen = {
        (True, True): _float_to_float,
        (False, True): _float_to_integer,
        (True, False): _integer_to_float,
        (False, False): _integer_to_integer,
    }[target in FLOATING, source in FLOATING]
    return Pure(chosen(op), (source,), (target,))


def _values(x: np.ndarray, kind: str) -> np.ndarray:
    """float64 values of a float type."""
    return split(x, kind)[0] if kind in ("f16", "bf16") else x.astype(np.float64)


def _integer_to_integer(op: Opcode) -> Callable:
    """Cut or extend; .sat clamps to the target's range."""
    target, _ = op.types
    dtype = DTYPES[target]
    if not op.has("sat"):
        return lambda x: x.astype(dtype)

    def clamp(x: np.ndarray) -> np.ndarray:
        limits, own = np.iinfo(dtype), np.iinfo(x.dtype)
        return np.clip(x, max(limits.min, own.min), min(limits.max, own.max)).astype(dtype)

    return clamp


def _float_to_integer(op: Opcode) -> Callable:
    """Round to an integer and clamp to the target's range."""
    target, source = op.types
    integral = _integral(op) or np.trunc
    limits = np.iinfo(DTYPES[target])
    # NaN gives 0, except where a 64-bit type takes part: there it gives the top bit alone.
    of_nan = 1 << (width(target) - 1) if source == "f64" or width(target) == 64 else 0
    nan = np.array(of_nan, np.uint64).astype(DTYPES[target])

    def compute(x: np.ndarray) -> np.ndarray:
        value = integral(_values(x, source))
        inside = (value > limits.min) & (value < float(limits.max))
        result = np.where(inside, value, 0.0).astype(DTYPES[target])
        result = np.where(value >= float(limits.max), limits.max, result)
        result = np.where(value <= limits.min, limits.min, result)
        return np.where(np.isnan(value), nan, result).astype(DTYPES[target])

    return compute


def _integral(op: Opcode) -> Callable | None:
    return next((TO_INTEGRAL[m] for m in op.modifiers if m in TO_INTEGRAL), None)


def _integer_to_float(op: Opcode) -> Callable:
    target, source = op.types
    mode, after = rounding_mode(op.modifiers), clamp_of(op)
    if target == "f64":
        return lambda x: after(rounding.toward(*rounding.two_sum(*rounding.integer_halves(x)), mode))
    exact = rounding.odd_float64 if width(source) == 64 else lambda x: x.astype(np.float64)
    return lambda x: rounding.narrow(after(exact(x)), target, mode)


def _float_to_float(op: Opcode) -> Callable:
    """Widen, or round once; with an integral mode round to an integer in the same type."""
    target, source = op.types
    integral, after = _integral(op) or (lambda x: x), clamp_of(op)
    mode = rounding_mode(op.modifiers)
    finish = rounding.flush if op.has("ftz") and target == "f32" else lambda x: x
    return lambda x: finish(rounding.narrow(after(integral(_values(x, source))), target, mode))


def _two_f32_to_halves(op: Opcode) -> Pure:
    """Two float32 in one register; the first operand becomes the high half."""
    target, _ = op.types
    mode, after = rounding_mode(op.modifiers), clamp_of(op)

    def compute(high: np.ndarray, low: np.ndarray) -> np.ndarray:
        values = np.broadcast_arrays(low, high)
        return join([after(value.astype(np.float64)) for value in values], target, mode)

    return Pure(compute, ("f32", "f32"), (target,))


def _to_tf32(op: Opcode) -> Pure:
    """Round float32 to the 10 fraction bits of tf32, ties away from zero (.rna) or to even (.rn)."""
    kept = np.uint32(0xFFFFE000)

    def compute(x: np.ndarray) -> np.ndarray:
        bits = x.view(np.uint32)
        half = 0x1000 if op.has("rna") else 0x0FFF + (bits >> 13 & 1)
        return np.where(np.isfinite(x), (bits + half) & kept, bits)

    return Pure(compute, ("f32",), ("b32",))


def _pairs_of_8(op: Opcode) -> Pure:
    """Two 8-bit floats in 16 bits, from two float32 or a pair of halves, and to such a pair. The first operand, or the
    high half, is the upper one."""
    target, source = (*op.types, "")[:2]
    after = clamp_of(op)
    if target in PAIRS_OF_8 and source in ("f32", "f16x2", "bf16x2") and op.has("satfinite") and op.has("rn"):
        kind = target.removesuffix("x2")

        def to_pair(*operands: np.ndarray) -> np.ndarray:
            halves = operands[::-1] if source == "f32" else split(operands[0], source)
            low, high = (
                to_eight_bits(after(half.astype(np.float64)), kind) for half in np.broadcast_arrays(*halves)
            )
            return low.astype(np.uint16) | high.astype(np.uint16) << 8

        return Pure(to_pair, ("f32", "f32") if source == "f32" else (source,), (target,))
    if target == "f16x2" and source in PAIRS_OF_8 and op.has("rn"):
        table = eight_bits(source.removesuffix("x2"))

        def to_halves(x: np.ndarray) -> np.ndarray:
            return join([after(table[x & 0xFF]), after(table[x >> 8])], target)

        return Pure(to_halves, (source,), (target,))
    raise UnsupportedInstruction(f"{op.text}: this conversion is not simulated")
