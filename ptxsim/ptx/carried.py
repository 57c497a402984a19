"""Values that a kernel only carries from one place in shared memory to another.

A struct is copied with the bytes between its members, which nobody has written. That is legal: only who uses them goes
wrong. So a load whose registers do nothing but go into stores to shared memory is no use of what it brings, and what
was not written there is not written behind the store either.
"""

from collections.abc import Iterator

from .opcode import DTYPES
from .program import Address, Instruction, Register, Vector
from .provenance import registers, written_by


def carried(instructions: tuple[Instruction, ...]) -> dict[int, tuple[int, ...]]:
    """The loads and stores of such registers by pc, with the registers, one for each element."""
    moved = {pc: each for pc, each in enumerate(instructions) if _moves(each)}
    loads = {pc: _values(each) for pc, each in moved.items() if each.opcode.root == "ld"}
    stores = {pc: _values(each) for pc, each in moved.items() if each.opcode.root == "st"}
    found = {register for each in loads.values() for register in each}
    sizes: dict[int, set[int]] = {}
    for pc, each in moved.items():
        for register in (loads | stores)[pc]:
            sizes.setdefault(register, set()).add(DTYPES[each.opcode.types[-1]].itemsize)
    found = {register for register in found if len(sizes[register]) == 1}
    for pc, each in enumerate(instructions):
        if pc not in loads:
            found.difference_update(written_by(each))
        found.difference_update(_used(each, pc in stores))
    return {
        pc: values
        for pc, values in (loads | stores).items()
        if (found.issuperset(values) if pc in loads else not found.isdisjoint(values))
    }


def _moves(instruction: Instruction) -> bool:
    """A plain load of shared memory into registers, or a plain store out of registers."""
    opcode = instruction.opcode
    return (
        opcode.root in ("ld", "st")
        and opcode.has("shared")
        and not ({"volatile", "relaxed", "acquire", "release"} & set(opcode.modifiers))
    )


def _values(instruction: Instruction) -> tuple[int, ...]:
    """The register of each element; -1 for what is none."""
    operand = instruction.operands[0 if instruction.opcode.root == "ld" else 1]
    items = operand.items if isinstance(operand, Vector) else (operand,)
    return tuple(item.index if isinstance(item, Register) else -1 for item in items)


def _used(instruction: Instruction, stores: bool) -> Iterator[int]:
    """The registers that it reads, but for the values of such a store."""
    if instruction.guard is not None:
        yield instruction.guard.index
    for number, operand in enumerate(instruction.operands):
        if isinstance(operand, Address):
            for part in (operand.base, *operand.coordinates):
                yield from registers(part)
        elif not (stores and number == 1) and not (number == 0 and instruction.opcode.facts.result):
            yield from registers(operand)
