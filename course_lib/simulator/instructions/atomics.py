"""Atomic operations: atom and red (PTX ISA 9.7.13.5-6). Lanes that hit one address go one after the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..memory import LOCAL_WINDOW, SHARED_WINDOW, Fault
from ..ptx import Instruction
from .memory import address_reader, block_base, parts, space_of
from .registry import DTYPES, Opcode, UnsupportedInstruction, machine


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
    "cas": lambda old, b, c: np.where(old == b, c, old),
}


def _operation(opcode: Opcode) -> Callable:
    name = next((m for m in opcode.modifiers if m in OPERATIONS), None)
    kind = opcode.types[-1]
    if name is None or kind in ("bf16", "bf16x2", "f16x2"):
        raise UnsupportedInstruction("this atomic operation is not simulated")
    return OPERATIONS[name]


@machine("atom")
def atom(d, ins: Instruction) -> Callable:
    """atom{.space}.op.type  d, [a], b{, c}: d gets the old value."""
    return _atomic(d, ins, d.target(ins.operands[0]), ins.operands[1], ins.operands[2:])


@machine("red")
def red(d, ins: Instruction) -> Callable:
    """red{.space}.op.type  [a], b: an atomic whose old value nobody wants."""
    return _atomic(d, ins, None, ins.operands[0], ins.operands[1:])


def _atomic(d, ins: Instruction, write: Callable | None, place, operands: tuple) -> Callable:
    kind = ins.opcode.types[-1]
    dtype = DTYPES[kind]
    operation = _operation(ins.opcode)
    space = space_of(ins.opcode)
    address = address_reader(d, place, space != "shared")
    reads = [d.source(o, kind) for o in operands]
    pc = d.pc

    def step(m) -> None:
        values = [m.spread(read(m)) for read in reads]
        old = _apply(m, space, m.spread(address(m)), dtype, operation, values, pc)
        if write:
            write(m, old)

    return step


def _apply(
    m, space: str, addresses: np.ndarray, dtype: np.dtype, operation: Callable, values: list, pc: int
) -> np.ndarray:
    if space == "generic":
        addresses = addresses.view(np.uint64)
        shared = (addresses >= np.uint64(SHARED_WINDOW)) & (addresses < np.uint64(LOCAL_WINDOW))
        if shared.any() and not shared.all():
            raise Fault(
                "unsupported-instruction", "one atomic instruction on shared and global memory at once"
            )
        if shared.all():
            addresses = (addresses - np.uint64(SHARED_WINDOW)).astype(np.int64)
        space = "shared" if shared.all() else "global"
    size = dtype.itemsize
    if space == "shared":
        unit = m.shared.locate(addresses, size, block_base(m))
        m.shadow.on_atomic(m.idx, unit, size, pc)
        return _in_turn(m.shared.memory.units(size).view(dtype), unit, operation, values)
    old = np.empty(len(addresses), dtype)
    for part in parts(addresses >> np.uint64(40)):
        buffer, unit = m.memory.locate(addresses[part], size, pc)
        old[part] = _in_turn(
            buffer.memory.units(size).view(dtype), unit, operation, [v[part] for v in values]
        )
    return old


def _in_turn(memory: np.ndarray, unit: np.ndarray, operation: Callable, values: list) -> np.ndarray:
    """Apply the operation lane by lane where lanes share an address: the k-th of each in round k."""
    order = np.argsort(unit, kind="stable")
    sorted_unit = unit[order]
    first = np.flatnonzero(np.diff(sorted_unit, prepend=-1))
    turn = np.arange(len(unit)) - np.repeat(first, np.diff(np.append(first, len(unit))))
    old = np.empty(len(unit), memory.dtype)
    by_turn = order[np.argsort(turn, kind="stable")]
    ends = np.cumsum(np.bincount(turn))
    for start, end in zip(np.append(0, ends[:-1]), ends, strict=True):
        lanes = by_turn[start:end]
        before = memory[unit[lanes]]
        old[lanes] = before
        memory[unit[lanes]] = operation(before, *[v[lanes] for v in values])
    return old
