"""The table of PTX instructions: a function registers itself under the instruction's root name.

Three kinds exist. A *pure* instruction maps lanes to lanes (`add`, `cvt`, `setp`): its builder gets the parsed
opcode once, at decode time, and returns a `Pure` whose `compute` works on NumPy arrays. A *machine*
instruction touches memory or other lanes (`ld`, `shfl`): its builder gets the decoder and the whole instruction
and returns a step that the machine calls. A *control* instruction (`bra`, `bar`, `ret`) ends a basic block and
says where its lanes go on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..lanes import Decoded
from ..ptx.opcode import Opcode
from ..ptx.program import Instruction


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


class Operands(Protocol):
    """The decoder of one instruction (`Decoder`, machine/decode.py): operands to functions that read and write them."""

    pc: int

    @property
    def code(self) -> Decoded: ...

    def source(self, operand: object, kind: str, flushed: bool = False) -> Callable[..., np.ndarray]:
        """A function (machine) that reads the active lanes' values of this type of PTX: (active lanes,), or (1,) if all
        have one. `flushed`: float32 subnormals as zero."""

    def target(self, operand: object) -> Callable[..., None]:
        """A function (machine, values) that gives the active lanes a value; `_` and None swallow it."""

    def constant(self, operand: object, dtype: np.dtype) -> np.ndarray | None:
        """The value, (1,), of an immediate or of a variable's address; None for anything else."""


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


def on_machine(root: str, *, gathers: Callable | None = None, work: float = 1.0) -> Callable:
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


def whole_warp(decoder: Operands, instruction) -> Callable:
    """All lanes of the warp: what an `.aligned` instruction waits for."""
    return lambda machine: WHOLE_WARP


OF_WARPGROUP = 1 << 32
"""In a mask: the lanes wait for the three other warps of their warpgroup as well."""
WHOLE_WARPGROUP = np.array([OF_WARPGROUP | 0xFFFFFFFF], np.uint64)


def whole_warpgroup(decoder: Operands, instruction) -> Callable:
    """All lanes of the four warps: what a wgmma waits for. It is one operation of the warpgroup (PTX ISA, "wgmma"), so
    none of its warps has waited for its end before another one has issued it."""
    return lambda machine: WHOLE_WARPGROUP


def takes_mask(instruction: Instruction) -> bool:
    """Whether it waits for the lanes of a mask that the program gives: its last operand."""
    root = instruction.opcode.root
    return root == "bar.warp" or GATHERS.get(root) is last_operand


def last_operand(decoder: Operands, instruction) -> Callable:
    """The lanes that the last operand names: the membermask of a `.sync` instruction."""
    return decoder.source(instruction.operands[-1], "b32")
