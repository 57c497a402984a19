"""A PTX opcode and the types it names; and what of PTX is not simulated, by name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

import numpy as np

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


TWO_WORDS = ("bar.warp", "st.async", "red.async", "wmma.load", "wmma.store", "wmma.mma")
"""Instructions that share the first word of their names with others."""

NOT_SIMULATED = {
    "textures and surfaces": ("tex", "tld4", "txq", "istypep", "suld", "sust", "sured", "suq"),
    "tensor maps made or changed by a kernel": ("tensormap",),
    "cluster launch control": ("clusterlaunchcontrol",),
    "the tensor cores of Blackwell (tcgen05)": ("tcgen05",),
    "instructions for debuggers": ("brkpt", "pmevent"),
}
"""What a GPU has and the simulator has not, and how its instructions and special registers begin."""


@lru_cache(maxsize=1 << 14)
def not_simulated(name: str) -> str:
    """In words: why an instruction or a special register of this name is not simulated; "" if it may be."""
    known = (
        f"{what} cannot be simulated" for what, starts in NOT_SIMULATED.items() if name.startswith(starts)
    )
    return next(known, "")


class UnsupportedInstruction(Exception):
    """The simulator does not know this instruction, or not this form of it."""


@dataclass(frozen=True)
class Opcode:
    """A PTX opcode such as `mad.lo.s32`, split at its dots."""

    text: str

    @cached_property
    def root(self) -> str:
        two = next((name for name in TWO_WORDS if self.text.startswith(f"{name}.")), None)
        return two or self.text.split(".", 1)[0]

    @cached_property
    def modifiers(self) -> tuple[str, ...]:
        return tuple(self.text.split(".")[1:])

    @cached_property
    def types(self) -> tuple[str, ...]:
        """Type modifiers in the order written: `cvt.rn.f16.f32` gives ("f16", "f32")."""
        return tuple(m for m in self.modifiers if m in DTYPES)

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
