"""Reads with which an atomic begins that the GPU has not: below sm_90 an atomicAdd of bfloat16 is a plain read and then
a loop of atomicCAS in a header of the compiler. The read is a first guess: if it is wrong, the atomicCAS says so."""

from .program import Instruction, Register


def first_guesses(instructions: tuple[Instruction, ...]) -> frozenset[int]:
    """The loads, by pc, whose value an atomicCAS in the same line of the source compares with. What a header does has
    the line that calls it; who writes the loop himself has the read in a line of its own, and can make it volatile."""
    compared = {
        (each.where, each.operands[2].index)
        for each in instructions
        if each.opcode.root == "atom" and each.opcode.has("cas") and isinstance(each.operands[2], Register)
    }
    return frozenset(
        pc
        for pc, each in enumerate(instructions)
        if each.opcode.root == "ld"
        and isinstance(each.operands[0], Register)
        and (each.where, each.operands[0].index) in compared
    )
