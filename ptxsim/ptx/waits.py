"""Loads that wait: a loop goes on or ends by what they bring. Who spins on a flag, sweeps until all is done, or looks
back until a predecessor is ready reads what happens to be there, and reads again until it is what he waits for."""

from .flow import EXIT, Flow
from .program import Address, Instruction
from .provenance import read_by, written_by

STRONG = ("volatile", "relaxed", "acquire")


def waiting_loads(instructions: tuple[Instruction, ...], flow: Flow) -> frozenset[int]:
    """The strong loads that wait, by pc. With them those that look at the same place before the loop, by the same
    address or in the same line of the source: the compiler takes the first look out of the loop. And all questions to
    mbarriers, which are asked for nothing else."""
    strong = {pc for pc, each in enumerate(instructions) if _is_strong(each)}
    waits = (
        {pc for loop in flow.loops() for pc in _waits(instructions, flow, loop, strong)} if strong else set()
    )
    places = {_address(instructions[pc]) for pc in waits}
    lines = {instructions[pc].where for pc in waits}
    looks = {pc for pc in strong if _address(instructions[pc]) in places or instructions[pc].where in lines}
    return frozenset(looks | {pc for pc, each in enumerate(instructions) if each.opcode.root == "mbarrier"})


def _is_strong(instruction: Instruction) -> bool:
    return instruction.opcode.root == "ld" and any(instruction.opcode.has(word) for word in STRONG)


def _address(access: Instruction) -> Address:
    return access.operands[access.opcode.facts.result]


def _waits(instructions: tuple[Instruction, ...], flow: Flow, loop: set[int], strong: set[int]) -> set[int]:
    """The loads of a loop by which it goes on or ends. A loop that itself stores to the place waits for nobody."""
    inside = [pc for block in sorted(loop) for pc in flow.range_of(block)]
    loads = strong.intersection(inside)
    stored = (
        {_address(instructions[pc]) for pc in inside if instructions[pc].opcode.root == "st"} if loads else ()
    )
    exits = [branch for branch in loop if not loop.issuperset(flow.next[branch])]
    guards = {guard.index for branch in exits if (guard := instructions[flow.range_of(branch)[-1]].guard)}
    return {
        pc
        for pc in loads
        if _address(instructions[pc]) not in stored
        and guards & _known_from(pc, instructions, flow, loop, inside)
    }


def _known_from(
    load: int, instructions: tuple[Instruction, ...], flow: Flow, loop: set[int], inside: list[int]
) -> set[int]:
    """The registers of a loop that depend on what the load brings: by data, or set on one way of a branch only."""
    known, before = set(written_by(instructions[load])), -1
    controlled: set[int] = set()
    while before != len(known) + len(controlled):
        before = len(known) + len(controlled)
        for pc in inside:
            each = instructions[pc]
            if known.intersection(read_by(each)) or (each.guard is not None and each.guard.index in known):
                known.update(written_by(each))
                if flow.block_of(pc) in loop and each.opcode.root == "bra":
                    controlled |= _between(flow, loop, flow.block_of(pc))
        for block in controlled:
            known.update(*(written_by(instructions[pc]) for pc in flow.range_of(block)))
    return known


def _between(flow: Flow, loop: set[int], branch: int) -> set[int]:
    """The blocks that a branch inside a loop decides about: from it to where its ways meet. An exit decides only
    whether there is another round."""
    if not loop.issuperset(flow.next[branch]):
        return set()
    found: set[int] = set()
    waiting = list(flow.next[branch])
    while waiting:
        block = waiting.pop()
        if block in loop and block not in (flow.behind[branch], branch, EXIT) and block not in found:
            found.add(block)
            waiting += flow.next[block]
    return found
