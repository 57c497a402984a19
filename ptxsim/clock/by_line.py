"""What a launch's warps spend their time on, by source line: from shares by machine instruction."""

from collections.abc import Mapping, Sequence

from ..compiler.disassembly import SassInstruction

Shares = dict[int, dict[str, float]]
"""By line, 0 for what has none, and reason: the share of a warp's time."""
WAITS = {"copies": ("DEPBAR", "SYNCS.PHASECHK"), "barrier": ("BAR.SYNC", "UCGABAR_WAIT", "SYNCS.PHASECHK")}
"""Instructions that make a warp wait for this. They are issued, and what stands behind them is not."""


def by_line(instructions: Sequence[SassInstruction], shares: Mapping[tuple[int, str], float]) -> Shares:
    """Shares by (index of an instruction, reason), summed by line and reason. A wait for copies or at a barrier is that
    of the line which says so, where a reader looks for it."""
    lines: Shares = {}
    for (at, reason), share in shares.items():
        said = instructions[_said(instructions, min(at, len(instructions) - 1), reason)]
        of_line = lines.setdefault(said.line or said.call_line or 0, {})
        of_line[reason] = of_line.get(reason, 0.0) + share
    return lines


def _said(instructions: Sequence[SassInstruction], at: int, reason: str) -> int:
    """The instruction for which a warp waits at this one. For copies it waits at the next instruction; behind
    BAR.SYNC.DEFER_BLOCKING arithmetic goes on, and it waits at the next access to memory or branch."""
    farthest = {"copies": max(at - 1, 0), "barrier": 0}.get(reason, at)
    found = (
        before
        for before in range(at, farthest - 1, -1)
        if instructions[before].opcode.startswith(WAITS.get(reason, ()))
    )
    return next(found, at)
