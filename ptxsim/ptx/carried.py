"""Loads that only carry values from one place in memory to another.

A struct is copied with the bytes between its members, which nobody has written. That is legal: only who uses them goes
wrong. So a load whose registers do nothing but go into stores is no use of what it brings.
"""

from collections import Counter
from collections.abc import Iterator

from .opcode import DTYPES
from .program import Address, Instruction
from .provenance import registers, written_by


def carried(instructions: tuple[Instruction, ...], space: str = "") -> frozenset[int]:
    """These loads, by pc. `space`: those that lead from one place there to another."""
    loads = [pc for pc, each in enumerate(instructions) if each.opcode.root == "ld" and _moves(each, space)]
    found = {register for pc in loads for register in written_by(instructions[pc])}
    for pc, each in enumerate(instructions):
        if pc not in loads:
            found.difference_update(written_by(each))
        found.difference_update(_used(each, space))
    return frozenset(pc for pc in loads if found.issuperset(written_by(instructions[pc])))


def fill(instructions: tuple[Instruction, ...], loads: frozenset[int]) -> frozenset[int]:
    """Of these loads those of what may lie between two members of a struct: of a byte or two, or of a word, if other
    loads stand in its line."""
    lines = Counter(each.where for each in instructions if each.opcode.root == "ld")

    def size(load: Instruction) -> int:
        return DTYPES[load.opcode.types[-1]].itemsize * len(written_by(load))

    return frozenset(pc for pc in loads if size(instructions[pc]) < 4 + (lines[instructions[pc].where] > 1))


def _moves(instruction: Instruction, space: str) -> bool:
    """A plain load or store of that space."""
    opcode = instruction.opcode
    strong = any(map(opcode.has, ("volatile", "relaxed", "acquire", "release")))
    return not strong and (not space or opcode.has(space))


def _used(instruction: Instruction, space: str) -> Iterator[int]:
    """The registers that it reads, but for the values of such a store."""
    if instruction.guard is not None:
        yield instruction.guard.index
    stores = instruction.opcode.root == "st" and _moves(instruction, space)
    for number, operand in enumerate(instruction.operands):
        if isinstance(operand, Address):
            for part in (operand.base, *operand.coordinates):
                yield from registers(part)
        elif not (stores and number == 1) and not (number == 0 and instruction.opcode.facts.result):
            yield from registers(operand)
