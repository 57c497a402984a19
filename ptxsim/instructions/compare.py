"""Comparison and selection (PTX ISA: set, setp, selp, slct, testp).

`setp` has two outputs, p and its complement q, because a program may write `setp.lt.s32 p|q, a, b`; packed
halves give the two comparisons instead. An instruction with one destination uses the first.
"""

from collections.abc import Callable

import numpy as np

from ..ptx.opcode import DTYPES, Opcode, UnsupportedInstruction
from .forms import BITS, FLOATS, HALVES, INTEGERS, form, last
from .half import join, pack_halves, split
from .registry import Pure, pure


def _ordered_not_equal(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a < b) | (a > b)


def _is_number(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return ~(np.isnan(a) | np.isnan(b))


def _opposite(compare: Callable) -> Callable:
    return lambda a, b: ~compare(a, b)


ORDERED: dict[str, Callable] = {
    "eq": np.equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
INTEGER_COMPARISONS: dict[str, Callable] = {
    **ORDERED,
    "ne": np.not_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}
FLOAT_COMPARISONS: dict[str, Callable] = {
    **ORDERED,
    "ne": _ordered_not_equal,
    "equ": _opposite(_ordered_not_equal),
    "neu": np.not_equal,
    "ltu": _opposite(np.greater_equal),
    "leu": _opposite(np.greater),
    "gtu": _opposite(np.less_equal),
    "geu": _opposite(np.less),
    "num": _is_number,
    "nan": _opposite(_is_number),
}
"""Comparisons of floats are false when an operand is NaN; those ending in u ("unordered") are true then."""

COMBINE = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def _comparison(op: Opcode, kind: str) -> Callable:
    known = INTEGER_COMPARISONS if kind in (*INTEGERS, *BITS) else FLOAT_COMPARISONS
    op.only(*known, *COMBINE, "ftz")
    for modifier in op.modifiers:
        if modifier in known:
            return known[modifier]
    raise UnsupportedInstruction(f"{op.text}: no comparison named; known: {', '.join(known)}")


def _combination(op: Opcode) -> Callable | None:
    return next((COMBINE[m] for m in op.modifiers if m in COMBINE), None)


# --- setp: compare into predicates


@form("setp", *INTEGERS, *BITS, *FLOATS, modifiers=None)
def setp(op: Opcode) -> Pure:
    """p = a ? b, and q = not p; with .and, .or or .xor each is combined with a third operand."""
    kind = last(op)
    compare, combine = _comparison(op, kind), _combination(op)
    if combine is None:
        return Pure(lambda a, b: _with_complement(compare(a, b)), (kind, kind), ("pred", "pred"))

    def compute(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, ...]:
        p, q = _with_complement(compare(a, b))
        return combine(p, c), combine(q, c)

    return Pure(compute, (kind, kind, "pred"), ("pred", "pred"))


def _with_complement(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return p, ~p


@form("setp", *HALVES, modifiers=None)
def setp_half(op: Opcode) -> Pure:
    """Compare 16-bit floats; packed ones give the low result, then the high one."""
    kind = last(op)
    compare, combine = _comparison(op, kind), _combination(op)

    def compute(a: np.ndarray, b: np.ndarray, c: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
        results = [compare(x, y) for x, y in zip(split(a, kind), split(b, kind), strict=True)]
        p, q = results if len(results) == 2 else _with_complement(results[0])
        return (p, q) if combine is None else (combine(p, c), combine(q, c))

    return Pure(compute, (kind, kind) if combine is None else (kind, kind, "pred"), ("pred", "pred"))


# --- set: compare into a register


@form("set", *INTEGERS, *BITS, *FLOATS, *HALVES, modifiers=None)
def set_(op: Opcode) -> Pure:
    """Like setp, but true is written as 1.0 in a float type, as all ones in an integer type."""
    output, kind = op.types
    compare, combine = _comparison(op, kind), _combination(op)

    def compute(a: np.ndarray, b: np.ndarray, c: np.ndarray | None = None) -> np.ndarray:
        results = [compare(x, y) for x, y in zip(_values(a, kind), _values(b, kind), strict=True)]
        return _truth(results if combine is None else [combine(r, c) for r in results], output)

    return Pure(compute, (kind, kind) if combine is None else (kind, kind, "pred"), (output,))


def _values(x: np.ndarray, kind: str) -> list[np.ndarray]:
    return split(x, kind) if kind in HALVES else [x]


def _truth(results: list[np.ndarray], output: str) -> np.ndarray:
    """Booleans as 1.0 or as all ones; two of them share a 32-bit register."""
    if output in HALVES:
        return join([r.astype(np.float64) for r in results], output)
    if len(results) == 2:
        return pack_halves(*(-r.astype(np.uint16) for r in results)).view(DTYPES[output])
    return results[0].astype(DTYPES[output]) if output == "f32" else -results[0].astype(DTYPES[output])


# --- selection


@form("selp", *INTEGERS, *BITS, *FLOATS)
def selp(op: Opcode) -> Pure:
    """a where the predicate holds, else b."""
    kind = last(op)
    return Pure(lambda a, b, p: np.where(p, a, b), (kind, kind, "pred"), (kind,))


@form("slct", "s32", "f32", modifiers=("ftz",))
def slct(op: Opcode) -> Pure:
    """a where c >= 0, else b (NaN picks b)."""
    kind, condition = op.types
    return Pure(lambda a, b, c: np.where(c >= 0, a, b), (kind, kind, condition), (kind,))


@pure("testp")
def testp(op: Opcode) -> Pure:
    """Ask what kind of float a value is."""
    kind = last(op)
    smallest = np.finfo(DTYPES[kind]).smallest_normal
    tests: dict[str, Callable] = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda a: ~np.isnan(a),
        "notanumber": np.isnan,
        "normal": lambda a: np.isfinite(a) & ((np.abs(a) >= smallest) | (a == 0)),  # zero counts as normal
        "subnormal": lambda a: (np.abs(a) < smallest) & (a != 0),
    }
    op.only(*tests)
    return Pure(tests[op.modifiers[0]], (kind,), ("pred",))
