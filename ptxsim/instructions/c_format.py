"""The text that C's printf makes of a format and its values (C standard, fprintf), as far as CUDA has it.

CUDA C++ Programming Guide, Format Specifiers: flags `-+ #0`, width a number or `*`, precision a number, sizes h, l, ll
(here hh and z too), types `diouxXeEfFgGaAcsp`. What is not a conversion is printed as it stands, as a GPU does.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

_CONVERSION = re.compile(r"%%|%([-+ #0]*)(\*|\d{1,9})?(?:\.(\d{0,9}))?(hh|h|ll|l|z)?([diouxXeEfFgGaAcsp])")

WIDEST = 999  # characters that a width or a precision may ask for

_INTEGER_BYTES = {"hh": 1, "h": 2, "": 4, "l": 8, "ll": 8, "z": 8}


@dataclass(frozen=True)
class Conversion:
    """One conversion of a format, such as `%-5.2f`. A width of None is given by an argument (`*`)."""

    flags: str
    width: int | None
    precision: int | None
    size: str
    kind: str

    @property
    def arguments(self) -> int:
        return 2 if self.width is None else 1

    @property
    def bytes(self) -> int:
        """What the argument takes in memory: C passes float as double, and char and short as int."""
        return 8 if self.kind in "eEfFgGaAsp" else max(4, _INTEGER_BYTES[self.size])

    @property
    def dtype(self) -> str:
        """NumPy dtype of the argument's low bytes, those that count."""
        if self.kind in "eEfFgGaA":
            return "f8"
        if self.kind in "sp":
            return "u8"
        if self.kind == "c":
            return "u1"
        return ("i" if self.kind in "di" else "u") + str(_INTEGER_BYTES[self.size])

    def text(self, value: int | float | str, width: int = 0) -> str:
        """The value as text; `width` is the argument that `*` stands for."""
        left = "-" in self.flags or width < 0
        prefix, body, zeros = _FORMATTED[self.kind](self, value)
        width = min(abs(width) if self.width is None else self.width, WIDEST)
        if left:
            return (prefix + body).ljust(width)
        return prefix + body.zfill(width - len(prefix)) if zeros else (prefix + body).rjust(width)


@lru_cache(maxsize=256)
def pieces(text: str) -> tuple[str | Conversion, ...]:
    """A format cut into plain text and conversions."""
    found: list[str | Conversion] = []
    at = 0
    for match in _CONVERSION.finditer(text):
        found += [text[at : match.start()], "%" if match[0] == "%%" else _conversion(match)]
        at = match.end()
    return (*found, text[at:])


def arguments(text: str) -> int:
    """How many arguments a format takes."""
    return sum(piece.arguments for piece in pieces(text) if isinstance(piece, Conversion))


def _conversion(match: re.Match) -> Conversion:
    flags, width, precision, size, kind = match.groups()
    wide = None if width == "*" else int(width or 0)
    exact = None if precision is None else min(int(precision or 0), WIDEST)
    return Conversion(flags, wide, exact, size or "", kind)


# --- one value: its sign or prefix, its digits, and whether zeros may stand between them


def _integer(c: Conversion, value: int) -> tuple[str, str, bool]:
    base = {"o": "o", "x": "x", "X": "X"}.get(c.kind, "d")
    digits = "" if value == c.precision == 0 else format(abs(value), base)
    digits = digits.rjust(c.precision or 0, "0")
    prefix = _sign(c, value < 0) if c.kind in "di" else ""
    if "#" in c.flags and c.kind == "o" and digits[:1] != "0":
        digits = "0" + digits
    elif "#" in c.flags and c.kind in "xX" and value:
        prefix = "0" + c.kind
    return prefix, digits, "0" in c.flags and c.precision is None


def _float(c: Conversion, value: float) -> tuple[str, str, bool]:
    """The sign of a NaN is left out: its bits are not those of a GPU."""
    sign = _sign(c, math.copysign(1, value) < 0 and not math.isnan(value))
    if not math.isfinite(value):
        name = "nan" if math.isnan(value) else "inf"
        return sign, name.upper() if c.kind.isupper() else name, False
    if c.kind in "aA":
        return _hexadecimal(c, sign, abs(value))
    precision = "" if c.precision is None else f".{c.precision}"
    point = "#" if "#" in c.flags else ""
    return sign, f"%{point}{precision}{c.kind}" % abs(value), "0" in c.flags


def _sign(c: Conversion, negative: bool) -> str:
    return "-" if negative else "+" if "+" in c.flags else " " if " " in c.flags else ""


def _hexadecimal(c: Conversion, sign: str, value: float) -> tuple[str, str, bool]:
    """Python's `float.hex` with trailing zeros cut, or rounded to the precision (ties to even)."""
    mantissa, exponent = value.hex()[2:].split("p")
    whole, _, fraction = mantissa.partition(".")
    if c.precision is None:
        fraction = fraction.rstrip("0")
    else:
        places = 4 * len(fraction)
        digits = Fraction(int(whole + fraction, 16), 2**places) * 16**c.precision
        text = format(round(digits), f"0{c.precision + 1}x")
        whole, fraction = text[: len(text) - c.precision], text[len(text) - c.precision :]
    point = "." if fraction or "#" in c.flags else ""
    body = f"{whole}{point}{fraction}p{exponent}"
    prefix, body = (sign + "0X", body.upper()) if c.kind == "A" else (sign + "0x", body)
    return prefix, body, "0" in c.flags


def _string(c: Conversion, value: str) -> tuple[str, str, bool]:
    return "", value[: c.precision], False


def _character(c: Conversion, value: int) -> tuple[str, str, bool]:
    return "", chr(value), False


def _pointer(c: Conversion, value: int) -> tuple[str, str, bool]:
    return "", f"{value:#x}" if value else "(nil)", False


_FORMATTED: dict[str, Callable[[Conversion, Any], tuple[str, str, bool]]] = {
    **dict.fromkeys("diouxX", _integer),
    **dict.fromkeys("eEfFgGaA", _float),
    "s": _string,
    "c": _character,
    "p": _pointer,
}
