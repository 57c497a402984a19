"""float64 arithmetic rounded exactly once, in every mode and with every exponent.

NumPy rounds to nearest, and it has no fma. Error-free transformations (Ogita, Rump and Oishi, "Accurate sum and dot
product", SIAM J. Sci. Comput. 26(6), 2005) give the nearest result and what it misses, but only far from overflow and
underflow. So operands are taken apart into fractions in [0.5, 1) and exponents: a result comes out as
`high + error` times a power of two, and `scale` rounds that once.
"""

import numpy as np

from .rounding import odd_sum, two_sum

FAR = 120
"""Binary places beyond which a number matters to a sum of others by its sign alone: more than 53 + 53 of them."""
NO_EXPONENT = -9999
"""The exponent of zero: below all others, also of products."""
SMALLEST = -1074
"""2**SMALLEST is the smallest subnormal number."""
GUARD = 9
"""Bits of a scaled integer below the 53 of a float64; 62 in all, and a sign."""


def fma(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a * b + c, rounded once to nearest; the long way only for lanes with extreme exponents."""
    product, low = two_product(a, b)
    result = np.add(*_sum_of_three(product, low, c))
    size = np.abs(product)
    largest = np.maximum(np.maximum(np.abs(a), np.abs(b)), np.maximum(np.abs(c), size))
    ordinary = (largest < 2.0**990) & (size > 2.0**-900)
    if not ordinary.all():
        extreme = ~ordinary
        a, b, c = (np.broadcast_to(x, result.shape)[extreme] for x in (a, b, c))
        result[extreme] = fma_in_mode(a, b, c, "rn")
    return result


def fma_in_mode(a: np.ndarray, b: np.ndarray, c: np.ndarray, mode: str) -> np.ndarray:
    """a * b + c, rounded once. An exact sum of zero is +0 unless both parts are -0."""
    (a_part, a_exponent), (b_part, b_exponent), (c_part, c_exponent) = map(_take_apart, (a, b, c))
    product, low = two_product(a_part, b_part)
    exponent = np.maximum(a_exponent + b_exponent, c_exponent - FAR)
    addend = np.ldexp(c_part, np.maximum(c_exponent - exponent, -FAR))
    high, error = two_sum(*_sum_of_three(product, low, addend))
    finite = np.isfinite(a) & np.isfinite(b)
    plain = np.where(finite & np.isinf(c), c, a * b + c)  # a product that overflows must not meet infinity
    return np.where(finite & np.isfinite(c) & (high != 0), scale(high, error, exponent, mode), plain)


def mul(a: np.ndarray, b: np.ndarray, mode: str) -> np.ndarray:
    (a_part, a_exponent), (b_part, b_exponent) = _take_apart(a), _take_apart(b)
    high, error = two_product(a_part, b_part)
    rounded = scale(high, error, a_exponent + b_exponent, mode)
    return np.where(np.isfinite(a) & np.isfinite(b) & (high != 0), rounded, a * b)


def div(a: np.ndarray, b: np.ndarray, mode: str) -> np.ndarray:
    (a_part, a_exponent), (b_part, b_exponent) = _take_apart(a), _take_apart(b)
    high = a_part / b_part
    error = _remainder(a_part, high, b_part) * np.sign(b)
    rounded = scale(high, error, a_exponent - b_exponent, mode)
    return np.where(np.isfinite(a) & np.isfinite(b) & (a != 0) & (b != 0), rounded, a / b)


def sqrt(x: np.ndarray, mode: str) -> np.ndarray:
    part, exponent = _take_apart(x)
    odd = exponent & 1
    part = np.ldexp(part, odd)
    high = np.sqrt(part)
    rounded = scale(high, _remainder(part, high, high), (exponent - odd) >> 1, mode)
    return np.where(np.isfinite(x) & (x > 0), rounded, np.sqrt(x))


def scale(high: np.ndarray, error: np.ndarray, exponent: np.ndarray, mode: str) -> np.ndarray:
    """(high + error) * 2**exponent, rounded once.

    `high` is the float64 nearest to the exact value: of the error only the sign matters. It moves the last guard bit.
    """
    fraction, places = np.frexp(high)
    whole = np.ldexp(np.abs(fraction), 53 + GUARD).astype(np.int64)
    whole += (np.sign(error) * np.sign(high)).astype(np.int64)
    unit = places + exponent - (53 + GUARD)
    below_power = whole < 1 << 52 + GUARD  # just below a power of two the numbers lie twice as close
    drop = np.clip(SMALLEST - unit, GUARD - below_power, 63).astype(np.int64)
    kept = whole >> drop
    rest = whole - (kept << drop)
    unit = np.maximum(unit + drop, SMALLEST)
    if mode == "rn":
        kept += rest + (kept & 1) > np.int64(1) << (drop - 1)
        return np.copysign(np.ldexp(kept.astype(np.float64), unit), high)
    outward: np.ndarray = {"rz": np.zeros(1, bool), "rp": high > 0, "rm": high < 0}[mode]
    kept += outward & (rest > 0)
    rounded = np.ldexp(kept.astype(np.float64), unit)
    rounded = np.where(np.isinf(rounded) & ~outward, np.finfo(np.float64).max, rounded)
    return np.copysign(rounded, high)


def two_product(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """float64 product and its exact error, for operands and products far from overflow and underflow."""
    product = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


def _split(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two halves of a float64 significand, 26 bits each (Veltkamp)."""
    scaled = x * 134217729.0
    high = scaled - (scaled - x)
    return high, x - high


def _sum_of_three(product: np.ndarray, low: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two numbers whose sum rounds like the exact sum, by rounding to odd; `low` is the error of the product."""
    addend, rest = two_sum(c, low)
    high, middle = two_sum(product, addend)
    return high, odd_sum(middle, rest)


def _remainder(a: np.ndarray, quotient: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a - quotient * b, exact where `quotient` is the nearest float64."""
    product, low = two_product(quotient, b)
    return (a - product) - low


def _take_apart(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """x as a fraction, at least 0.5 and below 1, times a power of two."""
    fraction, exponent = np.frexp(x)
    return fraction, np.where(x == 0, NO_EXPONENT, exponent)
