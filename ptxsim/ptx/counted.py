"""Loops that count to an end: how far they are can be seen while they run.

Such a loop is left where a number that its rounds change is compared with one that they do not. A loop inside of
another begins anew again and again, so only the outermost ones are looked at.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .flow import Flow
from .program import Immediate, Instruction, Register, Where
from .provenance import read_by, written_by

WHOLE = {f"{kind}{bits}" for kind in "sub" for bits in (16, 32, 64)}

SUMS = ("add", "sub", "mov")


@dataclass(frozen=True)
class Counted:
    """A loop that ends where `counter` comes to `end`, both of this type; `sure`: in no other way. `where`: the jump
    that leaves it stands."""

    counter: Register
    end: Register | Immediate
    type: str
    where: Where
    sure: bool


def counted(instructions: Sequence[Instruction], flow: Flow) -> list[Counted]:
    loops = flow.loops()
    outermost = [loop for loop in loops if not any(loop < other for other in loops)]
    return [each for loop in outermost for each in _of(instructions, flow, loop)]


def _of(instructions: Sequence[Instruction], flow: Flow, loop: set[int]) -> Iterator[Counted]:
    writers: dict[int, list[Instruction]] = {}
    for block in loop:
        for pc in flow.range_of(block):
            for index in written_by(instructions[pc]):
                writers.setdefault(index, []).append(instructions[pc])
    leaving = [block for block in sorted(loop) if not loop.issuperset(flow.next[block])]
    for block in leaving:
        *before, last = flow.range_of(block)
        for each, alone in _compared([instructions[pc] for pc in before], instructions[last].guard):
            sure = alone and len(leaving) == 1
            first, second = each.operands[1:3]
            for counter, end in ((first, second), (second, first)):
                if _counts(counter, writers) and _stays(end, writers):
                    yield Counted(counter, end, each.opcode.types[-1], instructions[last].where, sure)


def _compared(before: Sequence[Instruction], asked: Register | None) -> Iterator[tuple[Instruction, bool]]:
    """The comparisons of whole numbers that go into a predicate, and whether nothing else does."""
    if asked is None:
        return
    for at in reversed(range(len(before))):
        each = before[at]
        if asked.index not in written_by(each):
            continue
        if each.opcode.root == "setp" and each.opcode.types[-1] in WHOLE:
            yield each, len(each.operands) == 3
        elif each.opcode.root in ("and", "or"):
            for operand in each.operands[1:]:
                yield from ((part, False) for part, _ in _compared(before[:at], operand))
        return


def _counts(operand: object, writers: dict[int, list[Instruction]]) -> bool:
    """Whether the loop changes it, and by nothing but sums."""
    if not isinstance(operand, Register) or operand.index not in writers:
        return False
    waiting, seen = [operand.index], set[int]()
    while waiting:
        index = waiting.pop()
        if index not in seen:
            seen.add(index)
            if any(each.opcode.root not in SUMS for each in writers.get(index, ())):
                return False
            waiting += [source for each in writers.get(index, ()) for source in read_by(each)]
    return True


def _stays(operand: object, writers: dict[int, list[Instruction]]) -> bool:
    return isinstance(operand, Immediate) or (isinstance(operand, Register) and operand.index not in writers)
