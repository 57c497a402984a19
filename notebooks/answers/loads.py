"""Whether math hides the loads of a kernel, by the order of its PTX: who needs a value waits for it."""

from typing import Any

from cupy_or_sim.simulate import compiled
from ptxsim.compiler import ENDS, Instruction, read_by, targets_of, written_by

Program = tuple[Instruction, ...]


def touched_before_math(kernel: Any, on_every_way: bool = False) -> bool:
    """Whether a load from global memory in a loop has its value used, on some way or on every one, before or by the
    next FMA. Moving it to another register is no use: the assembler makes one register of both. (Of a loop whose turns
    the compiler does not know, one way has none.)"""
    program = compiled(kernel).code.program.instructions
    loads = [pc for pc, each in enumerate(program) if each.opcode.root == "ld" and each.opcode.has("global")]
    return any(_in_loop(program, pc) and _touched(program, pc, on_every_way) for pc in loads)


def _touched(program: Program, load: int, on_every_way: bool) -> bool:
    waiting = [(pc, frozenset(written_by(program[load]))) for pc in _next(program, load)]
    seen = set(waiting)
    while waiting:
        pc, held = waiting.pop()
        each, reads = program[pc], held.intersection(read_by(program[pc]))
        touched = bool(reads) and each.opcode.root != "mov"
        if touched or each.opcode.root == "fma":
            if touched != on_every_way:
                return touched
            continue
        written = frozenset(written_by(each))
        held = held | written if reads else held - written
        ways = {(to, held) for to in _next(program, pc) if held} - seen
        seen |= ways
        waiting += ways
    return on_every_way


def _in_loop(program: Program, pc: int) -> bool:
    waiting, seen = _next(program, pc), set()
    while waiting:
        at = waiting.pop()
        if at not in seen:
            seen.add(at)
            waiting += _next(program, at)
    return pc in seen


def _next(program: Program, pc: int) -> list[int]:
    """The instructions that may come after one."""
    each = program[pc]
    jumps = targets_of(each)
    goes_on = each.guard is not None or not (jumps or each.opcode.root in ENDS)
    return jumps + [pc + 1] * (goes_on and pc + 1 < len(program))
