"""Loops whose turns leave no trace: what decides whether such a loop goes on, and what it looks at.

A turn leaves none if it only computes, reads memory, asks mbarriers, meets other threads or sleeps. If then nothing
that decides about the loop has changed when a thread comes round, the thread goes round for ever, unless somebody else
writes what it looks at. A counter that only chooses how long to sleep decides nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from .flow import Flow
from .program import Address, Instruction, Special
from .provenance import registers, written_by

QUESTIONS = ("mbarrier.test_wait", "mbarrier.try_wait")
CLOCKS = ("clock", "timer")


def leaves_no_trace(instruction: Instruction) -> bool:
    opcode = instruction.opcode
    if opcode.root in ("bar", "barrier"):
        return opcode.has("sync")
    return not opcode.facts.trace or opcode.text.startswith(QUESTIONS)


@dataclass(frozen=True)
class Rounds:
    """Of basic blocks that threads go round in: the registers that decide whether they go on, and the instructions by
    which those come to know of memory. `timed`: the clock decides, too."""

    blocks: frozenset[int]
    deciding: tuple[int, ...]
    looks: tuple[int, ...]
    timed: bool

    @classmethod
    def of(cls, instructions: tuple[Instruction, ...], flow: Flow, blocks: frozenset[int]) -> "Rounds":
        inside = [pc for block in sorted(blocks) for pc in flow.range_of(block)]
        branches = [block for block in blocks if len(flow.next[block]) > 1]
        leaving = {block for block in branches if not blocks.issuperset(flow.next[block])}
        deciding = {index for block in leaving for index in asked_by(instructions[flow.range_of(block)[-1]])}
        before = -1
        while before != len(deciding):
            before = len(deciding)
            for pc in inside:
                if deciding.intersection(written_by(instructions[pc])):
                    deciding.update(asked_by(instructions[pc]))
            for block in branches:
                region = blocks & flow.decided_by(block)
                if region & leaving or any(_sets(instructions, flow, each, deciding) for each in region):
                    deciding.update(asked_by(instructions[flow.range_of(block)[-1]]))
        sources = [pc for pc in inside if deciding.intersection(written_by(instructions[pc]))]
        looks = tuple(pc for pc in sources if _looks(instructions[pc]))
        timed = any(_is_clock(operand) for pc in sources for operand in instructions[pc].operands)
        return cls(blocks, tuple(sorted(deciding)), looks, timed)

    def looks_from(self, flow: Flow, block: int) -> Iterator[int]:
        """Those that a thread in this block comes to."""
        found, waiting = set(), [block]
        while waiting:
            here = waiting.pop()
            if here in self.blocks and here not in found:
                found.add(here)
                waiting += flow.next[here]
        return (pc for pc in self.looks if flow.block_of(pc) in found)


NO_ROUNDS = Rounds(frozenset(), (), (), timed=False)


def _sets(instructions: tuple[Instruction, ...], flow: Flow, block: int, wanted: set[int]) -> bool:
    return any(wanted.intersection(written_by(instructions[pc])) for pc in flow.range_of(block))


def asked_by(instruction: Instruction) -> set[int]:
    """The registers that it reads, those of addresses among them."""
    found = {instruction.guard.index} if instruction.guard is not None else set()
    for operand in instruction.operands[instruction.opcode.facts.result :]:
        found.update(registers(operand.base if isinstance(operand, Address) else operand))
    return found


def _looks(instruction: Instruction) -> bool:
    opcode = instruction.opcode
    if opcode.facts.loads:
        return not any(map(opcode.has, ("param", "const", "local")))
    return opcode.facts.reads or opcode.text.startswith(QUESTIONS)


def _is_clock(operand: object) -> bool:
    return isinstance(operand, Special) and any(word in operand.name for word in CLOCKS)
