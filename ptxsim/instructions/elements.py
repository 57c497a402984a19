"""Elements of the tensor cores' matrices: bits to numbers, and sums to bits."""

from functools import cache

import numpy as np

from .rounding import bf16_value

BITS = {
    **dict.fromkeys(("s8", "u8", "e4m3", "e5m2"), 8),
    **dict.fromkeys(("f16", "bf16"), 16),
    **dict.fromkeys(("tf32", "f32", "s32"), 32),
    "f64": 64,
}
WHOLE = {"s8": np.int8, "u8": np.uint8, "s32": np.int32}
TF32 = np.uint32(0xFFFFE000)
"""Of the bits of a tf32 those that count: 10 of the mantissa."""
NAN_8 = 0x7F
"""The NaN of an 8-bit float that a conversion gives (PTX ISA, "cvt": canonical)."""


def values(words: np.ndarray, kind: str) -> np.ndarray:
    """The numbers in some bytes, as float64."""
    if kind in WHOLE:
        return words.view(WHOLE[kind]).astype(np.float64)
    if kind in ("f16", "f32", "f64"):
        return words.view(f"f{BITS[kind] // 8}").astype(np.float64)
    if kind == "bf16":
        return bf16_value(words.view(np.uint16)).astype(np.float64)
    if kind == "tf32":
        return (words.view(np.uint32) & TF32).view(np.float32).astype(np.float64)
    return eight_bits(kind)[words.view(np.uint8)]


@cache
def eight_bits(kind: str) -> np.ndarray:
    """The 256 values of an 8-bit float (OCP 8-bit Floating Point Specification)."""
    exponents, mantissa, bias = (4, 3, 7) if kind == "e4m3" else (5, 2, 15)
    code = np.arange(256)
    sign = np.where(code >> 7, -1.0, 1.0)
    e, f = code >> mantissa & (2**exponents - 1), (code & (2**mantissa - 1)) / 2**mantissa
    value = sign * np.where(e == 0, f * 2.0 ** (1 - bias), (1 + f) * 2.0 ** (e - bias))
    if kind == "e4m3":
        value[(code & 0x7F) == 0x7F] = np.nan
    else:
        top = e == 31
        value[top] = np.where(f[top] == 0, sign[top] * np.inf, np.nan)
    return value


def to_eight_bits(x: np.ndarray, kind: str) -> np.ndarray:
    """float64 values, rounded once to nearest even; the largest for what is larger (`.satfinite`)."""
    table = eight_bits(kind)[:128]
    finite = table[np.isfinite(table)]
    size = np.minimum(np.abs(x), finite[-1])
    above = np.searchsorted(finite, np.where(np.isnan(size), 0, size)).clip(1)
    below = above - 1
    up, down = finite[above] - size, size - finite[below]
    code = np.where((up < down) | ((up == down) & (above % 2 == 0)), above, below)
    code = np.where(np.isnan(x), NAN_8, code | np.signbit(x) * 0x80)
    return code.astype(np.uint8)


def rounded(sums: np.ndarray, kind: str, clips: bool = False) -> np.ndarray:
    """Sums as float64 to elements of D, rounded once. Whole numbers wrap; if it `clips`, they stop at the largest."""
    if kind != "s32":
        return sums.astype(f"f{BITS[kind] // 8}")
    whole = sums.astype(np.int64)
    return np.clip(whole, -(2**31), 2**31 - 1).astype(np.int32) if clips else whole.astype(np.int32)
