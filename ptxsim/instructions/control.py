"""Where lanes go on: bra, brx.idx, calls through pointers, ret, exit, trap (PTX ISA, "Control Flow Instructions")."""

from collections.abc import Callable, Mapping

import numpy as np

from ..ground.memory import Fault, Miss
from ..ptx.flow import targets_of
from ..ptx.opcode import UnsupportedInstruction
from ..ptx.program import Instruction
from ..units.barriers import Synchronising
from .registry import Operands, control


@control("bra")
def bra(decoder: Operands, ins: Instruction) -> Callable[[Synchronising], None]:
    """bra target: the lanes whose guard is true jump, the others go on behind it."""
    target, behind = ins.operands[0].pc, decoder.pc + 1
    if ins.guard is None:
        return lambda machine: machine.turns.add(target, machine.idx)
    read = decoder.source(ins.guard, "pred")

    def end(machine: Synchronising) -> None:
        taken = read(machine)
        if taken.all():
            machine.turns.add(target, machine.idx)
        elif not taken.any():
            machine.turns.add(behind, machine.idx)
        else:
            lanes = machine.active()
            machine.turns.add(target, lanes[taken])
            machine.turns.add(behind, lanes[~taken])

    return end


@control("brx")
def brx(decoder: Operands, ins: Instruction) -> Callable:
    """brx.idx index, targets: a jump table."""
    read = decoder.source(ins.operands[0], "u32")
    targets = targets_of(ins)
    if not targets:
        raise UnsupportedInstruction(
            "the targets of brx.idx are the name of a list of labels (.branchtargets)"
        )

    def end(machine: Synchronising) -> None:
        index, lanes = machine.spread(read(machine)), machine.active()
        beyond = index >= len(targets)
        if beyond.any():
            words = f"jumps to target {index[beyond.argmax()]} of a table of {len(targets)}"
            machine.missed(Miss("out-of-bounds", beyond, lambda: words), decoder.pc)
            index = np.minimum(index, len(targets) - 1)
        for i in np.unique(index):
            machine.turns.add(targets[int(i)], lanes[index == i])

    return end


@control("call.indirect")
def call_indirect(decoder: Operands, ins: Instruction) -> Callable[[Synchronising], None]:
    """A call through a pointer: where the function begins that it leads to. `running`: functions of the same kind in
    whose bodies the call stands."""
    pointer, known, begins, running = ins.operands
    read = decoder.source(pointer, "u64")
    begin_of = {int(each.text): begin.pc for each, begin in zip(known.items, begins.items, strict=True)}
    active, names = {int(each.text) for each in running.items}, decoder.code.program.functions

    def end(machine: Synchronising) -> None:
        called, lanes = machine.spread(read(machine)), machine.active()
        for address in np.unique(called).tolist():
            if address not in begin_of:
                lane = int((called == address).argmax())
                if address in active:
                    raise Fault("unsupported-instruction", _recursion(names[address]), lane)
                raise Fault("no-function", _no_function(address, names), lane)
            machine.turns.add(begin_of[address], lanes[called == address])

    return end


def _recursion(name: str) -> str:
    return (
        f"recursion: device function {name} is called through a pointer while it runs; the simulator inlines every "
        "call. Write it as a loop."
    )


def _no_function(address: int, names: Mapping[int, str]) -> str:
    if address in names:
        return (
            f"calls {names[address]} through a pointer to functions with other parameters, or another result: what it "
            "gets is undefined"
        )
    return (
        f"calls through the pointer {address:#x}, where no function of the device is. Only code of the device may take "
        "the address of a __device__ function: what the host takes is the host's function, and a table of an object "
        "that the host made leads to the host's, too"
    )


@control("ret")
def ret(decoder: Operands, ins: Instruction) -> Callable[[Synchronising], None]:
    """ret at the end of a kernel: the lanes are done."""
    behind = decoder.pc + 1
    if ins.guard is None:
        return lambda machine: machine.exit(machine.idx)
    read = decoder.source(ins.guard, "pred")

    def end(machine: Synchronising) -> None:
        done, lanes = machine.spread(read(machine)), machine.active()
        if not done.all():
            machine.turns.add(behind, lanes[~done] if done.any() else machine.idx)
        if done.any():
            machine.exit(lanes[done] if not done.all() else machine.idx)

    return end


@control("exit")
def exit_(decoder: Operands, ins: Instruction) -> Callable:
    """exit: the lanes are done."""
    return ret(decoder, ins)


@control("trap")
def trap(decoder: Operands, ins: Instruction) -> Callable:
    """trap ends the launch with an error."""

    def end(machine: Synchronising) -> None:
        words = "the kernel ended itself, with __trap() or by a check of the compiler"
        if machine.launch.needs_all_blocks:
            words += (
                ". grid.sync() ends a launch that is not cooperative: in ptxsim launch(..., cooperative=True)"
            )
        raise Fault("trap", words, 0)

    return end
