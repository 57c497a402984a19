"""Registers that an instruction may read before any has written them, and all that may be made of their values.

A compiler leaves a variable that the source never sets without a write. It leaves such registers in right programs,
too: a value that is set under a condition and used under it. So this says only where to look (units/unset.py): which
registers may hold what nobody has set, and which instructions read them. Most programs have none.
"""

import math
from dataclasses import dataclass

from .flow import EXIT, Flow
from .program import Address, Instruction, Program
from .provenance import registers, written_by

CARRY_READERS = ("addc", "subc", "madc")
MATH = ("mma", "wmma.mma")


@dataclass(frozen=True)
class Unset:
    """`registers`: that may hold such a value where they are read. `readers`: the instructions that read one there.
    `stored`: whether such a value may lie in shared memory."""

    registers: frozenset[int] = frozenset()
    readers: frozenset[int] = frozenset()
    stored: bool = False


def unset(program: Program, flow: Flow, carry: int, brought: frozenset[int] = frozenset()) -> Unset:
    """`carry`: the number of the carry flag. `brought`: loads, by pc, that may bring what nobody has written."""
    instructions = program.instructions
    reads = [used_by(instruction, carry) for instruction in instructions]
    writes = [set_by(instruction, carry) for instruction in instructions]
    if not brought and not _any_before_its_write(instructions, flow, reads, writes):
        return Unset()
    spread = _Spread(instructions, flow, list(map(_bits, reads)), list(map(_bits, writes)), brought)
    spread.follows_memory = math.prod(program.cluster) == 1 and not any(map(_strong_in_shared, instructions))
    return spread.found()


def used_by(instruction: Instruction, carry: int) -> list[int]:
    """The registers whose values an instruction looks at: its guard's and addresses' too."""
    opcode = instruction.opcode
    found = [] if instruction.guard is None else [instruction.guard.index]
    for number, operand in enumerate(instruction.operands):
        if isinstance(operand, Address):
            found += registers(operand.base)
            for each in operand.coordinates:
                found += registers(each)
        elif number or not opcode.facts.result or opcode.root == "wgmma":
            found += registers(operand)
    return [*found, carry] if opcode.root in CARRY_READERS else found


def set_by(instruction: Instruction, carry: int) -> list[int]:
    """The registers that an instruction writes."""
    found = written_by(instruction)
    return [*found, carry] if instruction.opcode.has("cc") else found


def _any_before_its_write(
    instructions: tuple[Instruction, ...], flow: Flow, reads: list[list[int]], writes: list[list[int]]
) -> bool:
    """Whether some way leads to a read of a register past all its writes."""
    exposed, given = {}, {}
    for block in flow.starts:
        early: set[int] = set()
        mine: set[int] = set()
        for pc in flow.range_of(block):
            early.update(index for index in reads[pc] if index not in mine)
            if instructions[pc].guard is None:
                mine.update(writes[pc])
        exposed[block], given[block] = _bits(early), _bits(mine)
    if not exposed or not any(exposed.values()):
        return False
    known: dict[int, int] = {
        flow.starts[0]: 0
    }  # written on every way to the block; of others no way is known yet
    waiting = [flow.starts[0]]
    while waiting:
        block = waiting.pop()
        behind = known[block] | given[block]
        for to in flow.next[block]:
            if to != EXIT and (to not in known or known[to] & ~behind):
                known[to] = known.get(to, behind) & behind
                waiting.append(to)
    return any(exposed[block] & ~written for block, written in known.items())


class _Spread:
    """From the first instruction on, where every register is unset, block by block until nothing is new. Sets of
    registers are bits of a number."""

    def __init__(
        self,
        instructions: tuple[Instruction, ...],
        flow: Flow,
        reads: list[int],
        writes: list[int],
        brought: frozenset[int],
    ) -> None:
        self.instructions, self.flow, self.reads, self.writes = instructions, flow, reads, writes
        self.brought = brought
        self.before: dict[int, int] = {flow.starts[0]: -1}
        self.stored, self.follows_memory = False, True

    def found(self) -> Unset:
        """Threads meet in memory whatever way each one takes: a store anywhere is for the loads everywhere."""
        stored = None
        while stored != self.stored:
            stored = self.stored
            waiting = list(self.before)
            while waiting:
                block = waiting.pop()
                behind, _, _ = self._through(block)
                for to in self.flow.next[block]:
                    if to != EXIT and (to not in self.before or behind & ~self.before[to]):
                        self.before[to] = self.before.get(to, 0) | behind
                        waiting.append(to)
        parts = [self._through(block)[1:] for block in self.before]
        readers = frozenset().union(*(pcs for pcs, _ in parts))
        held = 0
        for _, bits in parts:
            held |= bits
        return Unset(_numbers(held), readers, self.stored)

    def _through(self, block: int) -> tuple[int, set[int], int]:
        """What may be unset behind a block, its instructions that may read such a register, and those registers."""
        now, readers, held = self.before[block], set(), 0
        for pc in self.flow.range_of(block):
            instruction, read = self.instructions[pc], now & self.reads[pc]
            if read:
                readers.add(pc)
                held |= read
            if pc in self.brought or (
                bool(read) if repeats(instruction) else self.stored and loads_shared(instruction)
            ):
                now |= self.writes[pc]
            elif instruction.guard is None:
                now &= ~self.writes[pc]
            if (
                self.follows_memory
                and stores_shared(instruction)
                and now & _bits(registers(instruction.operands[1]))
            ):
                self.stored = True
        return now, readers, held


def repeats(instruction: Instruction) -> bool:
    """Whether what it writes comes of registers alone, and nobody else sees that it ran: it may run twice."""
    facts = instruction.opcode.facts
    if facts.reads or facts.writes or not facts.result:
        return False
    return not facts.trace or instruction.opcode.root in MATH


def loads_shared(instruction: Instruction) -> bool:
    return instruction.opcode.root == "ld" and _in_shared(instruction)


def stores_shared(instruction: Instruction) -> bool:
    return instruction.opcode.root == "st" and _in_shared(instruction)


def _strong_in_shared(instruction: Instruction) -> bool:
    """Whether it may change shared memory otherwise than a plain store or a copy does."""
    opcode = instruction.opcode
    if opcode.root == "st":
        return opcode.has("volatile") or any(opcode.has(m) for m in ("relaxed", "release"))
    return opcode.root in ("atom", "red", "st.async", "red.async") and not opcode.has("global")


def _in_shared(instruction: Instruction) -> bool:
    return instruction.opcode.has("shared") or instruction.opcode.has("shared::cta")


def _bits(numbers: set[int] | list[int]) -> int:
    found = 0
    for number in numbers:
        found |= 1 << number
    return found


def _numbers(bits: int) -> frozenset[int]:
    return frozenset(number for number, bit in enumerate(reversed(bin(bits)[2:])) if bit == "1")
