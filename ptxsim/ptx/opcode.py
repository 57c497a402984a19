"""A PTX opcode and the types it names."""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from .facts import Facts, facts_of, root_of

DTYPES: dict[str, np.dtype] = {
    name: np.dtype(kind)
    for name, kind in {
        **{f"s{bits}": f"i{bits // 8}" for bits in (8, 16, 32, 64)},
        **{f"{letter}{bits}": f"u{bits // 8}" for letter in "ub" for bits in (8, 16, 32, 64)},
        "f16": "f2",
        "f32": "f4",
        "f64": "f8",
        "bf16": "u2",
        "f16x2": "u4",
        "bf16x2": "u4",
        "u16x2": "u4",
        "s16x2": "u4",
        "e4m3x2": "u2",
        "e5m2x2": "u2",
        "b128": "c16",
        "pred": "?",
    }.items()
}
"""NumPy dtype of each PTX type; packed and bfloat16 values, and those of 16 bytes, travel as plain bits."""


class UnsupportedInstruction(Exception):
    """The simulator does not know this instruction, or not this form of it."""


@dataclass(frozen=True)
class Opcode:
    """A PTX opcode such as `mad.lo.s32`, split at its dots."""

    text: str

    @cached_property
    def root(self) -> str:
        return root_of(self.text)

    @cached_property
    def facts(self) -> Facts:
        return facts_of(self.root)

    @cached_property
    def modifiers(self) -> tuple[str, ...]:
        return tuple(self.text.split(".")[1:])

    @cached_property
    def types(self) -> tuple[str, ...]:
        """Type modifiers in the order written: `cvt.rn.f16.f32` gives ("f16", "f32")."""
        return tuple(m for m in self.modifiers if m in DTYPES)

    @property
    def work(self) -> float:
        """How many times the work of a plain instruction it takes here (work.py)."""
        return self.facts.work_f64 if "f64" in self.types else self.facts.work

    def has(self, modifier: str) -> bool:
        return modifier in self.modifiers

    def only(self, *allowed: str) -> None:
        """Raise UnsupportedInstruction when a modifier is neither a type nor one of `allowed`."""
        for modifier in self.modifiers:
            if modifier not in DTYPES and modifier not in allowed:
                raise UnsupportedInstruction(f"{self.text}: '.{modifier}' is not simulated")


@cache
def opcode_of(text: str) -> Opcode:
    """One object for each text: a program repeats the same few."""
    return Opcode(text)
