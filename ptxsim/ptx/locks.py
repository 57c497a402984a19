"""Locks in a program: an atomic by which a loop goes on or ends takes one, a later write to its place gives it back."""

from collections.abc import Iterator
from typing import NamedTuple

from .flow import Flow
from .program import Address, Instruction
from .provenance import written_by

TAKE = ("cas", "exch")
FENCES = ("fence", "membar")


class Lock(NamedTuple):
    """The instructions that take it and give it back."""

    taken: int
    given: int

    def holds(self, pc: int) -> bool:
        """Whether an instruction stands between the two."""
        return self.taken < pc < self.given


def polling_atomics(instructions: tuple[Instruction, ...], flow: Flow) -> frozenset[int]:
    """The atomics by which a loop goes on or ends."""
    loops = flow.loops()
    return frozenset(
        pc
        for pc, each in enumerate(instructions)
        if each.opcode.root == "atom"
        and any(flow.block_of(pc) in loop and _ends_by(instructions, flow, loop, pc) for loop in loops)
    )


def locks(instructions: tuple[Instruction, ...], flow: Flow) -> Iterator[Lock]:
    """By the order in which the compiler writes instructions down: a lock is taken before it is given back."""
    for pc in sorted(polling_atomics(instructions, flow)):
        if not any(map(instructions[pc].opcode.has, TAKE)):
            continue
        place = _place(instructions[pc])
        for later in range(pc + 1, len(instructions)):
            if instructions[later].opcode.facts.writes and _place(instructions[later]) == place:
                yield Lock(pc, later)
                break


def fence_between(instructions: tuple[Instruction, ...], first: int, last: int) -> bool:
    """Whether a fence of memory stands there."""
    between = (each.opcode for each in instructions[first + 1 : last])
    return any(opcode.root in FENCES and not opcode.has("proxy") for opcode in between)


def _ends_by(instructions: tuple[Instruction, ...], flow: Flow, loop: set[int], pc: int) -> bool:
    """Whether the loop goes on or ends by the answer of the atomic at `pc`."""
    known = set(written_by(instructions[pc]))
    for at in flow.range_of(flow.block_of(pc)):
        each = instructions[at]
        if at > pc and any(getattr(operand, "index", -1) in known for operand in each.operands[1:]):
            known.update(written_by(each))
    last = instructions[flow.range_of(flow.block_of(pc))[-1]]
    leaves = not loop.issuperset(flow.next[flow.block_of(pc)])
    return leaves and last.guard is not None and last.guard.index in known


def _place(access: Instruction) -> Address | None:
    return next((operand for operand in access.operands if isinstance(operand, Address)), None)
