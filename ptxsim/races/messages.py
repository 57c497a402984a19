"""Orders between any two threads of a grid: release and acquire through memory.

By the PTX ISA ("Memory Consistency Model", release and acquire patterns): a thread releases what it did and saw with a
`.release` operation, or with a fence and a strong write after it; another one acquires that with an `.acquire`
operation, or with a strong read and a fence after it, when it reads what was written there, or what read-modify-write
operations (atomics) made of it. A weak write, and a strong one that is no atomic, begin anew.

Two things are more lenient here than in the ISA. A fence also counts for a write that another thread makes behind a
barrier: `__threadfence(); __syncthreads(); if (threadIdx.x == 0) atomicAdd(...)` is how people write it. And the fence
of who reads counts for all that was released to its block, whatever its own scope is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from operator import itemgetter
from typing import Protocol

import numpy as np

BLOCK, CLUSTER, GRID = range(3)
"""Scopes: `.cta`, `.cluster`, and wider."""


@dataclass(frozen=True, eq=False)
class News:
    """What a thread was told of others: `rows[block]` has a time for each thread of the block, up to which what it did
    is known; `chains` how many of the first releases of a chain are known."""

    rows: dict[int, np.ndarray] = field(default_factory=dict)
    chains: dict[Chain, int] = field(default_factory=dict)

    def has(self, blocks: np.ndarray, threads: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Whether it knows what these threads of these blocks did at these times."""
        known = np.zeros(len(threads), bool)
        order = np.argsort(blocks, kind="stable")
        starts = np.flatnonzero(np.diff(blocks[order], prepend=-1))
        asked = {int(blocks[at[0]]): at for at in np.split(order, starts[1:])}
        for of_block, length in self._sources():
            for block in asked.keys() & of_block.keys():
                row = of_block[block] if length is None else _first(of_block[block], length)
                if row is not None:
                    at = asked[block]
                    known[at] |= row[threads[at]] > times[at]
                    if known[at].all():
                        del asked[block]
            if not asked:
                break
        return known

    def _sources(self) -> Iterator[tuple[dict, int | None]]:
        """All rows that it leads to: its own, with None; of a chain with how many of its releases are known.

        The newest release comes first, and what it leads to is older: so each chain comes once, with as many releases
        as are known of it on any way.
        """
        yield self.rows, None
        news = self
        longest: dict[Chain, int] = {}
        left: list[tuple[int, int, Chain]] = []
        while True:
            for chain, length in news.chains.items():
                if length > longest.get(chain, 0):
                    longest[chain] = length
                    heappush(left, (-chain.numbers[length - 1], length, chain))
            while left and left[0][1] < longest[left[0][2]]:
                heappop(left)
            if not left:
                return
            _, length, chain = heappop(left)
            yield chain.of_block, length
            news = chain.news[length]
            yield news.rows, None


NOTHING = News()


def joined(parts: Iterable[News]) -> News:
    """All that some of them know."""
    parts = [part for part in dict.fromkeys(parts) if part is not NOTHING]
    if len(parts) < 2:
        return parts[0] if parts else NOTHING
    rows: dict[int, np.ndarray] = {}
    chains: dict[Chain, int] = {}
    for part in parts:
        for block, row in part.rows.items():
            rows[block] = np.maximum(rows[block], row) if block in rows else row
        for chain, length in part.chains.items():
            chains[chain] = max(length, chains.get(chain, 0))
    return News(rows, chains)


def _first(rows: list[tuple[int, np.ndarray]], length: int) -> np.ndarray | None:
    """Of a block's rows in a chain the one that stands for the first `length` releases of the chain."""
    at = bisect_left(rows, length, key=itemgetter(0))
    return rows[at - 1][1] if at else None


@dataclass(frozen=True)
class Released:
    """What one release brings: a row of its block (a time for each thread), and the news that its thread had."""

    block: int
    row: np.ndarray
    news: News

    def told(self) -> News:
        return joined([News({self.block: self.row}), self.news])


_numbers = count()


class Chain:
    """The releases at one place in memory since the last write there that was no atomic.

    Who reads the place knows the first so many of them: all that had been made by then. The counter that every block of
    a grid raises has one chain, which all share.
    """

    def __init__(self) -> None:
        self.length = 0
        self.numbers: list[int] = []  # of its releases, which are counted over all chains
        self.of_block: dict[int, list[tuple[int, np.ndarray]]] = {}
        self.news = [NOTHING]  # that came with the first so many
        # by a scope and its number: for those in it alone
        self.near: dict[tuple[int, int], list[Released]] = {}

    def add(self, released: Released) -> None:
        rows = self.of_block.setdefault(released.block, [])
        row = np.maximum(rows[-1][1], released.row) if rows else released.row
        rows.append((self.length, row))  # with those of the releases before it
        news = released.news
        if self in news.chains:  # it knows the beginning of this chain, as who reads on does anyway
            news = News(news.rows, {c: n for c, n in news.chains.items() if c is not self})
        self.news.append(joined([self.news[-1], news]))
        self.numbers.append(next(_numbers))
        self.length += 1

    def told(self, groups: Iterable[tuple[int, int]]) -> News:
        """What a thread is told that reads the place now. `groups`: the scopes that it is in, with their numbers."""
        parts = [released.told() for group in groups for released in self.near.get(group, ())]
        return joined([*parts, News({}, {self: self.length})] if self.length else parts)


Letters = dict[object, dict[int, Chain]]
"""For each memory (a buffer, or a machine's shared memory) the chains at its bytes."""


class _Fences:
    """For each lane the last fence that counts for it: a row of its block, its own time in it, and news."""

    def __init__(self, lanes: int, threads: int) -> None:
        self.threads = threads
        self.index = np.zeros(lanes, np.int32)  # into `kept`; 0: no fence
        self.own = np.zeros(lanes, np.int32)  # the lane's own time
        self.kept: list[tuple[np.ndarray, News]] = [(np.zeros(threads, np.int32), NOTHING)]

    def set(self, lanes: np.ndarray, row: np.ndarray, news: News, time: int) -> None:
        self.own[lanes] = time
        last = self.index[lanes[0]]
        old_row, old_news = self.kept[last]
        same = last > 0 and old_news is news and np.array_equal(old_row, row)
        # a loop that waits makes the same fence again and again
        if same and (self.index[lanes] == last).all():
            return
        self.index[lanes] = len(self.kept)
        self.kept.append((row, news))

    def of(self, lane: int) -> tuple[np.ndarray, News] | None:
        if not self.index[lane]:
            return None
        row, news = self.kept[self.index[lane]]
        row = row.copy()
        row[lane % self.threads] = max(row[lane % self.threads], self.own[lane])
        return row, news

    def meet(self, lanes: np.ndarray) -> None:
        """Lanes of one block have met: each one's fence counts for all."""
        kinds = np.unique(self.index[lanes])
        if len(kinds) == 1 and (not kinds[0] or not (self.own[lanes] > self._rows(lanes)).any()):
            return
        rows, news = zip(*(self.kept[kind] for kind in kinds))
        row = np.maximum.reduce(rows)
        threads = lanes % self.threads
        row[threads] = np.maximum(row[threads], np.where(self.index[lanes] > 0, self.own[lanes], 0))
        self.set(lanes, row, joined(news), 0)

    def _rows(self, lanes: np.ndarray) -> np.ndarray:
        return self.kept[self.index[lanes[0]]][0][lanes % self.threads]


class Time(Protocol):
    """Of a launch (`Trail`, orders.py)."""

    now: int


class Messages:
    """What the lanes of the resident blocks were told, and the fences they made."""

    def __init__(
        self, letters: Letters, trail: Time, first_block: int, blocks: int, threads: int, cluster: int
    ) -> None:
        """`cluster`: blocks of one."""
        self.letters, self.trail = letters, trail
        self.first_block, self.threads, self.cluster = first_block, threads, cluster
        lanes = blocks * threads
        self.book: list[News] = [NOTHING]
        self.known = np.zeros(lanes, np.int32)  # of each lane, in the book
        self.heard = np.zeros(lanes, np.int32)  # by relaxed reads: a fence makes it known
        self.met = np.zeros(lanes, np.int32)  # what those that a lane has met have heard, and itself
        self.fences = [_Fences(lanes, threads) for _ in (BLOCK, CLUSTER, GRID)]
        self.fenced = self.told = False  # whether any lane made a fence, was told anything

    def block(self, lane: int) -> int:
        """The block of a lane, in the grid."""
        return self.first_block + lane // self.threads

    # ---- what instructions call

    def fence(self, lanes: np.ndarray, scope: int, rows: dict[int, np.ndarray], agents: np.ndarray) -> None:
        """These lanes make a fence. `agents`: the agent of each; `rows[agent]`: what it has seen, by thread."""
        self.fenced = True
        self.trail.now += 1
        self._learn(lanes, self.heard[lanes])
        order = np.lexsort((self.known[lanes], agents))
        agents, known = agents[order], self.known[lanes[order]]
        starts = np.flatnonzero((np.diff(agents, prepend=-1) != 0) | (np.diff(known, prepend=-1) != 0))
        for these, first in zip(np.split(lanes[order], starts[1:]), starts.tolist(), strict=True):
            for fences in self.fences[: scope + 1]:
                fences.set(these, rows[int(agents[first])], self.book[known[first]], self.trail.now)

    def write(
        self,
        memory: object,
        lanes: np.ndarray,
        offsets: np.ndarray,
        scope: int,
        rows: np.ndarray | None,
        atomic: bool,
    ) -> None:
        """Strong writes of these lanes at these bytes, one after the other. `rows`: of a release, what each lane has
        seen and done, by thread; None: relaxed. `atomic`: a chain goes on, otherwise it begins anew."""
        chains = self.letters.get(memory)
        if rows is None and not self.fenced and not chains:
            return
        chains = self.letters.setdefault(memory, {})
        for at, (lane, offset) in enumerate(zip(lanes.tolist(), offsets.tolist(), strict=True)):
            row = None if rows is None else rows[at]
            released = [self._released(lane, reach, row) for reach in range(scope + 1)]
            if not atomic:
                chains.pop(offset, None)
            if any(released):
                self._post(chains.setdefault(offset, Chain()), released)

    def read(self, memory: object, lanes: np.ndarray, offsets: np.ndarray, acquires: bool) -> None:
        """Strong reads of these lanes at these bytes."""
        chains = self.letters.get(memory)
        if not chains:
            return
        for offset in np.unique(offsets).tolist():
            if chain := chains.get(offset):
                self._hear(lanes[offsets == offset], chain, acquires)

    def tell(self, chain: Chain, lane: int, row: np.ndarray, alone: bool = False) -> None:
        """A release of this lane, by way of a barrier of several blocks. `alone`: without the news that it has."""
        chain.add(self.said(lane, row, alone))

    def said(self, lane: int, row: np.ndarray, alone: bool = False) -> Released:
        """The same, not told yet."""
        return Released(self.block(lane), row, NOTHING if alone else self.book[self.known[lane]])

    def tell_fenced(self, chain: Chain, lane: int, scope: int = CLUSTER) -> None:
        """What a lane that arrives at a barrier without releasing has released by a fence before, for this scope."""
        if released := self._released(lane, scope, None):
            chain.add(released)

    def hear(self, lanes: np.ndarray, chain: Chain, length: int) -> None:
        """These lanes acquire the first releases of a chain, so many."""
        if length:
            self.told = True
            self._learn(lanes, np.full(len(lanes), self._write_down(News({}, {chain: length}))))

    def hear_of(self, lanes: np.ndarray, news: News) -> None:
        """These lanes have heard this without acquiring it: a fence makes it known."""
        self.told = True
        for table in (self.heard, self.met):
            for old in np.unique(table[lanes]).tolist():
                these = lanes[table[lanes] == old]
                table[these] = self._write_down(joined([self.book[old], news]))

    def overwrite(self, memory: object, offsets: np.ndarray) -> None:
        """Weak writes: what is read there afterwards is no release's."""
        chains = self.letters.get(memory)
        if chains:
            for offset in chains.keys() & set(offsets.tolist()):
                del chains[offset]

    def not_told(
        self, lanes: np.ndarray, others: np.ndarray, times: np.ndarray, of: np.ndarray
    ) -> np.ndarray:
        """Of the pairs chosen by `of` those of which the lane was not told what the other did at that time."""
        return self._not_in(self.known, lanes, others, times, of)

    def _not_in(
        self, table: np.ndarray, lanes: np.ndarray, others: np.ndarray, times: np.ndarray, of: np.ndarray
    ) -> np.ndarray:
        if not self.told:
            return of
        left = of.copy()
        at = np.flatnonzero(of & (table[lanes] > 0))
        known = table[lanes[at]]
        order = np.argsort(known, kind="stable")
        starts = np.flatnonzero(np.diff(known[order], prepend=-1))
        for kind, these in zip(
            known[order[starts]].tolist(), np.split(at[order], starts[1:]), strict=len(at) > 0
        ):
            blocks, threads = np.divmod(others[these], self.threads)
            left[these] = ~self.book[kind].has(blocks, threads, times[these])
        return left

    def not_heard(self, lanes: np.ndarray, others: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Which of these pairs know nothing of each other by relaxed reads either, with no fence behind them: enough
        for strong accesses that follow."""
        return self._not_in(self.met, lanes, others, times, np.ones(len(lanes), bool))

    # ---- meetings

    def meet(self, lanes: np.ndarray | None, groups: np.ndarray | None = None) -> None:
        """What one of a group was told (without `groups`: of a block), all of it know; and a fence of one counts for
        all."""
        if not (self.told or self.fenced):
            return
        lanes = np.arange(len(self.known)) if lanes is None else lanes
        for these in self._apart(lanes, groups):
            self._share(these)
            for fences in self.fences:
                fences.meet(these)

    def release(self, lanes: np.ndarray, news: np.ndarray) -> None:
        """Add to `news` (of each block, in the book) what these lanes know."""
        if self.told:
            for these in self._apart(lanes, None):
                block = these[0] // self.threads
                news[block] = self._entry([int(news[block]), *np.unique(self.known[these]).tolist()])

    def acquire(self, lanes: np.ndarray, news: np.ndarray) -> None:
        if self.told:
            self._learn(lanes, news[lanes // self.threads])

    # ---- helpers

    def _groups(self, block: int) -> list[tuple[int, int]]:
        """The scopes that the threads of a block are in, but for the grid."""
        return [(BLOCK, block), (CLUSTER, block // self.cluster)]

    def _post(self, chain: Chain, released: list[Released | None]) -> None:
        """Add to a chain what a write releases in each scope, the narrowest first; a wider one says it already."""
        far = released[GRID] if len(released) > GRID else None
        if far:
            chain.add(far)
        for reach, each in enumerate(released[:GRID]):
            if each and not (far and np.array_equal(far.row, each.row)):
                chain.near.setdefault(self._groups(each.block)[reach], []).append(each)

    def _apart(self, lanes: np.ndarray, groups: np.ndarray | None) -> list[np.ndarray]:
        """The lanes of each group, if anybody was told anything or made a fence."""
        groups = lanes // self.threads if groups is None else groups
        if not (
            self.known[lanes].any()
            or self.met[lanes].any()
            or any(fences.index[lanes].any() for fences in self.fences)
        ):
            return []
        return [lanes[groups == group] for group in np.unique(groups)]

    def _share(self, lanes: np.ndarray) -> None:
        for table in (self.known, self.met):
            kinds = np.unique(table[lanes])
            if len(kinds) > 1:
                table[lanes] = self._entry(kinds.tolist())

    def _entry(self, kinds: list[int]) -> int:
        """The place in the book of what these know together."""
        kinds = sorted(set(kinds) - {0})
        if len(kinds) < 2:
            return kinds[0] if kinds else 0
        return self._write_down(joined(self.book[kind] for kind in kinds))

    def _write_down(self, news: News) -> int:
        self.book.append(news)
        return len(self.book) - 1

    def _learn(self, lanes: np.ndarray, what: np.ndarray) -> None:
        pairs = self.known[lanes].astype(np.int64) << 32 | what
        for pair in np.unique(pairs[what > 0]).tolist():
            self.known[lanes[pairs == pair]] = self._entry([pair >> 32, pair & 0xFFFFFFFF])

    def _hear(self, lanes: np.ndarray, chain: Chain, acquires: bool) -> None:
        """These lanes read a place with this chain."""
        self.told = True
        for block in np.unique(lanes // self.threads).tolist():
            told = chain.told(self._groups(self.first_block + block))
            of_block = lanes[lanes // self.threads == block]
            for table in (self.known,) if acquires else (self.heard, self.met):
                for old in np.unique(table[of_block]).tolist():
                    if not self._covers(self.book[old], chain, told):
                        these = of_block[table[of_block] == old]
                        table[these] = self._write_down(joined([self.book[old], told]))

    def _covers(self, news: News, chain: Chain, told: News) -> bool:
        """Whether it brings nothing new; a loop that waits for a flag reads the same many times."""
        return told is NOTHING or (not chain.near and news.chains.get(chain, -1) == chain.length)

    def _released(self, lane: int, reach: int, row: np.ndarray | None) -> Released | None:
        """What a strong write of this lane releases for this reach: what it saw, or what its last fence covers."""
        if row is not None:
            return Released(self.block(lane), row, self.book[self.known[lane]])
        fence = self.fences[reach].of(lane)
        return Released(self.block(lane), *fence) if fence else None
