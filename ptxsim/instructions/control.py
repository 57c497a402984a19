"""Where lanes go on: bra, brx.idx, ret, exit, trap (PTX ISA, "Control Flow Instructions")."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..memory import Fault
from ..ptx.opcode import UnsupportedInstruction
from ..ptx.program import Instruction
from .registry import control


@control("bra")
def bra(d, ins: Instruction) -> Callable:
    """bra target: the lanes whose guard is true jump, the others go on behind it."""
    target, behind = ins.operands[0].pc, d.pc + 1
    if ins.guard is None:
        return lambda m: m.jump(target, m.idx)
    read = d.source(ins.guard, "pred")

    def end(m) -> None:
        taken = read(m)
        if taken.all():
            m.jump(target, m.idx)
        elif not taken.any():
            m.jump(behind, m.idx)
        else:
            lanes = m.active()
            m.jump(target, lanes[taken])
            m.jump(behind, lanes[~taken])

    return end


@control("brx")
def brx(d, ins: Instruction) -> Callable:
    """brx.idx index, targets: a jump table."""
    read = d.source(ins.operands[0], "u32")
    targets = [getattr(target, "pc", None) for target in getattr(ins.operands[1], "items", ())]
    if not targets or None in targets:
        raise UnsupportedInstruction(
            "the targets of brx.idx are the name of a list of labels (.branchtargets)"
        )

    def end(m) -> None:
        index, lanes = m.spread(read(m)), m.active()
        beyond = np.flatnonzero(index >= len(targets))
        if len(beyond):
            lane = int(beyond[0])
            raise Fault("out-of-bounds", f"jumps to target {index[lane]} of a table of {len(targets)}", lane)
        for i in np.unique(index):
            m.jump(targets[int(i)], lanes[index == i])

    return end


@control("ret")
def ret(d, ins: Instruction) -> Callable:
    """ret at the end of a kernel: the lanes are done."""
    behind = d.pc + 1
    if ins.guard is None:
        return lambda m: m.exit(m.idx)
    read = d.source(ins.guard, "pred")

    def end(m) -> None:
        done, lanes = m.spread(read(m)), m.active()
        if not done.all():
            m.jump(behind, lanes[~done] if done.any() else m.idx)
        if done.any():
            m.exit(lanes[done] if not done.all() else m.idx)

    return end


@control("exit")
def exit_(d, ins: Instruction) -> Callable:
    """exit: the lanes are done."""
    return ret(d, ins)


@control("trap")
def trap(d, ins: Instruction) -> Callable:
    """trap ends the launch with an error."""

    def end(m) -> None:
        raise Fault("trap", "the kernel ended itself, with __trap() or by a check of the compiler", 0)

    return end
