"""Atomic operations: atom and red (PTX ISA, "atom", "red"). Lanes that hit one address go one after the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..ptx.opcode import DTYPES, Opcode, UnsupportedInstruction
from ..ptx.program import Instruction
from ..units.access import Memories, update
from .memory import access_of, address_reader, space_of
from .registry import PURE, Operands, on_machine

Values = tuple[np.ndarray, np.ndarray | None]
"""New values, and which of them are written (None: all)."""


def _wrap_inc(old: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.where(old >= b, 0, old + 1).astype(old.dtype)


def _wrap_dec(old: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.where((old == 0) | (old > b), b, old - 1).astype(old.dtype)


OPERATIONS: dict[str, Callable] = {
    "add": lambda old, b: old + b,
    "min": np.minimum,
    "max": np.maximum,
    "and": lambda old, b: old & b,
    "or": lambda old, b: old | b,
    "xor": lambda old, b: old ^ b,
    "exch": lambda old, b: b,
    "inc": _wrap_inc,
    "dec": _wrap_dec,
}
HALVES = ("f16", "f16x2", "bf16", "bf16x2")


def operation_of(opcode: Opcode, space: str) -> Callable:
    """A function (old, *operands) -> Values."""
    kind = opcode.types[-1]
    dtype = DTYPES[kind]
    if opcode.has("cas"):
        return lambda old, b, c: (c, old.view(b.dtype) == b)
    name = next((m for m in opcode.modifiers if m in OPERATIONS), None)
    if several := next((m[1:] for m in ("v2", "v4", "v8") if opcode.has(m)), None):
        raise UnsupportedInstruction(
            f"an atomic of {several} values at once is not simulated; make one of each value, such as "
            "atomicAdd(&place->x, value.x)"
        )
    if name is None:
        raise UnsupportedInstruction("this atomic operation is not simulated")
    compute = OPERATIONS[name]
    if kind in HALVES:
        compute = PURE[name](Opcode(f"{name}.{kind}")).compute
    elif kind == "f32" and space != "shared":  # in global memory subnormals count as zero (PTX ISA, "atom")
        compute = PURE[name](Opcode(f"{name}.ftz.f32")).compute
    return lambda old, *operands: (compute(old.view(dtype), *operands), None)


@on_machine("atom")
def atom(decoder: Operands, ins: Instruction) -> Callable:
    """atom{.space}.op.type  d, [a], b{, c}: d gets the old value."""
    return _atomic(decoder, ins, ins.operands[0], ins.operands[1], ins.operands[2:])


@on_machine("red")
def red(decoder: Operands, ins: Instruction) -> Callable:
    """red{.space}.op.type  [a], b: an atomic whose old value nobody wants."""
    return _atomic(decoder, ins, None, ins.operands[0], ins.operands[1:])


def _atomic(decoder: Operands, ins: Instruction, to, place, operands: tuple) -> Callable:
    kind = ins.opcode.types[-1]
    space = space_of(ins.opcode)
    operands = [operand for operand in operands if operand is not None][: 2 if ins.opcode.has("cas") else 1]
    operation = operation_of(ins.opcode, space)
    access = access_of(decoder, ins.opcode, space, DTYPES[kind].itemsize, True, True)
    address = address_reader(decoder, place, space != "shared")
    reads = [decoder.source(operand, kind) for operand in operands]
    write = decoder.target(to)

    def step(machine: Memories) -> None:
        old = update(machine, access, address(machine), operation, [read(machine) for read in reads])
        write(machine, old.view(DTYPES[kind]))

    return step
