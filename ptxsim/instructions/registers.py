"""setmaxnreg: registers that a warpgroup gives back or takes (PTX ISA, "Miscellaneous Instructions")."""

from collections.abc import Callable

from ..ptx.opcode import UnsupportedInstruction
from ..ptx.program import Instruction
from ..units.mbarriers import Hopper
from .barrier import guarded, resume_at
from .memory import constant
from .registry import Operands, control
from .tensor import whole_warpgroups


@control("setmaxnreg")
def setmaxnreg(decoder: Operands, ins: Instruction) -> Callable:
    """setmaxnreg.{inc,dec}.sync.aligned.u32 n: from here on each thread of the warpgroup has n registers. An .inc waits
    until the block has them free. (Here a lane can always hold all that it names: only the numbers count.)"""
    number = constant(ins.operands[0], "setmaxnreg")
    if number % 8 or not 24 <= number <= 256:
        raise UnsupportedInstruction(f"setmaxnreg takes a multiple of 8 from 24 to 256, not {number}")
    pc, takes = decoder.pc, ins.opcode.has("inc")
    resume = resume_at(pc + 1)

    def end(machine: Hopper) -> None:
        whole_warpgroups(machine, "setmaxnreg")
        known = machine.launch.registers is not None
        if not known:
            _say_that_it_does_nothing(machine, pc)
        if known and takes:
            machine.registers.take_more(pc, machine.active(), number, resume)
            return
        if known:
            machine.registers.give_back(machine.active(), number)
        machine.turns.add(pc + 1, machine.idx)

    return guarded(decoder, ins, end)


def _say_that_it_does_nothing(machine: Hopper, pc: int) -> None:
    machine.log.note(
        f"{machine.launch.code.where(pc)}: ptxas ignores setmaxnreg, because nothing fixes how many registers a thread "
        "has at the launch. __launch_bounds__ with two numbers does, or __maxnreg__"
    )
