"""Numbers of k-tiles that a kernel treats apart from those that were tried: `if (k_tiles > 64) return;`, or a loop that
ends after 12. The constants with which K and the counters of its loops are compared say which."""

from collections.abc import Collection, Iterator

import numpy as np

from cupy_or_sim.simulate import compiled
from ptxsim.compiler import Instruction, read_by, written_by
from ptxsim.ptx.program import Address, Immediate

K = 5
"""Of a GEMM kernel's parameters (A, B, C, M, N, K)."""
MOST = 70
"""More k-tiles are not tried: they would take seconds."""
COPIED = {"mov", "cvt", "add", "sub"}
MADE_OF = COPIED | {"and", "or", "shl", "shr", "mul", "div", "rem", "min", "max", "neg", "not"}
COMPARED = {"setp", "min", "max"}

Columns = dict[int, float]
"""Register -> how many columns of A one of what it counts has: 1 of K, 16 of a number of k-tiles of 16 columns."""


def untried(kernel: object, tile_k: int, tried: Collection[int], size: int = K) -> list[int]:
    """Numbers of k-tiles, up to MOST, at a constant that K or a loop's counter is compared with, and not `tried`: above
    all of these, or one that is asked for by itself. None for nearly every kernel. One that does not matter costs a
    launch, and is no finding. `size`: which parameter K is; of pieces of one column, how many there are."""
    program = compiled(kernel).code.program
    if len(program.params) <= size:
        return []
    roots = COMPARED | MADE_OF | {"ld"}
    of_counts = [each for each in program.instructions if each.opcode.root in roots]
    columns = _columns(of_counts, program.params[size])
    found = set()
    for each in of_counts:
        known = columns.keys() & set(read_by(each)) if each.opcode.root in COMPARED else ()
        # of ~k_tiles and -24 as well
        at = {int(abs(each_of) * columns[one] // tile_k) for one in known for each_of in _constants(each)}
        # a counter may be compared before it counts the turn that begins
        above = {number + more for number in at for more in range(3) if number + more > max(tried)}
        found |= above | (at if each.opcode.has("eq") or each.opcode.has("ne") else set())
    return sorted(number for number in found - {*tried} if 0 < number <= MOST)


def _columns(instructions: list[Instruction], size: object) -> Columns:
    """Of the registers that hold K, what is made of it alone, and what is compared with that."""
    columns: Columns = {}
    before = -1
    while len(columns) > before:
        before = len(columns)
        for each in instructions:
            for register, one in _told_by(each, size, columns):
                columns.setdefault(register, one)
    return columns


def _told_by(each: Instruction, size: object, columns: Columns) -> Iterator[tuple[int, float]]:
    """The registers that count columns because of this instruction, and how many."""
    root, made, read = each.opcode.root, written_by(each), read_by(each)
    known = [columns[register] for register in read if register in columns]
    if root == "ld" and any(isinstance(one, Address) and one.base == size for one in each.operands):
        yield from ((register, 1.0) for register in made)
    if root in MADE_OF and known and len(known) == len(read):
        yield from ((register, min(known) * _times(each)) for register in made)
    if root in COPIED and len(read) == 1 and made and made[0] in columns:
        yield read[0], columns[made[0]]  # a counter, before it is the next one
    if root in COMPARED and known:
        yield from ((register, min(known)) for register in read)


def _times(each: Instruction) -> float:
    """What is made of a count by a constant counts so many times as many columns."""
    root, constants = each.opcode.root, _constants(each)
    if root not in ("shl", "shr", "mul", "div") or not constants:
        return 1.0
    by = float(2 ** min(constants[0], 64) if root in ("shl", "shr") else max(constants[0], 1))
    return by if root in ("shr", "div") else 1 / by


def _constants(each: Instruction) -> list[int]:
    return [int(one.value(np.dtype(np.int64))[0]) for one in each.operands[1:] if isinstance(one, Immediate)]
