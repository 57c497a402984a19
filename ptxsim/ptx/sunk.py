"""Values that the compiler sets behind a wgmma.fence, though the source sets them before it.

`float d[4] = {0, 0, 0, 0}; wgmma_fence(); wgmma(d, ...)`: NVRTC writes the zeros in front of the wgmma, behind the
fence, also in a branch or in front of a loop. The machine code has none of that, and the source is right, so it is no
missing fence. Two kinds of instructions, between a fence and the next wait, are told from those of a source that writes
behind the fence:

* Their line stands before the fence, or is the fence's own: `sunk`.
* They only move a value on, in the line of a wgmma or of a branch, and it was not computed behind the fence either
  (units/async_math.py follows that): `moves`. `wgmma_fence(); d[0] = 0; wgmma(d, ...)` makes the same PTX.
"""

from collections.abc import Iterator

from .flow import EXIT, Flow
from .program import Immediate, Instruction, Register, Where
from .provenance import read_by, written_by

FENCE, WAIT = "wgmma.fence", "wgmma.wait_group"


def moves(instructions: tuple[Instruction, ...]) -> dict[int, tuple[int, int | None]]:
    """By pc the register that is set to the value of another one, or to a constant (None)."""
    found = {}
    lines = {each.where for each in instructions if each.opcode.root in ("wgmma", "setp", "bra")} | {Where()}
    for pc, each in enumerate(instructions):
        if each.where not in lines:
            continue  # the source has it there, in a line of its own
        if each.opcode.root == "mov" and each.guard is None and isinstance(each.operands[0], Register):
            source = each.operands[1]
            if isinstance(source, Immediate | Register):
                found[pc] = each.operands[0].index, getattr(source, "index", None)
    return found


def sunk(instructions: tuple[Instruction, ...], flow: Flow) -> frozenset[int]:
    """The instructions behind a fence whose line stands before it, by pc."""
    found: set[int] = set()
    for pc, each in enumerate(instructions):
        if each.opcode.text.startswith(FENCE):
            found |= _behind(pc, instructions, flow)
    return frozenset(found)


def _behind(fence: int, instructions: tuple[Instruction, ...], flow: Flow) -> set[int]:
    """Those behind one fence, until somebody waits. What reads a value that was computed there is none."""
    found: set[int] = set()
    computed_here: set[int] = set()
    for pc in _until_wait(fence, instructions, flow):
        each = instructions[pc]
        if _stands_before(each.where, instructions[fence].where) and not computed_here.intersection(
            read_by(each)
        ):
            found.add(pc)
        elif each.opcode.root not in ("wgmma", "mov"):
            computed_here.update(written_by(each))
    return found


def _until_wait(fence: int, instructions: tuple[Instruction, ...], flow: Flow) -> Iterator[int]:
    """The instructions that a thread may come to behind a fence, each once, up to the next wait."""
    block = flow.block_of(fence)
    ways = [(block, fence + 1)]
    seen = {EXIT, block}
    while ways:
        block, first = ways.pop(0)
        for pc in range(first, flow.range_of(block).stop):
            if instructions[pc].opcode.text.startswith(WAIT):
                break
            yield pc
        else:
            new = [each for each in flow.next[block] if each not in seen]
            seen.update(new)
            ways += [(each, each) for each in new]


def _stands_before(where: Where, fence: Where) -> bool:
    """Whether a line stands before that of a fence, in the kernel or in one helper; or is the same: what is moved there
    has none of its own."""
    if where == fence:
        return True
    if where.call_line == fence.call_line:
        return 0 < where.line < fence.line
    return (where.call_line or where.line) < (fence.call_line or fence.line)
