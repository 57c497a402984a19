"""The table of PTX instructions: a function registers itself under the instruction's root name.

Two kinds exist. A *pure* instruction maps lanes to lanes (`add`, `cvt`, `setp`): its builder gets the parsed
opcode once, at decode time, and returns a `Pure` whose `compute` works on NumPy arrays. A *machine*
instruction touches memory or other lanes (`ld`, `shfl`): its builder gets the decoder and the whole instruction
and returns a step that the machine calls. A *control* instruction (`bra`, `bar`, `ret`) ends a basic block and
says where its lanes go on.
"""

from __future__ import annotations

from collections.abc import Callable
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
        "pred": "?",
    }.items()
}
"""NumPy dtype of each PTX type; packed and bfloat16 values travel as plain bits."""


TWO_WORDS = ("bar.warp", "st.async", "red.async", "wmma.load", "wmma.store", "wmma.mma")
"""Instructions that share the first word of their names with others."""

NOT_SIMULATED = {
    "textures and surfaces": ("tex", "tld4", "txq", "istypep", "suld", "sust", "sured", "suq"),
    "tensor maps made or changed by a kernel": ("tensormap",),
    "cluster launch control": ("clusterlaunchcontrol",),
    "griddepcontrol, by which kernels overlap,": ("griddepcontrol",),
    "grid.sync() of cooperative groups": ("%envreg",),
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


@dataclass(frozen=True)
class Pure:
    """Lanes in, lanes out. `compute(*inputs)` returns one array, or a tuple with one array per output.

    With `reads_carry` the carry flag comes as an extra last argument (bool array); with `writes_carry`
    it is returned as an extra last output.
    """

    compute: Callable[..., np.ndarray | tuple[np.ndarray, ...]]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    reads_carry: bool = False
    writes_carry: bool = False


PURE: dict[str, Callable[[Opcode], Pure]] = {}
MACHINE: dict[str, Callable] = {}
CONTROL: dict[str, Callable] = {}
GATHERS: dict[str, Callable] = {}
"""For instructions before which lanes wait for others of their warp: (decoder, instruction) to a function of the
machine that gives each active lane's mask of those; None where this form of the instruction does not wait."""
WORK: dict[str, float] = {}
"""How many times the work of a plain instruction one takes (see work.py); what is not here takes 1."""


def work_of_one(opcode: Opcode) -> float:
    """The work of one instruction; what no NumPy operation computes in float64 takes many."""
    if "f64" in opcode.types:
        return 24.0 if opcode.root == "fma" else 4.0
    return WORK.get(opcode.root, 1.0)


def pure(root: str) -> Callable:
    """Register the builder of a pure instruction under its root name."""

    def register(build: Callable[[Opcode], Pure]) -> Callable[[Opcode], Pure]:
        PURE[root] = build
        return build

    return register


def machine(root: str, *, gathers: Callable | None = None, work: float = 1.0) -> Callable:
    """Register the builder of an instruction that needs the machine under its root name.

    `gathers`: the lanes of a warp wait for each other before it (`shfl.sync`); see GATHERS. `work`: see WORK.
    """

    def register(build: Callable) -> Callable:
        MACHINE[root] = build
        _about(root, gathers, work)
        return build

    return register


def control(root: str, *, gathers: Callable | None = None, work: float = 1.0) -> Callable:
    """Register the builder of an instruction that ends a basic block."""

    def register(build: Callable) -> Callable:
        CONTROL[root] = build
        _about(root, gathers, work)
        return build

    return register


def _about(root: str, gathers: Callable | None, work: float) -> None:
    if gathers:
        GATHERS[root] = gathers
    if work != 1.0:
        WORK[root] = work


WHOLE_WARP = np.array([0xFFFFFFFF], np.uint32)


def whole_warp(d, instruction) -> Callable:
    """All lanes of the warp: what an `.aligned` instruction waits for."""
    return lambda m: WHOLE_WARP


OF_WARPGROUP = 1 << 32
"""In a mask: the lanes wait for the three other warps of their warpgroup as well."""
WHOLE_WARPGROUP = np.array([OF_WARPGROUP | 0xFFFFFFFF], np.uint64)


def whole_warpgroup(d, instruction) -> Callable:
    """All lanes of the four warps: what a wgmma waits for. It is one operation of the warpgroup (PTX ISA, "wgmma"), so
    none of its warps has waited for its end before another one has issued it."""
    return lambda m: WHOLE_WARPGROUP


def last_operand(d, instruction) -> Callable:
    """The lanes that the last operand names: the membermask of a `.sync` instruction."""
    return d.source(instruction.operands[-1], "b32")
