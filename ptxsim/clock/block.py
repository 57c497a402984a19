"""What the warps of one block do, and when, by its machine code: a block from its begin to its end, with a few k-tiles.

The SM's other blocks begin with it and go round in their main loop until it has ended. It is the oldest of them, which
an SM prefers (`AGE`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from math import floor
from typing import NamedTuple

from ..compiler.disassembly import SassInstruction
from ..front.kernel import Kernel
from ..gpus import Gpu
from .core import Op, Use
from .model import EDGE, FEW, Setting, Warp, first_k_tile, loops, setting
from .operations import Await, Bulk, Sync
from .services import Spans, spans_of
from .sm import Stream, run

K_TILES = 64, 32, 16, 8
"""K-tiles of the block, in each of its tiles of C: the first of these that are not too many instructions. A ring of
slots takes many to fill, where copies are little faster than the math."""
MOST_OPS = 160_000
"""Of the SM's blocks together."""


class Issue(NamedTuple):
    """An instruction of a warp, in cycles from the block's begin: from when on the warp was at it, and when it had
    issued; of a barrier, when it let the warp go. `k_tile` of C's tile, counted through
    all tiles; -1 before the first."""

    begin: float
    end: float
    address: int
    use: Use
    k_tile: int


@dataclass(frozen=True)
class BlockCycles:
    """One of the `resident` blocks of an SM: what each of its warps issues. Never a measurement.

    `turn`: cycles from one of its k-tiles to the next, `mean_turn`: the mean of all the SM's blocks, both in the steady
    state, 0 where the block has too few k-tiles; `spans`: when units of the SM work for it; `origin`: as LaunchCycles'.
    """

    gpu: Gpu
    resident: int
    turn: float
    mean_turn: float
    warps: tuple[tuple[Issue, ...], ...] = field(repr=False)
    spans: Spans = field(repr=False)
    instructions: tuple[SassInstruction, ...] = field(repr=False)
    origin: str = ""


def block_cycles(
    kernel: Kernel,
    grid: Sequence[int],
    block: Sequence[int],
    args_at: Callable[..., Sequence],
    k_tiles: int,
    shared_mem: int = 0,
    gpu: str | Gpu = "H100",
    operands: int = 0,
    tiles: int = 1,
) -> BlockCycles:
    """The arguments, and Untraceable, are those of `launch_cycles`. Of several `tiles` the block makes two."""
    one = setting(kernel, grid, block, args_at, shared_mem, gpu, operands, tiles, k_tiles)
    walks = _walks(one, k_tiles, min(tiles, 2))
    warps = len(walks.whole)
    streams = [
        Stream(ops, 0, tuple(range(len(ops))), k_tiles=numbers)
        for ops, numbers in zip(walks.whole, walks.numbers)
    ]
    for number in range(1, one.resident):
        streams += [Stream(warp.ops, number, warp.marks[:-1], warp.loop) for warp in walks.loops]
    played = run(streams, one.rates, shown=0)
    issues = tuple(map(_issues, walks.whole, played.times, walks.numbers))
    turn = _turn(issues, walks.k_tiles)
    others = [_rate(played.times[at : at + warps]) for at in range(warps, len(streams), warps)]
    mean = one.resident / (1 / turn + sum(others)) if turn else 0.0
    spans = spans_of(walks.whole, played.times, one.rates)
    origin = one.rates.costs.origin
    return BlockCycles(one.gpu, one.resident, turn, mean, issues, spans, one.instructions, origin)


@dataclass(frozen=True)
class _Walks:
    """What the warps of a block issue with `k_tiles` in a tile of C, and with `more` fewer of them."""

    k_tiles: int
    whole: list[list[Op]]
    more: int
    short: list[list[Op]]

    @cached_property
    def loops(self) -> list[Warp]:
        """Each warp's way round in its main loop, if the walks show it."""
        if not self.more:
            return [Warp(ops, ()) for ops in self.whole]
        return loops(self.short, self.whole, self.k_tiles - self.more, self.more)

    @cached_property
    def numbers(self) -> list[list[int]]:
        """For each instruction of each warp the number of its k-tile."""
        copied = {op.mbarrier for ops in self.whole for op in ops if isinstance(op, Bulk)}
        if copied:
            return [_by_mbarriers(ops, copied) for ops in self.whole]
        return [self._by_turns(*both) for both in zip(self.short, self.whole)]

    def _by_turns(self, short: list[Op], long: list[Op]) -> list[int]:
        """Of a loop that takes as many instructions for each k-tile."""
        first, tile = (
            first_k_tile(short, long, self.k_tiles - self.more, self.more) if self.more else (0.0, 0.0)
        )
        last = self.k_tiles - 1
        return [min(floor((at - first) / tile), last) if tile else 0 for at in range(len(long))]


def _by_mbarriers(ops: list[Op], copied: set[int]) -> list[int]:
    """A k-tile begins where a warp waits for its copies; or, if it never does, where it waits before it copies."""
    waits = [isinstance(op, Await) and op.mbarrier in copied for op in ops]
    if not any(waits):
        waits = [isinstance(op, Await) for op in ops]
    return [number - 1 for number in accumulate(waits)]


def _walks(one: Setting, k_tiles: int, tiles: int) -> _Walks:
    few = min(FEW, max(k_tiles - 1, 1))
    short = one.walked(few, tiles)
    of_a_k_tile = one.resident * sum(map(len, short)) / few
    most = next((count for count in K_TILES if count * of_a_k_tile <= MOST_OPS), K_TILES[-1])
    count = min(most, k_tiles)
    return _Walks(count, one.walked(count, tiles) if count > few else short, count - few, short)


def _issues(ops: list[Op], times: list[float], numbers: list[int]) -> tuple[Issue, ...]:
    """Of a warp. A warp is at an instruction from the issue of the one before it on; behind a barrier, from when that
    let it go."""
    ends = [
        after if isinstance(op, Sync) else time
        for op, time, after in zip(ops, times, [*times[1:], times[-1]])
    ]
    begins = [0.0, *ends[:-1]]
    return tuple(
        Issue(begin, end, op.at, use, number)
        for begin, end, op, use, number in zip(begins, ends, ops, _uses(ops), numbers)
    )


def _uses(ops: list[Op]) -> list[Use]:
    """Of each instruction. What needs the answer of an mbarrier waits for it."""
    uses: list[Use] = []
    asked: set[int] = set()  # scoreboards that an answer clears
    for op in ops:
        waits = asked.intersection(op.waits)
        uses.append("wait" if waits else op.use)
        asked -= waits
        if isinstance(op, Await):
            asked.add(op.sets)
    return uses


def _turn(warps: tuple[tuple[Issue, ...], ...], k_tiles: int) -> float:
    """Cycles from one k-tile to the next, the mean of all warps that have them, without the first and the last ones."""
    first, last = EDGE, k_tiles - EDGE
    turns = []
    for issues in warps:
        begins = {issue.k_tile: issue.begin for issue in reversed(issues)}
        if first < last and first in begins and last in begins:
            turns.append((begins[last] - begins[first]) / (last - first))
    return sum(turns) / len(turns) if turns else 0.0


def _rate(warps: list[list[float]]) -> float:
    """k-tiles a cycle of a block that goes round, by when its warps began each, without the first half."""
    rates = []
    for times in warps:
        steady = times[len(times) // 2 :]
        if len(steady) > 1:
            rates.append((len(steady) - 1) / (steady[-1] - steady[0]))
    return sum(rates) / len(rates) if rates else 0.0
