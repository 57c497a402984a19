"""Races that no order mends: a thread is at the place of another one by mistake. Its index lost the upper bits, or the
kernel does not know of the rows of threads, or the blocks, that the launch has."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from ..lanes import Registers
from ..ptx.opcode import DTYPES
from ..ptx.program import Address, Immediate, Instruction, Register, Special
from ..ptx.provenance import registers, written_by
from .sentences import mend
from .shadow import Race, Watched

PASSED_ON_BY = ("add", "sub", "mad", "mul", "shl", "cvt", "cvta", "mov")
"""What an index goes through on its way to an address. Behind a remainder or a mask, lost bits are meant so."""
WHO = {"tid": ("%laneid", "%warpid", "%lanemask"), "ctaid": ("%cluster", "%smid")}
"""What else tells threads apart, or blocks."""


class Placed(Watched, Registers, Protocol):
    """What it takes to say how a thread came to a place."""


def unread_index(machine: Placed, race: Race) -> str:
    """Of two threads that differ in an index that the kernel does not read, that in words; "": of others."""
    launch, instructions = machine.launch, machine.launch.code.instructions
    if len(launch.grids) > 1 or any(each.opcode.facts.atomic for each in instructions):
        return ""  # what they share is meant so, or the answer of an atomic tells them apart
    specials = {each.name for ins in instructions for each in ins.operands if isinstance(each, Special)}
    blocks, threads = np.divmod([race.lane + machine.orders.first_lane, race.other], launch.threads)
    for name, shape, two in (
        ("ctaid", launch.grids[0], launch.blocks[blocks]),
        ("tid", launch.block, threads),
    ):
        first, second = (np.unravel_index(place, shape[::-1])[::-1] for place in two.tolist())
        for axis in np.flatnonzero(np.array(first) != np.array(second)).tolist():
            told_apart = f"%{name}." + "xyz"[axis], *WHO[name]
            if not any(special.startswith(told_apart) for special in specials):
                index = ("blockIdx." if name == "ctaid" else "threadIdx.") + "xyz"[axis]
                return mend("unread-index", index=index, count=shape[axis])
    return ""


def wrapped_index(machine: Placed, race: Race, pcs: Sequence[int]) -> str:
    """Of a product that lost bits on its way to the address of one of these instructions, that in words; "": of none.
    Registers hold what they held then, in a thread that has not gone on."""
    lanes = [race.lane, race.other - machine.orders.first_lane]
    for pc, lane in zip(pcs, lanes, strict=True):
        if not 0 <= lane < machine.lanes:
            continue  # its block has ended
        for product in _products(machine.launch.code.instructions, pc):
            if words := _lost(machine, product, lane):
                return words
    return ""


def overlapping(*two: Instruction) -> str:
    """Of a number of 4 bytes and one of 8 at one place, in words that it may belong to two arrays."""
    scalars = [each.opcode for each in two if each.opcode.root in ("ld", "st") and each.opcode.types]
    if len(scalars) < 2 or any(opcode.has("v2") or opcode.has("v4") for opcode in scalars):
        return ""
    sizes = [DTYPES[opcode.types[-1]].itemsize for opcode in scalars]
    return mend("overlap", sizes=sizes) if sorted(sizes) == [4, 8] else ""


def _products(instructions: tuple[Instruction, ...], pc: int) -> Iterator[Instruction]:
    """The products of 32 bits of which the address of an instruction is made."""
    writers: dict[int, list[Instruction]] = {}
    for each in instructions:
        for register in written_by(each):
            writers.setdefault(register, []).append(each)
    seen: set[int] = set()
    waiting = [
        register
        for operand in instructions[pc].operands
        if isinstance(operand, Address)
        for register in registers(operand.base)
    ]
    while waiting:
        register = waiting.pop()
        if register in seen or len(writers.get(register, ())) != 1:
            continue
        seen.add(register)
        each = writers[register][0]
        if each.opcode.root not in PASSED_ON_BY:
            continue
        if each.opcode.has("lo") and each.opcode.types in (("s32",), ("u32",)):
            yield each
        waiting += [register for operand in each.operands[1:] for register in registers(operand)]


def _lost(machine: Placed, product: Instruction, lane: int) -> str:
    """Of a product that does not fit into 32 bits, with sign or without, that in words."""
    a, b = (_value(machine, operand, lane) for operand in product.operands[1:3])
    if a is None or b is None:
        return ""
    exact, unsigned = a * b, (a % 2**32) * (b % 2**32)
    if -(2**31) <= exact < 2**31 or unsigned < 2**32:
        return ""
    return mend(
        "wrapped-index", place=product.where, product=f"{a:,} * {b:,}", exact=exact, held=exact % 2**32
    )


def _value(machine: Placed, operand: object, lane: int) -> int | None:
    """A number of 32 bits, with sign; None: it is not known."""
    if isinstance(operand, Immediate):
        return int(operand.value(np.dtype(np.int32))[0])
    if not isinstance(operand, Register):
        return None
    held = machine.R[operand.index]
    if held is machine.unset[operand.index]:
        return None
    return int(held[lane if len(held) > 1 else 0].view(np.int32))
