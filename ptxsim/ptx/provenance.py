"""Which arguments of a kernel an address can come from, read out of the program without running it.

An address that is made from the pointer `C` alone may only reach the array passed as `C`, however wrong its index is;
and an array that no store can reach is only read, so nobody needs to watch it. Registers are followed through all
instructions at once, whatever their order: what a register may hold only grows.
"""

from collections.abc import Iterable

from .opcode import DTYPES
from .program import Address, Instruction, Pair, Program, Register, Variable, Vector

ANY = -1  # a set with everything in it: all bits

Roots = int
"""A set of arguments, as bits: argument 0 is 1, argument 1 is 2, argument 2 is 4; then the module's variables."""


def roots_of(program: Program) -> dict[int, Roots]:
    """For each instruction with an address to global memory the arguments that the address may come from."""
    known = _spread(program, [_own(i, program) for i in program.instructions])
    return {
        pc: _address_roots(address, known, program)
        for pc, instruction in enumerate(program.instructions)
        if (address := _global_address(instruction)) is not None
    }


def arrays_of(program: Program) -> dict[int, Variable]:
    """For each instruction whose address comes of one shared array and of no other that array: PTX keeps them apart,
    and in C++ no way leads from one to another. Where all may be dynamic shared memory it is that as a whole."""
    static = [each for each in program.shared if each.size]
    numbers = {each.name: 1 << number for number, each in enumerate(static)}
    others = [each for each in program.shared if not each.size]
    if len(numbers) < len(static):
        return {}
    dynamic = 1 << len(static)  # several such arrays begin at one place

    def of(operand: object) -> Roots:
        if not isinstance(operand, Variable) or operand.space != "shared":
            return 0
        return numbers.get(operand.name, dynamic)

    own = [ANY if _brings_addresses(i) else _joined(map(of, i.operands[1:])) for i in program.instructions]
    known = _spread(program, own)
    arrays = {numbers[each.name]: each for each in static}
    if others:
        arrays[dynamic] = others[0]
    found = {}
    for pc, instruction in enumerate(program.instructions):
        for operand in instruction.operands:
            if isinstance(operand, Address):
                base = operand.base
                roots = known[base.index] if isinstance(base, Register) else of(base)
                if roots in arrays:
                    found[pc] = arrays[roots]
                break
    return found


def _brings_addresses(instruction: Instruction) -> bool:
    """Whether it may give an address that does not come of its registers. A number of four bytes out of memory is taken
    for an index."""
    opcode = instruction.opcode
    if opcode.root == "call":
        return True
    if not opcode.facts.reads or opcode.has("param"):
        return False
    return not opcode.types or DTYPES[opcode.types[-1]].itemsize >= 8


def _joined(several: Iterable[Roots]) -> Roots:
    found = 0
    for each in several:
        found |= each
    return found


def _spread(program: Program, own: list[Roots]) -> list[Roots]:
    """What each register may come from; `own`: what each instruction brings in besides the registers that it reads."""
    known = [0] * (len(program.register_bits) + 1)
    flows = [(written_by(i), read_by(i), each) for i, each in zip(program.instructions, own, strict=True)]
    changed = True
    while changed:
        changed = False
        for targets, sources, value in flows:
            for source in sources:
                value |= known[source]
            for target in targets:
                if known[target] | value != known[target]:
                    known[target] |= value
                    changed = True
    return known


def _global_address(instruction: Instruction) -> Address | None:
    """The operand that may name global memory: of a copy to shared memory its source."""
    if instruction.opcode.root == "cp":
        places = [operand for operand in instruction.operands if isinstance(operand, Address)]
        return places[1] if len(places) > 1 else None
    return next((operand for operand in instruction.operands if isinstance(operand, Address)), None)


def _address_roots(address: Address, known: list[Roots], program: Program) -> Roots:
    if isinstance(address.base, Register):
        return known[address.base.index] or ANY
    return _variable_roots(address.base, program) if isinstance(address.base, Variable) else ANY


def _own(instruction: Instruction, program: Program) -> Roots:
    """What an instruction brings in besides the registers that it reads."""
    opcode = instruction.opcode
    if opcode.facts.loads:
        return _loaded(instruction, program)
    if opcode.root in ("atom", "call"):
        return ANY
    found = 0
    for operand in instruction.operands[1:]:
        if isinstance(operand, Variable):
            found |= _variable_roots(operand, program)
    return found


def _loaded(instruction: Instruction, program: Program) -> Roots:
    """A parameter of 8 bytes may be a pointer and is its own root; any other value of 8 bytes may be any pointer."""
    types = instruction.opcode.types  # none: .b128
    if types and DTYPES[types[-1]].itemsize < 8:
        return 0
    base = instruction.operands[1].base
    if instruction.opcode.has("param") and isinstance(base, Variable) and base.space == "param":
        for number, param in enumerate(program.params):
            if (param.offset, param.size) == (base.offset, 8):
                return 1 << number
    return ANY


def _variable_roots(variable: Variable, program: Program) -> Roots:
    if variable.space not in ("global", "const"):
        return 0
    names = [each.name for each in program.globals]
    return 1 << (len(program.params) + names.index(variable.name))


def written_by(instruction: Instruction) -> list[int]:
    """The registers that it writes."""
    if instruction.opcode.root in ("bar", "barrier") and instruction.opcode.has("red"):
        return registers(instruction.operands[0])  # __syncthreads_or
    if not instruction.opcode.facts.result or not instruction.operands:
        return []
    return registers(instruction.operands[0])


def read_by(instruction: Instruction) -> list[int]:
    """The registers whose values go into what it writes."""
    if instruction.opcode.facts.reads:  # what lies at an address does not come from the address
        return []
    return [index for operand in instruction.operands[1:] for index in registers(operand)]


def registers(operand: object) -> list[int]:
    if isinstance(operand, Register):
        return [operand.index]
    if isinstance(operand, Vector):
        return [index for item in operand.items for index in registers(item)]
    if isinstance(operand, Pair):
        return registers(operand.first) + registers(operand.second)
    return []
