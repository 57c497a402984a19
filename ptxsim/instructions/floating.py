"""float32 and float64 arithmetic (PTX ISA: Floating Point Instructions).

float32 inputs of `.ftz` instructions arrive flushed; results are flushed here. Everything IEEE 754 decides is
rounded once and exactly; `.approx` results are rounded from float64, so a GPU's are close, not equal.
"""

from collections.abc import Callable

import numpy as np

from ..ptx.opcode import Opcode
from . import float64, rounding
from .forms import FLOATS, HALVES, form, last
from .half import halves, saturate
from .registry import Pure, pure
from .rounding import MODES, rounding_mode


def _finished(op: Opcode, compute: Callable, inputs: int) -> Pure:
    """`compute`, then .sat and .ftz where the opcode asks for them."""
    kind = last(op)
    for wanted, finish in (("sat", saturate), ("ftz", rounding.flush)):
        if op.has(wanted) and kind == "f32":
            compute = _after(compute, finish)
    return Pure(compute, (kind,) * inputs, (kind,))


def _after(compute: Callable, finish: Callable) -> Callable:
    return lambda *operands: finish(compute(*operands))


# --- add, subtract, multiply, multiply and add


@form("add", *FLOATS, modifiers=(*MODES, "sat", "ftz"))
def add(op: Opcode) -> Pure:
    return _finished(op, _rounded_sum(op, np.add, 1), 2)


@form("sub", *FLOATS, modifiers=(*MODES, "sat", "ftz"))
def sub(op: Opcode) -> Pure:
    return _finished(op, _rounded_sum(op, np.subtract, -1), 2)


def _rounded_sum(op: Opcode, nearest: Callable, sign: int) -> Callable:
    """a + b, or a - b for sign -1, in the opcode's rounding mode."""
    mode = rounding_mode(op.modifiers)
    if mode == "rn":
        return nearest
    compute = _in_mode(_f32_sum if last(op) == "f32" else _f64_sum, mode)
    return lambda a, b: compute(a, sign * b)


def _f32_sum(a: np.ndarray, b: np.ndarray, mode: str) -> np.ndarray:
    return rounding.narrow(rounding.odd_sum(a.astype(np.float64), b.astype(np.float64)), "f32", mode)


def _f64_sum(a: np.ndarray, b: np.ndarray, mode: str) -> np.ndarray:
    # the larger first: beside the largest float64 an intermediate sum would overflow
    swap = np.abs(a) < np.abs(b)
    return rounding.toward(*rounding.two_sum(np.where(swap, b, a), np.where(swap, a, b)), mode)


def _in_mode(compute: Callable, mode: str) -> Callable:
    """A sum (of the first operand or product, and the last operand) in a fixed mode.

    Rounding down is rounding up in a mirror. This also gives x + (-x) its sign, minus for `rm` alone.
    """
    if mode != "rm":
        return lambda *operands: compute(*operands, mode)
    return lambda first, *others: -compute(-first, *others[:-1], -others[-1], "rp")


@form("mul", *FLOATS, modifiers=(*MODES, "sat", "ftz"))
def mul(op: Opcode) -> Pure:
    return _finished(op, _rounded(op, np.multiply, float64.mul), 2)


def _rounded(op: Opcode, nearest: Callable, in_mode: Callable) -> Callable:
    """A product, a quotient or a root in the opcode's rounding mode; `in_mode` is for float64.

    Of float32 values, float64 holds a product exactly; a quotient or a root in float64 is never mistaken for a
    boundary between two float32.
    """
    mode = rounding_mode(op.modifiers)
    if mode == "rn":
        return nearest
    if last(op) == "f64":
        return lambda *operands: in_mode(*operands, mode)
    return lambda first, *others: rounding.narrow(nearest(first.astype(np.float64), *others), "f32", mode)


@form("fma", *FLOATS, modifiers=(*MODES, "sat", "ftz"))
def fma(op: Opcode) -> Pure:
    """a * b + c, rounded once."""
    mode = rounding_mode(op.modifiers)
    if mode != "rn":
        return _finished(op, _in_mode(_f32_fma if last(op) == "f32" else float64.fma_in_mode, mode), 3)
    if op.has("ftz") and not op.has("sat"):
        return Pure(rounding.fma32_ftz, ("f32",) * 3, ("f32",))
    return _finished(op, rounding.fma32 if last(op) == "f32" else float64.fma, 3)


form("mad", *FLOATS, modifiers=(*MODES, "sat", "ftz"))(fma)


def _f32_fma(a: np.ndarray, b: np.ndarray, c: np.ndarray, mode: str) -> np.ndarray:
    return rounding.narrow(rounding.fma32_odd(a, b, c), "f32", mode)


# --- divide and square root


@form("div", *FLOATS, modifiers=(*MODES, "full", "approx", "ftz"))
def div(op: Opcode) -> Pure:
    compute = _quotient(op)
    if op.has("approx"):
        return _finished(op, lambda a, b: np.where(_huge(b), _over_huge(a, b), compute(a, b)), 2)
    return _finished(op, compute, 2)


def _huge(b: np.ndarray) -> np.ndarray:
    return (np.abs(b) > np.float32(2.0**126)) & np.isfinite(b)


def _over_huge(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`div.approx.f32` gives 0 for divisors above 2^126, and NaN when the dividend is infinite."""
    return np.where(np.isfinite(a), np.copysign(np.float32(0), a) * np.sign(b), np.float32(np.nan))


@form("rcp", *FLOATS, modifiers=(*MODES, "approx", "ftz"))
def rcp(op: Opcode) -> Pure:
    """1 / x."""
    quotient = _quotient(op)
    return _finished(op, lambda x: quotient(np.ones_like(x), x), 1)


def _quotient(op: Opcode) -> Callable:
    return _rounded(op, np.divide, float64.div)


@form("sqrt", *FLOATS, modifiers=(*MODES, "approx", "ftz"))
def sqrt(op: Opcode) -> Pure:
    return _finished(op, _rounded(op, np.sqrt, float64.sqrt), 1)


# --- approximations


def _approximation(root: str, function: Callable, *types: str) -> None:
    """Register a function that is computed in float64 and rounded; a GPU's `.approx` differs in the last bits."""

    @form(root, *types, modifiers=("approx", "ftz"))
    def approximated(op: Opcode) -> Pure:
        return _finished(op, lambda x: function(x.astype(np.float64)).astype(x.dtype), 1)


_approximation("rsqrt", lambda x: 1.0 / np.sqrt(x), *FLOATS)
_approximation("ex2", np.exp2, "f32")
_approximation("lg2", np.log2, "f32")
_approximation("sin", np.sin, "f32")
_approximation("cos", np.cos, "f32")
_approximation("tanh", np.tanh, "f32")


# --- sign, minimum, maximum, of 16-bit floats as well


def _exact(op: Opcode, compute: Callable, inputs: int) -> Pure:
    """What needs no rounding, on any float."""
    return (halves if last(op) in HALVES else _finished)(op, compute, inputs)


@form("abs", *HALVES, *FLOATS, modifiers=("ftz",))
def abs_(op: Opcode) -> Pure:
    return _exact(op, np.abs, 1)


@form("neg", *HALVES, *FLOATS, modifiers=("ftz",))
def neg(op: Opcode) -> Pure:
    return _exact(op, np.negative, 1)


@form("min", *HALVES, *FLOATS, modifiers=("ftz", "NaN"))
def min_(op: Opcode) -> Pure:
    return _exact(op, _minimum(op), 2)


@form("max", *HALVES, *FLOATS, modifiers=("ftz", "NaN"))
def max_(op: Opcode) -> Pure:
    return _exact(op, _maximum(op), 2)


def _minimum(op: Opcode) -> Callable:
    """The smaller operand, -0 below +0. A NaN loses to a number, or with `.NaN` wins."""

    def compute(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        smaller = (a < b) | ((a == b) & np.signbit(a))
        return np.where(smaller | np.isnan(a if op.has("NaN") else b), a, b)

    return compute


def _maximum(op: Opcode) -> Callable:
    """The larger operand; see `_minimum`."""
    smaller = _minimum(op)
    return lambda a, b: -smaller(-a, -b)


@pure("copysign")
def copysign(op: Opcode) -> Pure:
    """The sign of a on the value of b."""
    op.only()
    return _finished(op, lambda a, b: np.copysign(b, a), 2)
