"""Steps of a program that may read registers which nobody has set (ptx/unset.py): they ask, or run on both values
(units/unset.py). Of all other programs nothing changes."""

from collections.abc import Callable

from ..instructions.memory import loading, storing, vector_length
from ..instructions.registry import Operands
from ..ptx.opcode import DTYPES
from ..ptx.program import Address, Instruction, Program, Register
from ..ptx.provenance import registers
from ..ptx.unset import Unset, loads_shared, repeats, set_by, stores_shared, used_by
from ..units import unset as steps

BRANCHES = ("bra", "brx", "call.indirect", "ret", "exit")
BY_REGISTER = ("brx", "call.indirect")
"""Those whose first operand says where to go."""


class Watched:
    """Of one program, once it is known where such registers may be read."""

    def __init__(self, program: Program, unset: Unset, carry: int, follows_loads: bool) -> None:
        self.program, self.unset, self.carry, self.follows_loads = program, unset, carry, follows_loads

    def concerns(self, pc: int) -> bool:
        """Whether an instruction may read such a register, or writes one."""
        return pc in self.unset.readers or bool(self._written(self.program.instructions[pc]))

    def step(self, step: Callable, pc: int, decoder: Operands) -> Callable:
        """Of an instruction, inside of its guard."""
        instruction = self.program.instructions[pc]
        follows = self.follows_loads and pc in decoder.code.plain_loads
        if not follows and (not self.concerns(pc) or (repeats(instruction) and pc in self.unset.readers)):
            return step
        written = self._written(instruction)
        if loads_shared(instruction) and self.unset.stored and written:
            access, address, put = loading(decoder, instruction)
            step = steps.loads_shared(step, pc, address, put, access.size, written)
        elif written:
            step = steps.settled(step, written)
        if follows:
            step = steps.followed(step, self.take_loaded(pc, decoder))
        return self._asked(step, pc, decoder) if pc in self.unset.readers else step

    def take_loaded(self, pc: int, decoder: Operands) -> Callable:
        """What takes to second values what a load has found where a part was never written."""
        instruction = self.program.instructions[pc]
        _, _, put = loading(decoder, instruction)
        every = frozenset(set_by(instruction, self.carry))
        return steps.take_loaded(pc, put, every, self._written(instruction))

    def guarded(self, step: Callable, pc: int) -> Callable:
        """The same with its guard, and of an instruction that ends a basic block."""
        instruction = self.program.instructions[pc]
        if pc not in self.unset.readers:
            return step
        if repeats(instruction):
            reads, writes = (frozenset(of(instruction, self.carry)) for of in (used_by, set_by))
            return steps.on_both(step, pc, instruction, reads, writes)
        decides = (
            "a branch" if instruction.opcode.root in BRANCHES else f"whether {instruction.opcode.root} runs"
        )
        used = [instruction.guard.index] if instruction.guard else []
        if instruction.opcode.root in BY_REGISTER:
            used += registers(instruction.operands[0])
        return steps.asked(step, pc, used, decides) if self.unset.registers.intersection(used) else step

    def _written(self, instruction: Instruction) -> frozenset[int]:
        return self.unset.registers.intersection(set_by(instruction, self.carry))

    def _asked(self, step: Callable, pc: int, decoder: Operands) -> Callable:
        """Of an instruction that does more than compute."""
        instruction, opcode = self.program.instructions[pc], self.program.instructions[pc].opcode
        places = [operand for operand in instruction.operands if isinstance(operand, Address)]
        in_addresses = [index for place in places for index in _of_address(place)]
        if opcode.root in ("st", "atom", "red"):
            step = self._stored(step, pc, decoder)
        return steps.asked(step, pc, in_addresses, "an address") if in_addresses else step

    def _stored(self, step: Callable, pc: int, decoder: Operands) -> Callable:
        instruction, opcode = self.program.instructions[pc], self.program.instructions[pc].opcode
        place, *values = (operand for operand in instruction.operands[opcode.facts.result :])
        used = [index for operand in values for index in registers(operand)]
        if stores_shared(instruction):
            if not self.unset.stored:
                return step
            access, address, units = storing(decoder, instruction)
            return steps.stores_shared(step, address, units, access.size, frozenset(used))
        if opcode.has("local") or opcode.has("param"):
            return step
        base, alone = None, self._is_alone(pc)
        if opcode.root == "st" and not opcode.has("global") and isinstance(place.base, Register):
            base = place.base.index
        if opcode.root == "st" and self.follows_loads:
            access, address, units = storing(decoder, instruction)
            step = steps.carries(step, pc, address, units, access.size, frozenset(used), alone)
        elif opcode.has("cas"):
            step = steps.compares(step, frozenset(used))
        computes = opcode.root != "st" and not opcode.has("cas") and not opcode.has("exch")
        size = DTYPES[opcode.types[-1]].itemsize
        return steps.stores(step, pc, base, used, size, alone, computes)

    def _is_alone(self, pc: int) -> bool:
        """Whether it is an atomic, or a store of one value and the only one of its line."""
        instruction = self.program.instructions[pc]
        if instruction.opcode.root != "st":
            return True
        stores = [
            i for i in self.program.instructions if i.opcode.root == "st" and i.where == instruction.where
        ]
        return vector_length(instruction.opcode) == 1 and len(stores) == 1


def _of_address(place: Address) -> list[int]:
    return [index for part in (place.base, *place.coordinates) for index in registers(part)]
