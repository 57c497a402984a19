"""Loads that wait: a loop reads one place again and again until it holds what it waits for, and does nothing else.

Whatever such a load finds first, the loop ends with the same answer: its value does not depend on who came first.
"""

from __future__ import annotations

from collections.abc import Iterable

from .flow import EXIT, Flow
from .program import Address, Instruction, Register
from .provenance import read_by, written_by

EFFECTS = ("st", "red", "atom", "cp", "bar", "barrier", "mbarrier", "call")
"""What a loop that only waits does not do."""


def waiting_loads(instructions: tuple[Instruction, ...], flow: Flow) -> frozenset[int]:
    """The loads that wait, by pc; with those that look at the same place, by the same address, before the loop: the
    compiler takes the first look out of it. And all questions to mbarriers, which are asked for nothing else."""
    waits = [
        pc
        for pc, each in enumerate(instructions)
        if each.opcode.root == "ld" and flow.in_loop(pc) and _waits(instructions, flow, pc)
    ]
    places = {_address(instructions[pc]) for pc in waits}
    return frozenset(
        pc
        for pc, each in enumerate(instructions)
        if each.opcode.root == "mbarrier" or (each.opcode.root == "ld" and _address(each) in places)
    )


def _address(load: Instruction) -> Address:
    return load.operands[1]


def _waits(instructions: tuple[Instruction, ...], flow: Flow, load: int) -> bool:
    """Whether a branch that asks for the loaded value leads back to the load on a way without effects."""
    quiet = {
        block
        for block in flow.starts
        if all(instructions[pc].opcode.root not in EFFECTS for pc in flow.range_of(block))
    }
    here = flow.block_of(load)
    for branch, ways in flow.next.items():
        there = _way(flow, quiet, here, branch)
        if len(ways) < 2 or there is None:
            continue
        for way in ways:
            back = _way(flow, quiet, way, here)
            if back is None:
                continue
            inside = [instructions[pc] for block in {*there, *back} for pc in flow.range_of(block)]
            if _asks(inside, instructions[load], instructions[flow.range_of(branch)[-1]]):
                return True
    return False


def _way(flow: Flow, quiet: set[int], first: int, last: int) -> set[int] | None:
    """The blocks of a shortest way between two blocks, through quiet blocks alone; None: there is none."""
    if first not in quiet or last not in quiet:
        return None
    came_from, waiting = {first: first}, [first]
    for block in waiting:
        if block == last:
            break
        for to in flow.next[block]:
            if to != EXIT and to in quiet and to not in came_from:
                came_from[to] = block
                waiting.append(to)
    if last not in came_from:
        return None
    way = {last}
    while (last := came_from[last]) not in way:
        way.add(last)
    return way


def _asks(inside: Iterable[Instruction], load: Instruction, branch: Instruction) -> bool:
    """Whether the branch depends on what the load brings, from a place that does not change in the loop."""
    inside = list(inside)
    written = {target for each in inside for target in written_by(each)}
    base = _address(load).base
    if branch.guard is None or (isinstance(base, Register) and base.index in written):
        return False
    known, more = set(written_by(load)), True
    while more:
        found = {t for each in inside if known & set(read_by(each)) for t in written_by(each)}
        more = not found <= known
        known |= found
    return branch.guard.index in known
