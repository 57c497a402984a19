"""Rounding exactly once, as IEEE 754 asks, with NumPy arrays.

The trick used everywhere: compute in float64 so that the result is exact or *rounded to odd* (cut off, and
the last bit set when anything was lost). A float64 rounded to odd still knows on which side of every boundary
between shorter floats the exact value lies, so rounding it again to float32, float16 or bfloat16 is right in
every mode (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", IEEE TC 57(4), 2008).
"""

import numpy as np

F32_EXPONENT = np.uint32(0x7F800000)
F32_SIGN = np.uint32(0x80000000)
F32_SMALLEST_EXPONENT = np.uint32(0x00800000)
CUT_BITS = np.int64(0x1FFFFFFF)
"""The 29 low bits of a float64 that a normal float32 has no room for."""
CUT_TIE = np.int64(0x10000000)
"""Those bits when the value lies exactly between two float32 values."""

MODES = ("rn", "rz", "rm", "rp")
"""To nearest even, toward zero, toward minus infinity, toward plus infinity."""


def rounding_mode(modifiers: tuple[str, ...]) -> str:
    """The rounding mode written in an opcode, "rn" when none is."""
    return next((m for m in modifiers if m in MODES), "rn")


def flush(x: np.ndarray) -> np.ndarray:
    """Replace subnormal float32 values with zeros of the same sign (`.ftz`)."""
    tiny = subnormal(x)
    if not np.count_nonzero(tiny):
        return x
    bits = x.view(np.uint32)
    return np.where(tiny, bits & F32_SIGN, bits).view(np.float32)


def subnormal(x: np.ndarray) -> np.ndarray:
    """Which float32 values are subnormal; zeros are not."""
    return (x.view(np.uint32) << np.uint32(1)) - np.uint32(1) < np.uint32(0xFFFFFF)


def two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """float64 sum and its exact error: a + b == total + error (infinite where the sum overflows)."""
    total = a + b
    b_part = total - a
    error = (a - (total - b_part)) + (b - b_part)
    if not np.isfinite(total).all():
        overflow = np.isinf(total) & np.isfinite(a) & np.isfinite(b)
        error = np.where(np.isfinite(total), error, np.where(overflow, -total, 0.0))
    return total, error


def to_odd(total: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Round `total + error` to odd, where `total` is the nearest float64 and `error` what it misses."""
    bits = total.view(np.int64)
    outward = (error > 0) == (total > 0)
    fix = (error != 0) & ((bits & 1) == 0)
    return (bits + np.where(fix, np.where(outward, 1, -1), 0)).view(np.float64)


def odd_sum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """float64 a + b rounded to odd."""
    return to_odd(*two_sum(a, b))


def odd_float64(x: np.ndarray) -> np.ndarray:
    """A 64-bit integer as float64, rounded to odd."""
    return odd_sum(*integer_halves(x))


def integer_halves(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two float64 whose exact sum is the integer."""
    if x.itemsize < 8:
        x = x.astype(np.int64)
    return (x >> 32).astype(np.float64) * 4294967296.0, (x & 0xFFFFFFFF).astype(np.float64)


def toward(total: np.ndarray, error: np.ndarray, mode: str) -> np.ndarray:
    """Turn `total`, the nearest value, into the one that `mode` asks for; `error` is exact minus total."""
    if mode == "rn":
        return total
    if mode == "rz":
        too_long = (error != 0) & ((error > 0) != (total > 0))
        return np.where(too_long, np.nextafter(total, total.dtype.type(0)), total)
    up = mode == "rp"
    target = total.dtype.type(np.inf if up else -np.inf)
    return np.where(error > 0 if up else error < 0, np.nextafter(total, target), total)


def narrow(x: np.ndarray, kind: str, mode: str = "rn") -> np.ndarray:
    """Round float64 values, exact or rounded to odd, once to PTX type `kind`."""
    if kind == "f64":
        return x
    if kind == "bf16":
        return _bf16_from_f32(odd_f32(x), mode)
    nearest = x.astype(np.float32 if kind == "f32" else np.float16)
    if mode == "rn":
        return nearest
    # Infinity minus infinity is NaN, which `toward` leaves alone because every comparison with it is false;
    # `!=` is the exception, so it is replaced with 0.
    error = x - nearest.astype(np.float64)
    return toward(nearest, np.nan_to_num(error, nan=0.0, posinf=np.inf, neginf=-np.inf), mode)


def odd_f32(x: np.ndarray) -> np.ndarray:
    """Round float64 to float32, to odd."""
    nearest = x.astype(np.float32)
    if (nearest == x).all():
        return nearest
    cut = narrow(x, "f32", "rz")
    inexact = (cut.astype(np.float64) != x) & ~np.isnan(x)
    return np.where(inexact, cut.view(np.uint32) | np.uint32(1), cut.view(np.uint32)).view(np.float32)


def bf16_value(bits: np.ndarray) -> np.ndarray:
    """The float32 value of bfloat16 bits (its upper half)."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def _bf16_from_f32(x: np.ndarray, mode: str) -> np.ndarray:
    """Round float32 to bfloat16 bits; NaN becomes the canonical 0x7fff."""
    bits = x.view(np.uint32)
    if mode == "rn":
        bump = np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    else:
        away = {"rz": np.False_, "rp": ~np.signbit(x), "rm": np.signbit(x)}[mode] & np.isfinite(x)
        bump = np.where(away, np.uint32(0xFFFF), np.uint32(0))
    rounded = ((bits + bump) >> np.uint32(16)).astype(np.uint16)
    return np.where(np.isnan(x), np.uint16(0x7FFF), rounded)


def fma32(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """float32 a * b + c, rounded once to nearest.

    The float64 product is exact. The float64 sum may be rounded, and rounding it again to float32 is wrong
    only where it lies on a float32 tie, or where float32 is subnormal and ties lie elsewhere. Such lanes are
    rare, so all lanes take the slow way when one of them needs it.
    """
    total = a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)
    result = total.astype(np.float32)
    if _destroy_and_find_tie(total) or _any_tiny(result):
        return fma32_odd(a, b, c).astype(np.float32)
    return result


def fma32_ftz(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """float32 a * b + c, rounded once to nearest, subnormal results flushed: a GEMM's busiest step."""
    total = a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)
    result = total.astype(np.float32)
    if _destroy_and_find_tie(total):
        result = fma32_odd(a, b, c).astype(np.float32)
    return flush(result)


def fma32_odd(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a * b + c of float32 (or shorter) values as float64, rounded to odd."""
    return odd_sum(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64))


def _destroy_and_find_tie(total: np.ndarray) -> bool:
    """Whether a float64 lies halfway between two float32. Overwrites `total`: fresh arrays cost time."""
    bits = total.view(np.int64)
    bits &= CUT_BITS
    return bool(np.count_nonzero(bits == CUT_TIE))


def _any_tiny(x: np.ndarray) -> bool:
    """Whether any float32 is zero, subnormal, or just above, where a subnormal may have been rounded up."""
    return bool(np.count_nonzero((x.view(np.uint32) & F32_EXPONENT) <= F32_SMALLEST_EXPONENT))
