"""Masks that chance makes: `__activemask()` says which lanes happen to run together (PTX ISA, "activemask"; CUDA C++
Programming Guide, "Warp Vote Functions"), and nothing says that all lanes of a branch do."""

from collections.abc import Callable

from .program import Instruction, Register
from .provenance import read_by, written_by

HANDS_ON = ("mov", "and", "or", "xor", "not", "selp", "cvt")
"""Instructions that make a mask of masks."""


def by_chance(
    instructions: tuple[Instruction, ...], takes_mask: Callable[[Instruction], bool]
) -> dict[int, int]:
    """For each activemask the first instruction whose mask is made of it, by their pcs. Not what headers write
    (cooperative groups): they know of it."""
    found = {}
    for pc, each in enumerate(instructions):
        if each.opcode.root == "activemask" and not each.where.header:
            made = _made_of(set(written_by(each)), instructions)
            uses = (at for at, other in enumerate(instructions) if takes_mask(other) and _mask(other) in made)
            if (use := next(uses, None)) is not None:
                found[pc] = use
    return found


def _mask(instruction: Instruction) -> int | None:
    mask = instruction.operands[-1]
    return mask.index if isinstance(mask, Register) else None


def _made_of(known: set[int], instructions: tuple[Instruction, ...]) -> set[int]:
    """The registers that hold one of these, or what is made of them."""
    before = 0
    while before != len(known):
        before = len(known)
        for each in instructions:
            if each.opcode.root in HANDS_ON and known.intersection(read_by(each)):
                known.update(written_by(each))
    return known
