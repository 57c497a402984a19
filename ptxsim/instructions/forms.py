"""Builders by root *and* type: `add` is three instructions, one for integers, one for floats, one for halves.

Each lives with its kin (`integer.py`, `floating.py`, `half.py`) and is registered with
`@form("add", *TYPES)`. The first form of a root also registers the root itself, with a builder that looks at
the opcode's last type and calls the right form.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ..ptx.opcode import DTYPES, Opcode, UnsupportedInstruction
from .registry import Pure, pure

SIGNED = ("s16", "s32", "s64")
UNSIGNED = ("u16", "u32", "u64")
INTEGERS = SIGNED + UNSIGNED
LONG = ("u32", "u64", "s32", "s64")
BITS = ("b16", "b32", "b64")
FLOATS = ("f32", "f64")
HALVES = ("f16", "bf16", "f16x2", "bf16x2")

Builder = Callable[[Opcode], Pure]
FORMS: dict[str, dict[str, Builder]] = {}


def form(root: str, *types: str, modifiers: Sequence[str] | None = ()) -> Callable[[Builder], Builder]:
    """Register the builder of `root` for these types; several forms share one root. `modifiers`: those that it knows;
    None where it looks at them itself."""

    def register(build: Builder) -> Builder:
        def checked(op: Opcode) -> Pure:
            if modifiers is not None:
                op.only(*modifiers)
            return build(op)

        if root not in FORMS:
            FORMS[root] = {}
            pure(root)(lambda op: _find(FORMS[root], op)(op))
        FORMS[root].update(dict.fromkeys(types, checked))
        return build

    return register


def _find(forms: dict[str, Builder], op: Opcode) -> Builder:
    kind = op.types[-1] if op.types else "(none)"
    if kind not in forms:
        raise UnsupportedInstruction(f"{op.text}: type .{kind} is not simulated; known: {', '.join(forms)}")
    return forms[kind]


def last(op: Opcode) -> str:
    """The type that names the form: the last one written."""
    return op.types[-1]


def same(compute: Callable, kind: str, inputs: int) -> Pure:
    """An instruction whose operands and result all have type `kind`."""
    return Pure(compute, (kind,) * inputs, (kind,))


def alike(compute: Callable, inputs: int) -> Builder:
    """The builder of an instruction that is one function, whatever the type that its operands and its result have."""
    return lambda op: same(compute, last(op), inputs)


def is_signed(kind: str) -> bool:
    return DTYPES[kind].kind == "i"


def width(kind: str) -> int:
    """Bits of a type: 32 for "s32"."""
    return DTYPES[kind].itemsize * 8


def wider(kind: str) -> str:
    """The integer type of twice the width and the same signedness: "s32" gives "s64"."""
    return f"{kind[0]}{width(kind) * 2}"


def as_type(x: np.ndarray, kind: str) -> np.ndarray:
    """Convert to a PTX type's dtype; integers wrap, as registers do."""
    return x.astype(DTYPES[kind], copy=False)
