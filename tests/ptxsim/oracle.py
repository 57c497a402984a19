"""Arithmetic to compare the simulator with: Python integers and Fractions, no NumPy.

A float is the integer of its bit pattern, with a `Format` that says how to read it.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

MODES = ("rn", "rz", "rm", "rp")


@dataclass(frozen=True)
class Format:
    """A binary floating point format of IEEE 754."""

    bits: int
    fraction: int

    @property
    def bias(self) -> int:
        return (1 << (self.bits - self.fraction - 2)) - 1

    @property
    def smallest_exponent(self) -> int:
        return 1 - self.bias

    @property
    def infinity(self) -> int:
        return (1 << (self.bits - 1)) - (1 << self.fraction)

    @property
    def nan(self) -> int:
        return self.infinity + 1

    @property
    def sign_bit(self) -> int:
        return 1 << (self.bits - 1)

    def is_nan(self, x: int) -> bool:
        return x & ~self.sign_bit > self.infinity

    def is_infinite(self, x: int) -> bool:
        return x & ~self.sign_bit == self.infinity

    def is_finite(self, x: int) -> bool:
        return x & ~self.sign_bit < self.infinity

    def negative(self, x: int) -> bool:
        return bool(x & self.sign_bit)

    def flush(self, x: int) -> int:
        """Subnormal to zero of the same sign."""
        return x & self.sign_bit if x & self.infinity == 0 else x

    def value(self, x: int) -> Fraction:
        """The exact value of a finite number."""
        magnitude = x & ~self.sign_bit
        exponent, fraction = magnitude >> self.fraction, magnitude & ((1 << self.fraction) - 1)
        if exponent:
            fraction += 1 << self.fraction
        power = max(exponent, 1) - self.bias - self.fraction
        exact = Fraction(fraction) * Fraction(2) ** power
        return -exact if self.negative(x) else exact

    def round(self, exact: Fraction, mode: str = "rn", negative_zero: bool = False) -> int:
        """The bits of `exact` rounded once."""
        if exact == 0:
            return self.sign_bit if negative_zero else 0
        magnitude, sign = abs(exact), self.sign_bit if exact < 0 else 0
        exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
        exponent -= magnitude < Fraction(2) ** exponent
        exponent = max(exponent, self.smallest_exponent)
        quantum = Fraction(2) ** (exponent - self.fraction)
        count, rest = divmod(magnitude, quantum)
        count += self._up(count, rest / quantum, mode, exact < 0)
        encoded = count + (exponent - self.smallest_exponent) * (1 << self.fraction)
        if encoded >= self.infinity and not self._up(1, Fraction(1, 2), mode, exact < 0):
            encoded = self.infinity - 1
        return sign | min(encoded, self.infinity)

    @staticmethod
    def _up(count: int, rest: Fraction, mode: str, negative: bool) -> bool:
        if mode == "rn":
            return rest > Fraction(1, 2) or (rest == Fraction(1, 2) and count % 2 == 1)
        return rest > 0 and mode == ("rm" if negative else "rp")


F16, BF16, F32, F64 = Format(16, 10), Format(16, 7), Format(32, 23), Format(64, 52)
FORMATS = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64}


def fma(f: Format, a: int, b: int, c: int, mode: str = "rn") -> int:
    """a * b + c, rounded once."""
    if f.is_nan(a) or f.is_nan(b) or f.is_nan(c):
        return f.nan
    product_sign = (a ^ b) & f.sign_bit
    if f.is_infinite(a) or f.is_infinite(b):
        zero = not (a & ~f.sign_bit and b & ~f.sign_bit)
        cancels = f.is_infinite(c) and (c & f.sign_bit) != product_sign
        return f.nan if zero or cancels else product_sign | f.infinity
    if f.is_infinite(c):
        return c
    exact = f.value(a) * f.value(b) + f.value(c)
    both = bool(product_sign) == f.negative(c)
    negative_zero = f.negative(c) if both else mode == "rm"
    return f.round(exact, mode, negative_zero)


def mul(f: Format, a: int, b: int, mode: str = "rn") -> int:
    zero = (a ^ b) & f.sign_bit  # adding a zero of the product's sign changes nothing
    return fma(f, a, b, zero, mode)


def add(f: Format, a: int, b: int, mode: str = "rn") -> int:
    return fma(f, a, f.bias << f.fraction, b, mode)


def sub(f: Format, a: int, b: int, mode: str = "rn") -> int:
    return add(f, a, b ^ f.sign_bit, mode)


def div(f: Format, a: int, b: int, mode: str = "rn") -> int:
    sign = (a ^ b) & f.sign_bit
    if f.is_nan(a) or f.is_nan(b) or (f.is_infinite(a) and f.is_infinite(b)):
        return f.nan
    if f.is_infinite(b):
        return sign
    if f.is_infinite(a):
        return sign | f.infinity
    if f.value(b) == 0:
        return f.nan if f.value(a) == 0 else sign | f.infinity
    return f.round(f.value(a) / f.value(b), mode, bool(sign))


def sqrt(f: Format, a: int, mode: str = "rn") -> int:
    if f.is_nan(a) or a & ~f.sign_bit == 0:
        return a
    if f.negative(a):
        return f.nan
    if f.is_infinite(a):
        return a
    # An integer square root with many spare bits, made odd when inexact, rounds like the exact root.
    value = f.value(a) * Fraction(2) ** 1400
    root = isqrt(value.numerator // value.denominator)
    inexact = Fraction(root) ** 2 != value
    return f.round((Fraction(root) + Fraction(int(inexact), 2)) / Fraction(2) ** 700, mode)


def compare(f: Format, name: str, a: int, b: int) -> bool:
    """A comparison of PTX: `ltu` is true for NaN, `lt` is not."""
    if f.is_nan(a) or f.is_nan(b):
        return name in ("nan", "equ", "neu", "ltu", "leu", "gtu", "geu")
    if name in ("num", "nan"):
        return name == "num"
    x, y = key(f, a), key(f, b)
    tests = {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}
    return tests[name[:2]]


def key(f: Format, a: int) -> Fraction:
    """A number that orders like a (not NaN)."""
    if f.is_infinite(a):
        return Fraction(-1 if f.negative(a) else 1) * Fraction(2) ** 2000
    return f.value(a)


def extreme(f: Format, name: str, a: int, b: int, propagate: bool) -> int:
    """`min` or `max`: -0 is below +0, and one NaN loses unless `propagate`."""
    if f.is_nan(a) or f.is_nan(b):
        return f.nan if propagate or (f.is_nan(a) and f.is_nan(b)) else (b if f.is_nan(a) else a)
    ordered = sorted((a, b), key=lambda x: (key(f, x), not f.negative(x)))
    return ordered[name == "max"]


def saturate(f: Format, a: int) -> int:
    if f.is_nan(a) or f.negative(a):
        return 0
    return min(a, f.bias << f.fraction)


def convert(source: Format, target: Format, a: int, mode: str = "rn") -> int:
    if source.is_nan(a):
        return target.nan
    sign = target.sign_bit if source.negative(a) else 0
    if source.is_infinite(a):
        return sign | target.infinity
    return target.round(source.value(a), mode, bool(sign))


def to_integral(f: Format, a: int, mode: str) -> int:
    """Round a finite number to a whole number; `mode` is rni, rzi, rmi or rpi."""
    exact = f.value(a)
    floor = exact.numerator // exact.denominator
    rest = exact - floor
    if mode == "rni":
        return floor + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and floor % 2 == 1))
    if mode == "rzi":
        return floor + (rest > 0 and exact < 0)
    return floor + (mode == "rpi" and rest > 0)
