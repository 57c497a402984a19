"""The table of PTX instructions: a function registers itself under the instruction's root name.

Three kinds exist. A *pure* instruction maps lanes to lanes (`add`, `cvt`, `setp`): its builder gets the parsed
opcode once, at decode time, and returns a `Pure` whose `compute` works on NumPy arrays. A *machine*
instruction touches memory or other lanes (`ld`, `shfl`): its builder gets the decoder and the whole instruction
and returns a step that the machine calls. A *control* instruction (`bra`, `bar`, `ret`) ends a basic block and
says where its lanes go on. What others ask of an instruction stands in ptx/facts.py, under the same name.
"""

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


def pure(root: str) -> Callable:
    """Register the builder of a pure instruction under its root name."""
    return _register(PURE, root)


def on_machine(root: str) -> Callable:
    """Register the builder of an instruction that needs the machine under its root name."""
    return _register(MACHINE, root)


def control(root: str) -> Callable:
    """Register the builder of an instruction that ends a basic block."""
    return _register(CONTROL, root)


def _register(table: dict[str, Callable], root: str) -> Callable:
    def register(build: Callable) -> Callable:
        table[root] = build
        return build

    return register


OF_WARPGROUP = 1 << 32
"""In a mask: the lanes wait for the three other warps of their warpgroup as well."""
WHOLE_WARP = np.array([0xFFFFFFFF], np.uint32)
WHOLE_WARPGROUP = np.array([OF_WARPGROUP | 0xFFFFFFFF], np.uint64)
"""What a wgmma waits for: it is one operation of the warpgroup (PTX ISA, "wgmma"), so none of its warps has waited for
its end before another one has issued it."""


def gathering(decoder: Operands, instruction: Instruction) -> Callable | None:
    """For an instruction before which lanes wait for others of their warp a function of the machine: each active lane's
    mask of those."""
    opcode = instruction.opcode
    match opcode.facts.waits_for:
        case "mask":
            return decoder.source(instruction.operands[-1], "b32")
        case "warpgroup":
            return lambda machine: WHOLE_WARPGROUP
        case "warp":
            return lambda machine: WHOLE_WARP
        case "aligned" if opcode.has("aligned"):
            return lambda machine: WHOLE_WARP
    return None


def takes_mask(instruction: Instruction) -> bool:
    """Whether it waits for the lanes of a mask that the program gives: its last operand."""
    return instruction.opcode.root == "bar.warp" or instruction.opcode.facts.waits_for == "mask"
