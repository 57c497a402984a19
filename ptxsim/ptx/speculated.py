"""Loads from local memory whose value counts only where a condition holds. For `found ? v : -1` the compiler loads v in
any case, also where nobody has set it, and chooses behind that."""

from collections import defaultdict

from .program import Instruction, Register
from .provenance import registers, written_by


def speculated(instructions: tuple[Instruction, ...]) -> frozenset[int]:
    """Those, by pc, whose value goes into choices (selp) alone, as it is or as what was computed of it."""
    readers: dict[int, list[Instruction]] = defaultdict(list)
    for each in instructions:
        for index in {each.guard.index if each.guard else -1, *_read(each)}:
            readers[index].append(each)
    loads = (
        pc
        for pc, each in enumerate(instructions)
        if each.opcode.root == "ld" and not {"global", "shared", "param", "const"} & {*each.opcode.modifiers}
    )
    return frozenset(pc for pc in loads if _only_chosen(written_by(instructions[pc]), readers))


def _read(instruction: Instruction) -> list[int]:
    result = instruction.opcode.facts.result
    found = []
    for operand in instruction.operands[result:]:
        found += registers(operand)
        for part in (getattr(operand, "base", None), *getattr(operand, "coordinates", ())):
            found += registers(part)
    return found


def _only_chosen(loaded: list[int], readers: dict[int, list[Instruction]]) -> bool:
    todo, seen, chosen = list(loaded), set(loaded), False
    while todo:
        index = todo.pop()
        for each in readers[index]:
            if each.opcode.root == "selp" and not _decides(each, index):
                chosen = True
            elif each.guard or not _computes(each):
                return False
            else:
                more = set(written_by(each)) - seen
                seen |= more
                todo += more
    return chosen


def _decides(choice: Instruction, index: int) -> bool:
    condition = choice.operands[3]
    guarded = choice.guard is not None and choice.guard.index == index
    return guarded or (isinstance(condition, Register) and condition.index == index)


def _computes(instruction: Instruction) -> bool:
    """Whether it makes a value of values, and does nothing else."""
    facts = instruction.opcode.facts
    other = facts.trace or facts.reads or facts.writes or facts.answers or facts.waits_for
    return bool(facts.result and not other and written_by(instruction))
