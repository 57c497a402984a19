"""Values that the compiler sets behind a wgmma.fence, though the source sets them before it.

`float d[4] = {0, 0, 0, 0}; wgmma_fence(); wgmma(d, ...)`: in straight-line code NVRTC writes the zeros in front of the
wgmma, behind the fence. The machine code has none of that, and the source is right, so it is no missing fence.

Two marks tell such instructions from those of a source that writes behind the fence: their line stands before the
fence, or is the fence's own; or they are moves in the line of the wgmma itself, which fill its operands. A move of what
was computed behind the fence is none. Constants alone cannot be told: `wgmma_fence(); d[0] = 0; wgmma(d, ...)` makes
the same PTX.
"""

from collections.abc import Collection

from .program import Instruction, Where
from .provenance import read_by, written_by

FENCE, WAIT, MATH = "wgmma.fence", "wgmma.wait_group", "wgmma.mma_async"


def sunk(instructions: tuple[Instruction, ...], leaders: Collection[int]) -> frozenset[int]:
    """Such instructions, by pc. `leaders`: where the program may come from elsewhere."""
    found: set[int] = set()
    for pc, each in enumerate(instructions):
        if each.opcode.text.startswith(FENCE):
            found |= _behind(pc, instructions, leaders)
    return frozenset(found)


def _behind(fence: int, instructions: tuple[Instruction, ...], leaders: Collection[int]) -> set[int]:
    """Those behind one fence, as far as the code is straight and nobody waits."""
    end = fence + 1
    while end < len(instructions) and end not in leaders and not _ends(instructions[end]):
        end += 1
    run = range(fence + 1, end)
    math = {instructions[pc].where for pc in run if instructions[pc].opcode.text.startswith(MATH)}
    found: set[int] = set()
    computed_here: set[int] = set()
    for pc in run:
        each = instructions[pc]
        moved = _stands_before(each.where, instructions[fence].where) and each.where not in math
        fills = each.opcode.root == "mov" and each.where in math | {instructions[fence].where}
        if (moved or fills) and not computed_here.intersection(read_by(each)):
            found.add(pc)
        elif each.opcode.root != "wgmma":
            computed_here.update(written_by(each))
    return found


def _ends(instruction: Instruction) -> bool:
    return instruction.opcode.root in ("bra", "brx", "ret", "exit") or instruction.opcode.text.startswith(
        WAIT
    )


def _stands_before(where: Where, fence: Where) -> bool:
    """Whether a line stands before that of a fence, in the kernel or in one helper; or is the same: what is moved there
    has none of its own."""
    if where == fence:
        return True
    if where.call_line == fence.call_line:
        return 0 < where.line < fence.line
    return (where.call_line or where.line) < (fence.call_line or fence.line)
