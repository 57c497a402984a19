"""One SM at work: the warps of its blocks, each with its instructions in order, on four sub-cores.

A sub-core issues at most one instruction a cycle, and an IMAD.WIDE in three. A warp's next one can go when the stall
before it is over, its scoreboards are clear and it is not held at a barrier; when its pipe is free and the way to
memory has room. Of the warps that can go the one that went last goes on, else the one that waited longest; warps of
older blocks have a start. Where wgmma were held by a full line one whose group is begun goes first. An instruction
whose registers cannot be read in time holds up the sub-core, and no other warp slips in. When an instruction issues all
that follows from it is known, but for barriers, for wgmma that the first sub-core has not issued yet, and for what
waits in line for memory, which comes to what all sub-cores share when it is first in line; so the model goes from event
to event, not from cycle to cycle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from ..gpus import SUB_CORES
from .core import Block, Op, SubCore, Warp
from .costs import FIRST_WARP, MEMORY, NEXT_WARP, PRODUCTS_AHEAD, START_EVERY
from .memory import ON_AN_H100, Memory, Rates
from .reasons import FOR_BANKS, FOR_BARRIER, FOR_PIPE, FOR_QUEUE, FOR_TURN, ISSUES
from .walk import Untraceable


@dataclass(frozen=True)
class Stream:
    """A warp: its instructions, and its block on this SM (0 is the oldest).

    `marks`: indices of instructions whose issue time is wanted. `loop`: from where to where it goes round without end,
    as indices; each time with other data in global memory. `k_tiles`: each instruction's; without it one begins at each
    mark. `follow`: so many further blocks do the same in its place, one after the other.
    """

    ops: Sequence[Op]
    block: int
    marks: tuple[int, ...] = ()
    loop: tuple[int, int] | None = None
    k_tiles: Sequence[int] = ()
    follow: int = 0


Spent = dict[tuple[int, int], float]
"""Cycles of all warps, by the address of the instruction that they issued or waited to issue, and by the reason."""


@dataclass(frozen=True)
class Played:
    """`ends[w]`: when warp w ended, in cycles, or the play did; `times[w]`: when it issued its marked instructions;
    `spent`: what all warps spent their cycles on, from `since` on; `blocks`: begin and end of each that ended."""

    ends: list[float]
    times: list[list[float]]
    spent: Spent = field(repr=False)
    since: float = 0.0
    blocks: list[tuple[float, float]] = field(default_factory=list)

    @property
    def end(self) -> float:
        return max(self.ends)


def run(
    streams: Sequence[Stream], rates: Rates = ON_AN_H100, issues: int = 0, shown: int | None = None
) -> Played:
    """Play warps that all begin at once until the last one has ended, or the last one of the block that is `shown`.

    Those that loop: for so many `issues`, and half as many before these, in which they get going.
    """
    return _Sm(streams, rates, shown).run(issues)


@dataclass(eq=False)
class Place:
    """On the SM, for one block at a time: its warps, each with its sub-core; how many blocks `follow`."""

    warps: list[tuple[int, Stream]]
    follow: int
    queued: bool = False
    left: int = 0  # warps that have not ended
    begins: float = 0.0


class _Sm:
    def __init__(self, streams: Sequence[Stream], rates: Rates, shown: int | None) -> None:
        memory = Memory(rates)
        self.cores = [SubCore(memory, rates.costs.fma_halves) for _ in range(SUB_CORES)]
        self.cores[0].ahead, self.cores[0].cores = deque(maxlen=PRODUCTS_AHEAD), self.cores
        self.costs = rates.costs
        self.warps: list[Warp] = []
        self.place_of: dict[Block, Place] = {}
        self.left, self.shown = 0, shown  # warps that are waited for
        self.started = -inf  # when the last block began
        self.next = 1 + max((stream.block for stream in streams), default=0)  # block's number
        self.spent: Spent = {}
        self.blocks: list[tuple[float, float]] = []
        places: dict[int, Place] = {}
        for core, stream in enumerate(streams):
            place = places.setdefault(stream.block, Place([], stream.follow, bool(stream.follow)))
            place.warps.append((core % SUB_CORES, stream))
        for number, place in places.items():
            self.begin(place, number, 0.0 if not place.follow else max(self.started + START_EVERY, 0.0))

    def begin(self, place: Place, number: int, time: float) -> None:
        """A block begins in its place."""
        self.started = place.begins = time
        block = Block(number, self.costs)
        for core_number, stream in place.warps:
            core = self.cores[core_number]
            marks, loop = (*stream.marks, -1), stream.loop or (0, -1)
            warp = Warp(stream.ops, block, core, marks, loop, stream.k_tiles)
            begins = time + NEXT_WARP * block.size if place.queued else 0.0
            warp.free = warp.ready = begins
            core.warps.append(warp)
            core.time = min(core.time, begins)
            self.warps.append(warp)
            block.size += 1
        place.left = block.size
        self.place_of[block] = place
        if self.shown in (None, number):
            self.left += block.size

    def ended(self, warp: Warp) -> None:
        """The last warp of a block makes room for the next one."""
        place = self.place_of[warp.block]
        self.left -= self.shown in (None, warp.block.number)
        place.left -= 1
        if place.left:
            return
        self.blocks.append((place.begins, warp.end))
        if place.follow:
            place.follow -= 1
            self.begin(place, self.next, max(warp.end + FIRST_WARP, self.started + START_EVERY))
            self.next += 1

    def run(self, issues: int) -> Played:
        first, second, third, fourth = self.cores
        remaining, since, time = issues + issues // 2 or -1, 0.0, 0.0
        while self.left and remaining:
            core = first if first.time <= second.time else second
            other = third if third.time <= fourth.time else fourth
            core = core if core.time <= other.time else other
            way = first if first.serves <= second.serves else second
            other = third if third.serves <= fourth.serves else fourth
            way = way if way.serves <= other.serves else other
            if way.serves < inf and way.serves <= core.time:
                way.serve()
                continue
            warp = core.choose()
            if warp is None:
                if core.time == way.serves == inf and all(each.time == inf for each in self.cores):
                    raise Untraceable("the clock sees warps that wait for ever")
                continue
            time = core.time
            remaining -= 1
            if remaining == issues:
                self.spent, since = {}, time
            self.issue(core, warp)
        for warp in self.warps:  # who issued nothing since waits at a barrier for the others' end
            if not warp.end and 0 <= warp.last < since:
                key = warp.op.at, FOR_BARRIER
                self.spent[key] = self.spent.get(key, 0.0) + time - since
        ends = [warp.end or time for warp in self.warps]
        return Played(ends, [warp.times for warp in self.warps], self.spent, since, self.blocks)

    def issue(self, core: SubCore, warp: Warp) -> None:
        """A warp's next instruction goes."""
        op, time = warp.op, core.time
        self.account(core, warp)
        if warp.place == warp.marks[warp.mark]:
            warp.times.append(time)
            warp.mark += 1
        warp.last = time
        core.latest = None if op.yields else warp
        warp.late = 0.0
        begin = core.occupy(op, warp) if op.pipe else time
        keeps = op.keeps
        core.time = time + keeps
        if keeps > 1:
            core.shut = time + 1, core.time
        warp.free = time + keeps - 1 + op.stall + warp.late
        op.issue(warp, begin)
        if warp.end:
            self.ended(warp)

    def account(self, core: SubCore, warp: Warp) -> None:
        """Where the cycles since the warp's last issue went."""
        op, time, spent = warp.op, core.time, self.spent
        address = op.at
        spent[address, ISSUES] = spent.get((address, ISSUES), 0.0) + 1.0
        last, at = warp.last, warp.free
        if last < 0:
            warp.held = warp.turns = 0.0
            return
        if time == last + 1:  # nothing lies between
            return
        if at > last + 1:
            self.add(address, warp.ops[warp.place - 1].leaves, at - last - 1)
        if warp.ready > at:
            self.add(address, warp.cause, warp.ready - at)
            at = warp.ready
        held, turns = warp.held, warp.turns
        rest = time - at - held - turns
        if held > 0:
            self.add(address, FOR_BANKS, held)
        if turns > 0:
            self.add(address, FOR_TURN, turns)
        if rest > 0:
            self.add(address, FOR_QUEUE if op.pipe == MEMORY else FOR_PIPE, rest)
        warp.held = warp.turns = 0.0

    def add(self, address: int, reason: int, cycles: float) -> None:
        key = address, reason
        self.spent[key] = self.spent.get(key, 0.0) + cycles
