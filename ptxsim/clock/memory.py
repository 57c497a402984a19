"""What the sub-cores of an SM share: the port of shared memory and L1, the tags of L1, and the way to L2 and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from math import inf, log
from typing import Protocol

from ..gpus import SECTOR
from .costs import OF_AN_H100, PENDING, SECTORS, STORE_BUFFER, Costs

OPEN_ROW, OTHER_ROW, OTHER_ROWS = 277, 460, 5
"""Cycles that a line from DRAM comes later than one from L2, where its row of DRAM is open, and in one of five where it
is not. M: single lines, 262 to 290 and 440 to 480; `vector_copy`, whose warps load four lines at a time: a third of
them get theirs 285 cycles later than others of the same lines in L2, nearly all others 490."""
DRAM_SECTORS = 2
"""Of what DRAM gives and takes at a time. M: a read of every second sector takes as long as of all, of every fourth
0.59 times as long ("apart" in tests/golden/dram_nvidia-h200.json)."""
AHEAD = 8192
"""Bytes that L2 has taken from an SM and not written to DRAM, while its stores go on. A"""
IN_USE, MOST_IN_USE = 150.0, 80.0
"""Cycles that a line waits in DRAM for others, the mean, where all of DRAM would be in use, and the most. A, with
"few" of tests/golden/dram_nvidia-h200.json in view: copies with little in flight."""
OTHER_HASH = 2246822519
HASH = 2654435761  # of a line's number: which rows are open follows no pattern of addresses
ARRAY = 1 << 35
"""Sectors from one array in global memory to the next."""


@dataclass(frozen=True)
class Rates:
    """What the SMs share, for one of them: bytes a cycle from L2 and to it while all SMs ask, and from L2 in a `burst`
    of so many bytes, which others do not have at the same time. `dram`: L2 cannot keep what is read. The lines of
    arrays `of_few` come from there (the sectors of array n begin at n * ARRAY), and of so many blocks that go `in_step`
    one waits for them, another one at each k-tile; the others find them in L2. `in_turn`: L2 takes an
    SM's stores in the time in which it would give it something. `dram_bytes`: bytes a cycle that are the SM's share of
    DRAM, of which an array's sectors take their part that is `new` to the launch. `costs` are of an SM's
    own units."""

    l2_bytes: float = OF_AN_H100.l2_bytes
    l2_alone: float = OF_AN_H100.l2_alone
    burst: float = 32768.0  # A
    store_bytes: float = OF_AN_H100.store_bytes
    l1_sectors: int = 6144  # of L1, which is what shared memory leaves
    dram: bool = False
    of_few: frozenset[int] = frozenset()
    in_step: int = 1
    in_turn: bool = False
    dram_bytes: float = inf
    new: Mapping[int, float] = field(default_factory=dict)
    costs: Costs = OF_AN_H100

    def where_slower(self, part: float) -> Rates:
        """Where the SM's clock is `part` of the one at which they were measured, and L2's is the same."""
        names = "l2_bytes", "l2_alone", "store_bytes", "dram_bytes"
        faster = {name: getattr(self, name) / part for name in names}
        return replace(self, **faster)


ON_AN_H100 = Rates()


class Asker(Protocol):
    """A warp, as far as memory looks at it: `salt` is added to its sectors, which so are its own."""

    salt: int

    @property
    def turn(self) -> int:
        """Its k-tile and its block, as one number: which of the blocks that go in step waits for DRAM."""


class Memory:
    """When each part of it is free, and what is in L1."""

    def __init__(self, rates: Rates) -> None:
        self.sector, self.alone = SECTOR / rates.l2_bytes, SECTOR / rates.l2_alone
        self.burst = rates.burst / rates.l2_bytes
        self.byte, self.most = 1 / rates.store_bytes, rates.l1_sectors
        self.dram, self.of_few, self.in_step = rates.dram, rates.of_few, rates.in_step
        self.wavefront, self.l1_latency = rates.costs.wavefront, rates.costs.l1_latency
        self.l2_latency, self.copy_latency = rates.costs.l2_latency, rates.costs.copy_latency
        self.in_turn = rates.in_turn
        self.dram_unit, self.new = DRAM_SECTORS * SECTOR / rates.dram_bytes, rates.new
        self.used = 0.0  # cycles of DRAM
        self.brought: set[int] = set()  # units of DRAM that were read
        self.taken: set[int] = set()  # and written
        self.port = self.tags = self.l2 = self.share = self.stores = self.of_dram = 0.0  # when each is free
        self.fills: list[tuple[float, float]] = []  # what will come through the port: when, wavefronts
        self.cached: dict[int, float] = {}  # sectors in L1, and when they are there
        self.fetched: dict[int, float] = {}  # lines from DRAM

    def through_port(self, time: float, wavefronts: float) -> float:
        """When so many wavefronts are through; what came before went before."""
        while self.fills and self.fills[0][0] <= time:
            came, waves = heappop(self.fills)
            self.port = max(self.port, came) + waves
        self.port = max(self.port, time) + wavefronts
        return self.port

    def later(self, time: float, wavefronts: float) -> None:
        """So many wavefronts will come through the port."""
        heappush(self.fills, (time, wavefronts))

    def look_up(self, time: float, cycles: float) -> float:
        """When the tags of L1 are through with a copy's lines."""
        self.tags = max(self.tags, time) + cycles
        return self.tags

    def from_l2(self, time: float, sectors: float, part: float = 1.0) -> float:
        """When so many sectors have come, but for the latency: at the rate of an SM alone, and over longer times at the
        one that is left when all SMs ask, which counts a `part` of them."""
        self.l2 = max(self.l2, time) + self.alone * sectors
        self.share = max(self.share, time - self.burst) + self.sector * sectors * part
        return max(self.l2, self.share)

    def to_l2(self, time: float, size: float) -> float:
        """When so many bytes are on their way: as fast as L2 takes them, but for what a buffer holds."""
        self.stores = max(self.stores, time) + self.byte * size
        last = self.stores
        if self.in_turn:
            self.share = max(self.share, time - self.burst) + self.byte * size
            last = max(last, self.share)
        return last - self.byte * STORE_BUFFER

    def in_l2(self, sector: int, warp: Asker, time: float) -> float:
        """When its line comes, which would come at this time if L2 had it. Where a line has come once, it has."""
        if self.new:
            time = self.through_dram((sector,), warp, time, self.brought)
        if sector // ARRAY not in self.of_few:
            return time
        line = (sector + warp.salt) // SECTORS
        there = self.fetched.get(line)
        if there is None:
            late = 0.0
            if warp.turn % self.in_step == 0:
                late = OPEN_ROW if (line * HASH >> 15 & 0xFFFF) % OTHER_ROWS else OTHER_ROW
                if self.used:
                    late += self.behind_others(line, time)
            there = self.fetched[line] = time + late
        return max(time, there)

    def behind_others(self, line: int, time: float) -> float:
        """Cycles that a line waits in DRAM for others' lines: few of them long, the more DRAM is used the longer."""
        mean = min(IN_USE * self.used / time, MOST_IN_USE)
        mixed = (line ^ line >> 38) * OTHER_HASH >> 11 & 0xFFFF
        return -log((mixed + 0.5) / 65536) * mean

    def through_dram(self, sectors: Iterable[int], warp: Asker, time: float, moved: set[int]) -> float:
        """When DRAM is through with the units of these sectors that it has not `moved` yet, and with what came before,
        as far as the SM's share of it goes."""
        for sector in sectors:
            unit = (sector + warp.salt) // DRAM_SECTORS
            if unit not in moved:
                moved.add(unit)
                cycles = self.new.get(sector // ARRAY, 0.0) * self.dram_unit
                self.of_dram = max(self.of_dram, time) + cycles
                self.used += cycles
        return max(self.of_dram, time)

    def to_dram(self, sectors: Iterable[int], warp: Asker, time: float) -> float:
        """When a store of these sectors is on its way: as fast as DRAM takes them, but for what L2 holds."""
        return self.through_dram(sectors, warp, time, self.taken) - self.dram_unit * AHEAD / (
            DRAM_SECTORS * SECTOR
        )

    def loaded(self, sectors: Iterable[int], warp: Asker, asked: float, past_l1: bool) -> float:
        """When the last of these sectors is in L1, if they are looked up at this time."""
        cached, salt, done = self.cached, warp.salt, asked
        pending: dict[int, float] = {}  # lines that are on their way, and when they come
        for number in sectors:
            there = cached.get(number + salt)
            if there is None or past_l1:
                there = self.in_l2(number, warp, self.from_l2(asked, 1) + self.l2_latency)
                cached[number + salt] = there
                if len(cached) > self.most:
                    del cached[next(iter(cached))]
            elif there > asked:
                pending[number // SECTORS] = there
            if there > done:
                done = there
        for there in pending.values():
            heappush(self.fills, (there, PENDING))
        return done

    def written(self, sectors: Iterable[int], warp: Asker, time: float) -> None:
        """Through L1: there for who loads them."""
        for number in sectors:
            if number + warp.salt in self.cached or len(self.cached) < self.most:
                self.cached[number + warp.salt] = time
