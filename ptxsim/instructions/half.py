"""16-bit floats (PTX ISA: Half Precision Floating Point Instructions): f16, bf16, and pairs of them.

A formula works on float64 values: exact or rounded to odd, so that the one rounding to 16 bits is right.
Sign, minimum and maximum are in floating.py, with those of the wider floats.
"""

from collections.abc import Callable

import numpy as np

from ..ptx.opcode import Opcode
from . import rounding
from .forms import HALVES, form, last
from .registry import Pure

SMALLEST_F16 = 2.0**-14
"""The smallest normal float16."""


def element(kind: str) -> str:
    """The type of one element: "bf16x2" gives "bf16"."""
    return kind.removesuffix("x2")


def split(x: np.ndarray, kind: str) -> list[np.ndarray]:
    """float64 values of a half register: one array, or two for packed types, the low half first."""
    if kind.endswith("x2"):
        parts = [(x >> shift).astype(np.uint16) for shift in (0, 16)]
        return [value for part in parts for value in split(_as_half(part, kind), element(kind))]
    return [(rounding.bf16_value(x) if kind == "bf16" else x).astype(np.float64)]


def _as_half(bits: np.ndarray, kind: str) -> np.ndarray:
    return bits if kind == "bf16x2" else bits.view(np.float16)


def join(values: list[np.ndarray], kind: str, mode: str = "rn") -> np.ndarray:
    """The inverse of `split`: round float64 values once and put them into a register of type `kind`."""
    parts = [rounding.narrow(value, element(kind), mode) for value in values]
    return pack_halves(*parts) if kind.endswith("x2") else parts[0]


def pack_halves(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Two 16-bit arrays of any kind in one uint32 array."""
    return low.view(np.uint16).astype(np.uint32) | high.view(np.uint16).astype(np.uint32) << 16


def halves(op: Opcode, formula: Callable, inputs: int) -> Pure:
    """An instruction that applies `formula` to every half, then .relu or .sat, then rounds."""
    kind = last(op)
    before = _flush if op.has("ftz") else lambda x: x
    after = clamp_of(op)

    def compute(*operands: np.ndarray) -> np.ndarray:
        columns = zip(*([before(half) for half in split(x, kind)] for x in operands), strict=True)
        result = join([after(formula(*column)) for column in columns], kind)
        return join([_flush(half) for half in split(result, kind)], kind) if op.has("ftz") else result

    return Pure(compute, (kind,) * inputs, (kind,))


def _flush(x: np.ndarray) -> np.ndarray:
    return np.where(np.abs(x) < SMALLEST_F16, np.copysign(0.0, x), x)


def clamp_of(op: Opcode) -> Callable[[np.ndarray], np.ndarray]:
    """What happens to a result before it is written: .sat, .relu or nothing."""
    if op.has("sat"):
        return saturate
    if op.has("relu"):
        return relu
    return lambda x: x


def saturate(x: np.ndarray) -> np.ndarray:
    """Clamp to [0, 1]; NaN becomes 0."""
    return np.where(x > 0, np.minimum(x, x.dtype.type(1)), x.dtype.type(0))


def relu(x: np.ndarray) -> np.ndarray:
    """Negative numbers become 0; NaN stays."""
    return np.where((x > 0) | np.isnan(x), x, x.dtype.type(0))


@form("add", *HALVES, modifiers=("rn", "sat", "ftz"))
def add(op: Opcode) -> Pure:
    return halves(op, _sum(op), 2)


@form("sub", *HALVES, modifiers=("rn", "sat", "ftz"))
def sub(op: Opcode) -> Pure:
    plus = _sum(op)
    return halves(op, lambda a, b: plus(a, -b), 2)


@form("mul", *HALVES, modifiers=("rn", "sat", "ftz"))
def mul(op: Opcode) -> Pure:
    return halves(op, np.multiply, 2)


@form("fma", *HALVES, modifiers=("rn", "sat", "ftz", "relu"))
def fma(op: Opcode) -> Pure:
    plus = _sum(op)
    return halves(op, lambda a, b, c: plus(a * b, c), 3)


def _sum(op: Opcode) -> Callable:
    """A float64 sum that may be rounded again.

    With float16 the plain sum will do: it is exact, or one operand decides alone, because float64 is wider
    than the range of float16. Values of bfloat16 lie further apart.
    """
    return np.add if element(last(op)) == "f16" else rounding.odd_sum


@form("ex2", *HALVES, modifiers=("approx", "ftz"))
def ex2(op: Opcode) -> Pure:
    """2 to the power of x, approximated on a GPU and therefore only close to its result."""
    return halves(op, np.exp2, 1)


@form("tanh", *HALVES, modifiers=("approx",))
def tanh(op: Opcode) -> Pure:
    """Hyperbolic tangent, approximated on a GPU."""
    return halves(op, np.tanh, 1)
