"""wmma: products of a warp by fragments, of which a program must not know who holds what (PTX ISA, "Matrix
multiply-accumulate operation using wmma instructions").

Here a lane holds elements of a matrix that follow each other, row by row, the next lane the next ones. Where fragments
have more room than the matrix, it begins again.

Where a matrix may lie has two rules. PTX ("Matrix Storage for WMMA"): each row (column) begins at a multiple of the
bytes that a fragment has. The CUDA C++ Programming Guide ("Warp Matrix Functions"): a multiple of 32 bytes for the
pointer, and rows that are a multiple of 8 halfs, or 4 floats, apart. What breaks both is reported: a pointer that is no
multiple of the fragment, and rows that are no multiple of 16 bytes apart.
"""

import re
from collections.abc import Callable, Iterator

import numpy as np

from ..gpus import WARP
from ..ground.memory import UNIT, Miss
from ..lanes import Lanes, Registers
from ..ptx.opcode import Opcode, UnsupportedInstruction
from ..ptx.program import Instruction, Vector
from ..races.shadow import Act
from ..units.access import Access, Memories, read, write
from .elements import rounded, values
from .memory import address_reader, space_of
from .registry import Operands, on_machine
from .tensor import whole_warps

ROW = 16
"""What the bytes from one row to the next are a multiple of, for the types of which the guide says it."""
SAID = ("f16", "bf16", "tf32", "f32")
SIZES = {"f16": 2, "bf16": 2, "tf32": 4, "f32": 4, "f64": 8, "s8": 1, "u8": 1, "s32": 4}
"""Bytes of an element."""


@on_machine("wmma.load")
def load(decoder: Operands, ins: Instruction) -> Callable:
    """wmma.load.{a,b,c}.sync.aligned.{row,col}.shape{.space}.type  fragment, [p]{, stride}."""
    fragment = _Fragment(ins.opcode, ins.opcode.modifiers[1], ins.operands[0])
    array = decoder.code.shared_arrays.get(decoder.pc)
    access = Access(decoder.pc, space_of(ins.opcode), fragment.size, Act(True, False), array=array)
    places = _places(decoder, ins, fragment, 1)
    puts = [decoder.target(item) for item in ins.operands[0].items]

    def step(machine: Memories) -> None:
        elements = np.stack([read(machine, access, addresses) for addresses in places(machine)], axis=1)
        registers = elements.view(UNIT[fragment.register])
        for i, put in enumerate(puts):
            put(machine, np.ascontiguousarray(registers[:, i]))

    return step


@on_machine("wmma.store")
def store(decoder: Operands, ins: Instruction) -> Callable:
    """wmma.store.d.sync.aligned.{row,col}.shape{.space}.type  [p], fragment{, stride}."""
    fragment = _Fragment(ins.opcode, "d", ins.operands[1])
    array = decoder.code.shared_arrays.get(decoder.pc)
    access = Access(decoder.pc, space_of(ins.opcode), fragment.size, Act(False, True), array=array)
    places = _places(decoder, ins, fragment, 0)
    gets = [decoder.source(item, f"u{8 * fragment.register}") for item in ins.operands[1].items]

    def step(machine: Memories) -> None:
        elements = fragment.elements(machine, gets)
        for i, addresses in enumerate(places(machine)):
            write(machine, access, addresses, np.ascontiguousarray(elements[:, i]))

    return step


@on_machine("wmma.mma")
def mma(decoder: Operands, ins: Instruction) -> Callable:
    """wmma.mma.sync.aligned.alayout.blayout.shape.dtype{.atype.btype}.ctype{.satfinite}  d, a, b, c: D = A B + C."""
    kinds = [m for m in ins.opcode.modifiers if m in SIZES]
    to, a, b, c = kinds if len(kinds) == 4 else (*kinds[:1], "f16", "f16", *kinds[1:])
    target = _Fragment(ins.opcode, "d", ins.operands[0], to)
    puts = [decoder.target(item) for item in ins.operands[0].items]
    A, B, C = (
        _matrices(decoder, _Fragment(ins.opcode, name, operand, kind), operand)
        for name, operand, kind in zip("abc", ins.operands[1:], (a, b, c), strict=True)
    )
    clips = ins.opcode.has("satfinite")

    def step(machine: Registers) -> None:
        sums = rounded(np.matmul(A(machine), B(machine)) + C(machine), to, clips)
        registers = sums.reshape(machine.count(), -1).view(UNIT[target.register])
        for i, put in enumerate(puts):
            put(machine, np.ascontiguousarray(registers[:, i]))

    return step


class _Fragment:
    """Of an operand (a, b, c or d): its rows and columns, the bytes of an element and of a register, and how many
    elements a lane holds."""

    def __init__(self, opcode: Opcode, name: str, operand: Vector, kind: str | None = None) -> None:
        shape = re.search(r"\.m(\d+)n(\d+)k(\d+)\.", opcode.text)
        kind = kind or opcode.modifiers[-1]
        if not shape or kind not in SIZES:
            raise UnsupportedInstruction(
                "wmma is simulated for f16, bf16, tf32, f64, s8 and u8 inputs, not for those of fewer bits"
            )
        rows, columns, depth = map(int, shape.groups())
        self.kind, self.size = kind, SIZES[kind]
        self.rows, self.columns = {"a": (rows, depth), "b": (depth, columns)}.get(name, (rows, columns))
        self.register = max(self.size, 4)
        self.bytes = len(operand.items) * self.register  # of a lane
        self.each = len(operand.items) * self.register // self.size

    def elements(self, machine: Lanes, gets: list[Callable]) -> np.ndarray:
        """What the registers hold: (lanes, elements), as bits."""
        registers = np.stack([machine.spread(get(machine)) for get in gets], axis=1)
        return registers.view(UNIT[self.size])


def _places(decoder: Operands, ins: Instruction, fragment: _Fragment, at: int) -> Callable:
    """The addresses of the first element of each active lane, of the second one, and so on."""
    by_rows = ins.opcode.has("row")
    address = address_reader(decoder, ins.operands[at], space_of(ins.opcode) in ("global", "generic"))
    least = fragment.columns if by_rows else fragment.rows
    stride = decoder.source(ins.operands[2], "u32") if len(ins.operands) > 2 else None

    def places(machine: Registers) -> Iterator[np.ndarray]:
        whole_warps(machine)
        base = machine.spread(address(machine))
        apart = machine.spread(stride(machine)).astype(np.int64) if stride else least
        _check_place(fragment, base, apart)
        first = machine.thread_of[machine.active()] % WARP * fragment.each
        for i in range(fragment.each):
            row, column = np.divmod((first + i) % (fragment.rows * fragment.columns), fragment.columns)
            element = row * apart + column if by_rows else column * apart + row
            yield base + (element * fragment.size).astype(base.dtype)

    return places


def _check_place(fragment: _Fragment, base: np.ndarray, apart: np.ndarray | int) -> None:
    """Raises Miss where a matrix may not lie there (see above)."""
    beside = base % fragment.bytes
    if beside.any():
        words = (
            f"the pointer of a wmma matrix of {fragment.kind} is {int(beside[beside.argmax()])} bytes past a multiple "
            f"of {fragment.bytes}; it must be a multiple of {fragment.bytes} bytes (the CUDA guide asks for 32)"
        )
        raise Miss("misaligned", _whole(beside != 0), lambda: words)
    between = np.broadcast_to(apart * fragment.size, len(base))
    if fragment.kind in SAID and (between % ROW).any():
        wrong = between % ROW != 0
        given = int(between[wrong.argmax()]) // fragment.size
        words = (
            f"the rows (or columns) of a wmma matrix of {fragment.kind} are {given} elements apart; its leading "
            f"dimension must be a multiple of {ROW // fragment.size}"
        )
        raise Miss("misaligned", _whole(wrong), lambda: words)


def _whole(lanes: np.ndarray) -> np.ndarray:
    """All lanes of the warps of these: a warp loads a matrix together."""
    return lanes.reshape(-1, WARP).any(axis=1).repeat(WARP)


def _matrices(decoder: Operands, fragment: _Fragment, operand: Vector) -> Callable:
    """The matrices of the active warps, as float64."""
    gets = [decoder.source(item, f"u{8 * fragment.register}") for item in operand.items]
    count = fragment.rows * fragment.columns

    def matrices(machine: Registers) -> np.ndarray:
        bits = fragment.elements(machine, gets).reshape(whole_warps(machine), -1)[:, :count]
        numbers = values(np.ascontiguousarray(bits), fragment.kind)
        return numbers.reshape(-1, fragment.rows, fragment.columns)

    return matrices
