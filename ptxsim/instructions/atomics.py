"""Atomic operations: atom and red (PTX ISA, "atom", "red"). Lanes that hit one address go one after the other."""

import re
from collections.abc import Callable
from functools import partial
from itertools import accumulate

import numpy as np

from ..ground.memory import Miss
from ..ptx.opcode import DTYPES, Opcode, UnsupportedInstruction
from ..ptx.program import Address, Instruction, Vector
from ..units.access import Access, Memories, differs, update
from .memory import access_of, address_reader, space_of, vector_length
from .registry import PURE, Operands, on_machine

Values = tuple[np.ndarray, np.ndarray | None]
"""New values, and which of them are written (None: all)."""


def _wrap_inc(old: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.where(old >= b, 0, old + 1).astype(old.dtype)


def _wrap_dec(old: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.where((old == 0) | (old > b), b, old - 1).astype(old.dtype)


def _accumulate(of: np.ufunc, steps: np.ndarray) -> np.ndarray:
    return of.accumulate(steps, dtype=steps.dtype)


def _one_by_one(of: Callable[[int, int], int], steps: np.ndarray) -> np.ndarray:
    return np.array([*accumulate(steps.tolist(), of)], steps.dtype)


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
ADDING_UP = {
    **{"add": np.add, "min": np.minimum, "max": np.maximum},
    **{"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor},
}
RUNNING: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "exch": lambda steps: steps,
    "inc": partial(_one_by_one, lambda old, b: 0 if old >= b else old + 1),
    "dec": partial(_one_by_one, lambda old, b: b if old == 0 or old > b else old - 1),
    **{name: partial(_accumulate, of) for name, of in ADDING_UP.items()},
}
"""Of an old value and the operands of lanes one after the other: what is there after each. Of integers, where nothing
is rounded."""
HALVES = ("f16", "f16x2", "bf16", "bf16x2")


def operation_of(opcode: Opcode, space: str) -> Callable[..., Values]:
    """A function of the old values and the operands."""
    kind = opcode.types[-1]
    dtype = DTYPES[kind]
    if opcode.has("cas"):
        return lambda old, b, c: (c, ~differs(old.view(b.dtype), b))
    name = next((m for m in opcode.modifiers if m in OPERATIONS), None)
    if name is None:
        raise UnsupportedInstruction("this atomic operation is not simulated")
    compute = OPERATIONS[name]
    if kind in HALVES:
        compute = PURE[name](Opcode(f"{name}.{kind}")).compute
    elif kind == "f32" and space != "shared":  # in global memory subnormals count as zero (PTX ISA, "atom")
        compute = PURE[name](Opcode(f"{name}.ftz.f32")).compute
    return lambda old, *operands: (compute(old.view(dtype), *operands), None)


def running_of(opcode: Opcode) -> Callable | None:
    """The same for all lanes that name one place at once, where there is such a way."""
    if opcode.has("cas") or not re.fullmatch(r"[usb]\d+", opcode.types[-1]):
        return None
    return next((RUNNING[m] for m in opcode.modifiers if m in RUNNING), None)


@on_machine("atom")
def atom(decoder: Operands, ins: Instruction) -> Callable:
    """atom{.space}.op.type  d, [a], b{, c}: d gets the old value."""
    return _atomic(decoder, ins, ins.operands[0], ins.operands[1], ins.operands[2:])


@on_machine("red")
def red(decoder: Operands, ins: Instruction) -> Callable:
    """red{.space}.op.type  [a], b: an atomic whose old value nobody wants."""
    return _atomic(decoder, ins, None, ins.operands[0], ins.operands[1:])


def _atomic(decoder: Operands, ins: Instruction, to: object, place: Address, operands: tuple) -> Callable:
    kind = ins.opcode.types[-1]
    space = space_of(ins.opcode)
    given = [operand for operand in operands if operand is not None][: 2 if ins.opcode.has("cas") else 1]
    operation, running = operation_of(ins.opcode, space), running_of(ins.opcode)
    access = access_of(decoder, ins.opcode, space, DTYPES[kind].itemsize, True, True)
    address = address_reader(decoder, place, space != "shared")
    if (several := vector_length(ins.opcode)) > 1:
        return _several(decoder, access, address, operation, kind, _items(to, several), given[0].items)
    reads = [decoder.source(operand, kind) for operand in given]
    write = decoder.target(to)

    def step(machine: Memories) -> None:
        old = update(machine, access, address(machine), operation, [read(machine) for read in reads], running)
        write(machine, old.view(DTYPES[kind]))

    return step


def _items(to: object, several: int) -> tuple:
    """The registers of a list; for `_` nobody wants any of the old values."""
    return to.items if isinstance(to, Vector) else (None,) * several


def _several(
    decoder: Operands,
    access: Access,
    address: Callable,
    operation: Callable,
    kind: str,
    to: tuple,
    items: tuple,
) -> Callable:
    """An atomic of several values at once: one of each, after the other (PTX ISA, "atom": atomic for each of them)."""
    size = access.size * len(items)
    reads, writes = [decoder.source(item, kind) for item in items], [decoder.target(item) for item in to]

    def step(machine: Memories) -> None:
        first = machine.spread(address(machine))
        if (bad := first % size != 0).any():
            where = int(first[bad.argmax()])
            words = f"an atomic of {size} bytes at address {where:#x}; it must be a multiple of {size}"
            raise Miss("misaligned", bad, lambda: words)
        for number, (read, write) in enumerate(zip(reads, writes, strict=True)):
            place = first + first.dtype.type(number * access.size)
            once = access if number == 0 else access.uncounted
            write(machine, update(machine, once, place, operation, [read(machine)]).view(DTYPES[kind]))

    return step
