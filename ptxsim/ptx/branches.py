"""Branches that threads of one block may take differently, and the instructions that not all of them come to.

A branch parts threads if its condition depends on who one is: on the thread's number, on what lies at an address that
does, on an atomic's answer, or on a register that such a branch decides about. Whether an mbarrier's phase is complete
parts nobody: all find that it is, sooner or later.
"""

from .flow import Flow
from .program import Address, Instruction, Special
from .provenance import registers, written_by

OWN = ("%tid", "%laneid", "%warpid", "%lanemask")
"""How the special registers begin that tell threads of a block apart."""


def parting(instructions: tuple[Instruction, ...], flow: Flow) -> list[frozenset[int]]:
    """For each branch that parts threads of a block the basic blocks that it decides about."""
    known: set[int] = set()
    regions: dict[int, frozenset[int]] = {}
    before = (-1, -1)
    while before != (len(known), len(regions)):
        before = len(known), len(regions)
        for each in instructions:
            if _differs(each, known):
                known.update(written_by(each))
        for block, ways in flow.next.items():
            last = instructions[flow.range_of(block)[-1]]
            if block in regions or len(ways) < 2 or not _decides(last, known):
                continue
            regions[block] = flow.decided_by(block)
            for inside in regions[block]:
                known.update(*(written_by(instructions[pc]) for pc in flow.range_of(inside)))
    return list(regions.values())


def _differs(each: Instruction, known: set[int]) -> bool:
    """Whether what the instruction writes depends on who one is."""
    if each.opcode.facts.answers or _decides(each, known):
        return True
    return any(_is_own(operand, known) for operand in each.operands)


def _is_own(operand: object, known: set[int]) -> bool:
    if isinstance(operand, Special):
        return operand.name.startswith(OWN)
    if isinstance(operand, Address):
        return any(_is_own(each, known) for each in (operand.base, *operand.coordinates))
    return bool(known.intersection(registers(operand)))


def _decides(each: Instruction, known: set[int]) -> bool:
    return each.guard is not None and each.guard.index in known
