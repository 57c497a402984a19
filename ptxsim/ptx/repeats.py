"""Loops of one basic block whose counter does nothing but end them: their rounds may come to be all alike.

Such a loop computes, loads and stores, and waits for nobody. If a round begins with the same in all registers that it
reads, but for the counter, and has changed nothing in memory, then the next one does the same again.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from .counted import WHOLE
from .flow import Flow
from .opcode import DTYPES
from .program import Immediate, Instruction, Register, Special
from .provenance import written_by
from .rounds import CLOCKS, asked_by

STRONG = ("volatile", "relaxed", "acquire", "release", "mmio")
BACKWARDS = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
OTHERWISE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}


@dataclass(frozen=True)
class Repeat:
    """A loop that goes on while `counter` stands in this relation to `end`, both of this type. A round adds `step`,
    before it compares if `first`. `carried`: the other registers that one round leaves to the next."""

    counter: Register
    end: Register | Immediate
    type: str
    relation: str
    step: int
    first: bool
    carried: tuple[int, ...]

    def rounds(self, counter: int, end: int) -> int:
        """How many rounds are still to come, when one has ended with this counter; 0 where nobody knows."""
        limits = _limits(self.type)
        far = end - counter
        if self.relation == "ne":
            times = far // self.step if far % self.step == 0 else 0
        elif self.relation in ("lt", "le") and self.step > 0:
            times = -(-far // self.step) if self.relation == "lt" else far // self.step + 1
        elif self.relation in ("gt", "ge") and self.step < 0:
            times = -(far // -self.step) if self.relation == "gt" else far // self.step + 1
        else:
            return 0
        last = counter + self.step * times
        if times < 1 or not limits[0] <= last <= limits[1]:
            return 0
        return times + (not self.first)


def _limits(kind: str) -> tuple[int, int]:
    bits = 8 * DTYPES[kind].itemsize
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if kind[0] == "s" else (0, (1 << bits) - 1)


def repeats(instructions: Sequence[Instruction], flow: Flow) -> dict[int, Repeat]:
    """By the basic block."""
    alone = (block for block in flow.starts if block in flow.next[block])
    found = ((block, _of([instructions[pc] for pc in flow.range_of(block)])) for block in alone)
    return {block: repeat for block, repeat in found if repeat}


def _of(body: list[Instruction]) -> Repeat | None:
    *inside, last = body
    if last.opcode.root != "bra" or last.guard is None or not all(map(_is_plain, inside)):
        return None
    writers: dict[int, list[int]] = {}
    for at, each in enumerate(inside):
        for index in written_by(each):
            writers.setdefault(index, []).append(at)
    asked = writers.get(last.guard.index, [])
    compares = inside[asked[0]] if len(asked) == 1 else None
    if compares is None or compares.opcode.root != "setp" or len(compares.operands) != 3 or compares.guard:
        return None
    for counter, end, turned in ((*compares.operands[1:], False), (*compares.operands[:0:-1], True)):
        if not isinstance(counter, Register) or len(writers.get(counter.index, [])) != 1:
            continue
        at = writers[counter.index][0]
        step = _step(inside[at], counter)
        stays = isinstance(end, Immediate) or (isinstance(end, Register) and end.index not in writers)
        readers = [each for each in inside if counter.index in asked_by(each)]
        if not step or not stays or readers not in ([inside[at], compares], [compares, inside[at]]):
            continue
        relation = _relation(compares, turned, last.guard.negated)
        if relation:
            kind, carried = compares.opcode.types[-1], _carried(inside, set(writers)) - {counter.index}
            return Repeat(counter, end, kind, relation, step, at < asked[0], tuple(sorted(carried)))
    return None


def _is_plain(instruction: Instruction) -> bool:
    """Whether it only computes, loads or stores: others cannot stop it, and it meets nobody."""
    opcode, facts = instruction.opcode, instruction.opcode.facts
    if any(map(opcode.has, STRONG)) or any(map(_is_clock, instruction.operands)):
        return False
    if opcode.root in ("ld", "st"):
        return True
    meets = facts.trace or facts.waits_for or facts.reads or facts.writes or facts.answers
    carries = opcode.has("cc") or opcode.root in ("addc", "subc", "madc")
    return facts.result and not (meets or carries or opcode.root == "tex")


def _is_clock(operand: object) -> bool:
    return isinstance(operand, Special) and any(word in operand.name for word in CLOCKS)


def _step(instruction: Instruction, counter: Register) -> int:
    """What it adds to the counter; 0 where it does anything else."""
    opcode, operands = instruction.opcode, instruction.operands
    if opcode.root not in ("add", "sub") or opcode.types[-1] not in WHOLE or instruction.guard:
        return 0
    if operands[1] != counter or not isinstance(operands[2], Immediate):
        return 0
    step = int(operands[2].value(DTYPES[f"s{counter.bits}"])[0])
    return step if opcode.root == "add" else -step


def _relation(compares: Instruction, turned: bool, negated: bool) -> str:
    """In which the counter stands to the end while the loop goes on; "" where it is no plain one."""
    opcode = compares.opcode
    name = UNSIGNED.get(opcode.modifiers[0], opcode.modifiers[0])
    if opcode.types[-1] not in WHOLE or name not in BACKWARDS or len(opcode.modifiers) != 2:
        return ""
    name = BACKWARDS[name] if turned else name
    return OTHERWISE[name] if negated else name


def _carried(inside: list[Instruction], written: set[int]) -> set[int]:
    """Of the registers that a round writes those that it reads before, or may leave as they were."""
    found, sure = set[int](), set[int]()
    for each in inside:
        found |= asked_by(each) & written - sure
        if each.guard is None:
            sure |= set(written_by(each))
    return found | (written - sure)
