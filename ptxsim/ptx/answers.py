"""Which registers a program looks at: what they hold reaches a branch, an address, memory or another thread.

An answer that is only moved from one register to the next, and then dropped, nobody has looked at.
"""

from collections.abc import Iterable

from .program import Address, Instruction, Pair, Register, Vector

HANDS_ON = ("mov", "selp", "setp", "set", "and", "or", "xor", "not", "cvt")
"""Instructions whose first operand holds what the others make of it, and that do nothing else."""
WAITS = ("mbarrier.test_wait", "mbarrier.try_wait")


def looked_at(instructions: tuple[Instruction, ...]) -> frozenset[int]:
    """The numbers of these registers."""
    found: set[int] = set()
    handed_on = []
    for each in instructions:
        if each.opcode.root in HANDS_ON:
            handed_on.append((_registers(each.operands[:1]), _registers((each.guard, *each.operands[1:]))))
        else:
            first = 1 if each.opcode.text.startswith(WAITS) else 0  # of others the target counts as well
            found |= _registers((each.guard, *each.operands[first:]))
    more = True
    while more:
        news = set().union(*(sources for targets, sources in handed_on if targets & found)) - found
        found |= news
        more = bool(news)
    return frozenset(found)


def _registers(operands: Iterable[object]) -> set[int]:
    found: set[int] = set()
    for operand in operands:
        if isinstance(operand, Register):
            found.add(operand.index)
        elif isinstance(operand, Address):
            found |= _registers((operand.base, *operand.coordinates))
        elif isinstance(operand, Vector):
            found |= _registers(operand.items)
        elif isinstance(operand, Pair):
            found |= _registers((operand.first, operand.second))
    return found
