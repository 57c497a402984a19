"""Updates in a program: a thread reads a place, makes another value of what it read, and writes that back there; or it
writes there because of what it read.

Several threads that update one place lose updates, since one reads before another has written back: no barrier mends
that, an atomic does. What takes more from the same array than that place (a scan, a transform in place, a swap) is no
update here: there threads share the work on an array, and barriers part its steps.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from .flow import Flow
from .opcode import DTYPES
from .program import Address, Immediate, Instruction, Register, Variable
from .provenance import read_by, registers, written_by

ATOMICS = {"add": "Add", "sub": "Sub", "min": "Min", "max": "Max", "and": "And", "or": "Or", "xor": "Xor"}
ANY_CHANGE = "atomicCAS(), in a loop until it gives back the value that the new one was made of"
ANY_TEST = "atomicMin() or atomicMax() in place of the test, or atomicCAS()"
FLOATS = ("f16", "f16x2", "bf16", "bf16x2", "f32", "f64")


class Update(NamedTuple):
    """The instructions that read the place and write it, and in words the atomic that does both. An atomic may be what
    writes: what it does was decided by a load before it."""

    load: int
    store: int
    atomic: str


def updates(instructions: tuple[Instruction, ...], flow: Flow) -> Iterator[Update]:
    """For each instruction that writes the last load before it of which it makes an update."""
    values = _Values(instructions)
    loads: dict[tuple, list[int]] = defaultdict(list)  # by place
    for pc, each in enumerate(instructions):
        place = values.place(each)
        if place is None:
            continue
        if each.opcode.root == "ld":
            loads[place].append(pc)
        elif each.opcode.facts.writes:
            same = (load for load in reversed(loads[place]) if not values.changed(place[0], load, pc))
            for load in same:
                if atomic := _atomic(instructions, flow, values, load, pc):
                    yield Update(load, pc, atomic)
                    break


class _Values:
    """Where the values of registers come from."""

    def __init__(self, instructions: tuple[Instruction, ...]) -> None:
        self.instructions = instructions
        self.writers: dict[int, list[int]] = defaultdict(list)  # by register
        for pc, each in enumerate(instructions):
            for register in written_by(each):
                self.writers[register].append(pc)

    def place(self, access: Instruction) -> tuple | None:
        """What names the place of a load, a store or an atomic."""
        address = next((operand for operand in access.operands if isinstance(operand, Address)), None)
        if address is None or access.opcode.has("param"):
            return None
        made_by = self.writers[address.base.index] if isinstance(address.base, Register) else ()
        if len(made_by) == 1 and (move := self.instructions[made_by[0]]).opcode.root == "mov":
            return move.operands[1], address.offset
        return address.base, address.offset

    def changed(self, base: object, first: int, last: int) -> bool:
        """Whether a register that is part of an address is written between these instructions."""
        return isinstance(base, Register) and any(first <= pc < last for pc in self.writers[base.index])

    def behind(self, wanted: list[int]) -> set[int]:
        """All instructions that have to do with what these registers hold: back to loads, and no further."""
        found: set[int] = set()
        waiting = list(wanted)
        while waiting:
            for pc in self.writers[waiting.pop()]:
                if pc not in found:
                    found.add(pc)
                    waiting += read_by(self.instructions[pc])
        return found

    def arrays(self, address: Address) -> set[str]:
        """The arrays and parameters that an address is made of."""
        if isinstance(address.base, Variable):
            return {address.base.name}
        operands = (
            each for pc in self.behind(registers(address.base)) for each in self.instructions[pc].operands[1:]
        )
        bases = (each.base if isinstance(each, Address) else each for each in operands)
        return {base.name for base in bases if isinstance(base, Variable)}

    def take_more(self, load: int, made_of: set[int]) -> bool:
        """Whether some of these instructions read the array of `load` at another place."""
        mine = self.instructions[load].operands[1]
        for pc in made_of:
            opcode = self.instructions[pc].opcode
            if not opcode.facts.loads or opcode.has("param") or self.instructions[pc].operands[1] == mine:
                continue
            theirs = self.arrays(self.instructions[pc].operands[1])
            if not theirs or theirs & self.arrays(mine):
                return True
        return False


def _atomic(instructions: tuple[Instruction, ...], flow: Flow, values: _Values, load: int, store: int) -> str:
    """In words the atomic that does what these two do with one place; "": they are no update."""
    written = [register for operand in instructions[store].operands[1:] for register in registers(operand)]
    made_of = values.behind(written)
    if values.take_more(load, made_of):
        return ""
    if load in made_of:
        return _of_change(instructions, made_of, load)
    decided_by = [guard for guard in _guards(instructions, flow, store) if load in values.behind([guard])]
    if not decided_by or values.take_more(load, values.behind(decided_by)):
        return ""
    brought = set(written_by(instructions[load]))
    copied = (
        each.opcode.root == "st" and any(brought & set(registers(operand)) for operand in each.operands[1:])
        for each in instructions
    )
    return "" if any(copied) else ANY_TEST  # what is written elsewhere changes places with another value


def _guards(instructions: tuple[Instruction, ...], flow: Flow, pc: int) -> Iterator[int]:
    """The registers that decide whether an instruction is done."""
    lasts = (flow.range_of(block)[-1] for block in flow.starts if flow.block_of(pc) in flow.decided_by(block))
    for each in (pc, *lasts):
        if (guard := instructions[each].guard) is not None:
            yield guard.index


def _of_change(instructions: tuple[Instruction, ...], made_of: set[int], load: int) -> str:
    """The atomic for the value that these instructions make of what was read."""
    known, steps = set(written_by(instructions[load])), set[int]()
    while more := {pc for pc in made_of - steps if known & set(read_by(instructions[pc]))}:
        steps |= more
        known.update(*(written_by(instructions[pc]) for pc in more))
    names = {name for pc in steps if (name := _operation(instructions[pc], known))}
    if len(names) != 1 or (name := names.pop()) not in ATOMICS:
        return ANY_CHANGE
    return _in_words(name, [kind for pc in steps for kind in instructions[pc].opcode.types][-1])


def _operation(step: Instruction, known: set[int]) -> str:
    """What it does with a value that depends on the one that was read; "": it only hands it on."""
    root, (*first, last) = step.opcode.root, step.operands[1:]
    depends = [bool(known & set(registers(operand))) for operand in first]
    if root in ("mov", "cvt"):
        return ""
    if root in ("fma", "mad"):
        return "?" if any(depends) else "add"
    if root == "sub":
        return "sub" if depends[0] else "?"
    return "sub" if root == "add" and isinstance(last, Immediate) and last.text.startswith("-") else root


def _in_words(name: str, of: str) -> str:
    """`of`: the type."""
    if of in FLOATS:
        return {"add": "atomicAdd()", "sub": "atomicAdd() of the negative value"}.get(name, ANY_CHANGE)
    atomic, size = f"atomic{ATOMICS[name]}()", DTYPES[of].itemsize
    if size < 4:
        return f"{atomic}, on a variable of 32 bits"
    return f"{atomic}, as unsigned long long" if size == 8 else atomic
