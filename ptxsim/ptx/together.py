"""Lanes of a warp that stay together where the source has an `if` around one atomic.

Groups of several warps (`cg::tiled_partition<64>`) meet by a word in shared memory: one lane of each warp sets the
warp's bit in an `if`, and behind it all lanes wait until the bit is cleared (cooperative_groups/details/sync.h). No
__syncwarp() stands between the two. So that code counts on what ptxas makes of such an `if`: an instruction with a
guard, for the whole warp at once. By PTX alone a lane might look before the bit is set.
"""

from collections.abc import Iterator
from dataclasses import replace

from .flow import ENDS, targets_of
from .program import Instruction, Register, Target
from .provenance import written_by

MOST = 8
"""Instructions in such an `if`."""


def predicated(instructions: tuple[Instruction, ...]) -> tuple[Instruction, ...]:
    """The program with guards in the place of branches around a short stretch that has a reduction (`red`)."""
    made = list(instructions)
    for at, first, end, guard in _around_reductions(instructions):
        made[at] = replace(instructions[at], guard=None, operands=(Target(first),))
        made[first:end] = [replace(each, guard=guard) for each in instructions[first:end]]
    return tuple(made)


def _around_reductions(instructions: tuple[Instruction, ...]) -> Iterator[tuple[int, int, int, Register]]:
    """Of each: the branch, the first instruction of the stretch and the one behind it, and who comes to it."""
    targets = {target for each in instructions for target in targets_of(each)}
    for at, branch in enumerate(instructions[:-1]):
        if branch.opcode.root != "bra" or branch.guard is None:
            continue
        (target,) = targets_of(branch)
        if target == at + 2 and _jump(instructions[at + 1]):  # over a jump to where the others are
            first, meet, guard = target, _jump(instructions[at + 1]), branch.guard
        else:
            first, meet, guard = at + 1, target, replace(branch.guard, negated=not branch.guard.negated)
        end = first
        while end < len(instructions) and _plain(instructions[end], guard) and end != meet:
            end += 1
        goes_on = end == meet or (end < len(instructions) and _jump(instructions[end]) == meet)
        stretch = instructions[first:end]
        alone = targets.isdisjoint(range(first + 1, end + (end != meet)))
        if goes_on and alone and len(stretch) <= MOST and any(each.opcode.root == "red" for each in stretch):
            yield at, first, end, guard


def _jump(each: Instruction) -> int | None:
    """Where all lanes go that come to it, if it is a jump."""
    return targets_of(each)[0] if each.opcode.root == "bra" and each.guard is None else None


def _plain(each: Instruction, guard: Register) -> bool:
    """Whether it may have this guard: it has none, jumps nowhere, and does not change it."""
    jumps = targets_of(each) or each.opcode.root in (*ENDS, "call", "bar", "barrier")
    return each.guard is None and not jumps and guard.index not in written_by(each)
