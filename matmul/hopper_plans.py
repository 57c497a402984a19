"""Which tile, cluster and how many parts of K `matmul` takes with lesson 07's kernel, on compute capability 9.0."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ptxsim.gpus import H100

from .operands import Box
from .plans import SMS, SPLITS

TK = BOX = 64
"""k of a k-tile; rows or columns of a box that is no whole share of a tile."""
REACHED = {3: 117, 4: 120, 6: 102, 8: 120}
"""SMs of an H100 that clusters of so many blocks reach, of 132: cuOccupancyMaxActiveClusters, 2026-11-26."""


@dataclass(frozen=True)
class HopperPlan:
    """A block's tile (M, N), slots of the ring; of a cluster how many blocks lie below each other (they share B), how
    many beside each other (they share A), and how many such groups share the k-tiles of the same tiles (they add up
    their sums in each other's shared memory); and in how many parts K is split, each with sums of its own in global
    memory. Turned: C.T = B.T @ A.T, so that the tile's M lies along N; rows and columns below are then those of C.T."""

    tile: tuple[int, int]
    slots: int
    below: int = 1
    across: int = 1
    together: int = 1
    split: int = 1
    turned: bool = False

    @property
    def columns(self) -> int:
        """Those of its tile that a block stores: where blocks share k-tiles, each its share."""
        return self.tile[1] // self.together

    @property
    def boxable(self) -> bool:
        """Whether the copy engine can store them."""
        return self.columns % 16 == 0

    @property
    def consumers(self) -> int:
        """Warpgroups that compute: one for every 64 rows."""
        return self.tile[0] // 64

    @property
    def threads(self) -> int:
        """Those of the consumers, and a warpgroup that copies."""
        return 128 + 128 * self.consumers

    def shared_mem(self, b_along_k: bool = True) -> int:
        """Bytes: the ring with two barriers for each slot, two boxes of C for each 64 rows; and what comes from others
        that share the tile, with a barrier."""
        (TM, TN), others = self.tile, self.together - 1
        held = TN if b_along_k else _up(TN, BOX) * BOX
        ring = self.slots * ((TM + held) * TK * 2 + 16) + self.consumers * 2 * BOX * BOX * 2
        return ring + (others * TM * TN // self.together * 4 + 16 if others else 0)

    def boxes(self, a_along_k: bool, b_along_k: bool) -> tuple[Box, ...]:
        """What the copy engine takes of A and B at a time, along K a block's whole share of its tile; of C; and of the
        last columns of a tile of C, where these are no 64."""
        TM, TN = self.tile
        left = TM // self.across if a_along_k else BOX
        right = TN // self.below if b_along_k else BOX
        rest = (BOX, 16 if self.columns % 32 else 32)
        return (left, TK), (right, TK), (BOX, BOX), rest[::-1] if self.turned else rest

    @property
    def at_once(self) -> int:
        """Blocks on an SM: one where a producer's registers go to two consumers."""
        return 1 if self.consumers > 1 else H100.shared // (self.shared_mem() + H100.reserved)

    @property
    def cluster(self) -> int:
        """Blocks of a cluster."""
        return self.below * self.across * self.together

    @property
    def piece(self) -> tuple[int, int]:
        """What a cluster makes at a time (M, N)."""
        return self.below * self.tile[0], self.across * self.tile[1]

    @property
    def group(self) -> int:
        """Pieces below each other before those to their right: what runs at once is about a square."""
        TM, TN = self.tile
        return max(round((SMS * self.at_once * TM * TN) ** 0.5 / self.piece[0]), 1)

    def order(self, M: int, N: int, K: int) -> tuple[np.generic, ...]:
        """What the kernel's Order is told: k-tiles, those of a part, pieces; then its four divisors."""
        down, across = _up(M, self.piece[0]), _up(N, self.piece[1])
        rows = min(self.group, down)
        divisors = (down * across, rows * across, rows, down % rows or rows)
        numbers = map(np.int32, (_up(K, TK), self.k_part(K), self.pieces(M, N)))
        return *numbers, *(np.uint64(_up(2**31, by) << 32 | by) for by in divisors)

    def pieces(self, M: int, N: int) -> int:
        """In all parts of K."""
        return _up(M, self.piece[0]) * _up(N, self.piece[1]) * self.split

    def blocks(self, M: int, N: int, sms: int) -> int:
        """As many as make all pieces in the fewest turns, and no more: the others would only wait at the end. A cluster
        that shares k-tiles makes one piece."""
        pieces, most = self.pieces(M, N), reached(self.cluster, sms) * self.at_once // self.cluster
        return (pieces if self.together > 1 else _up(pieces, _up(pieces, most))) * self.cluster

    def k_part(self, K: int) -> int:
        """k-tiles of a part of K."""
        return _up(_up(K, TK), self.split)

    def parts(self, K: int, split: int) -> "HopperPlan":
        """This plan with K in about so many parts."""
        k_tiles = _up(K, TK)
        for k_part in range(_up(k_tiles, split), k_tiles):
            parts = _up(k_tiles, k_part)
            last = k_tiles - (parts - 1) * k_part
            if last >= self.together:  # each block of a cluster has some of the last part
                return replace(self, split=parts)
        return replace(self, split=1)

    def fitting(self, b_along_k: bool) -> "HopperPlan":
        """With fewer slots, where a tile of B takes more room: in boxes of 64 columns."""
        slots = next(
            n
            for n in range(self.slots, 0, -1)
            if replace(self, slots=n).shared_mem(b_along_k) <= H100.shared_block
        )
        return replace(self, slots=slots)


LAUNCH, REDUCE, SUMS, EXCHANGE = 3.171, 2.921, 1.712, 4.542
"""Microseconds: of a launch; of `reduce`, and of each million of sums that are stored and read there; of 64 KB of sums
that a block gets from others of its cluster."""
CYCLE, K_TILE = 0.0007387, 0.1581
"""Microseconds: of a cycle of shared memory; the least for a k-tile."""
AROUND, EACH_SUM, NO_BOX = 0.4287, 6.845e-05, 0.0001116
"""Microseconds before and behind the k-tiles of a piece; of each of its sums, and what is added where the copy engine
cannot store them."""
L2, ODD, STORED = 7.739, 1.429, 0.211
"""What L2 gives to all SMs, in bytes of a microsecond and a million; how many times as long it takes where rows begin
at odd multiples of 16 bytes, so that 128 bytes of them lie in five sectors; microseconds for each million of bytes of
C."""
DRAM, HELD = 3.071, 8.598
"""What DRAM gives, as L2; of A, B and C, millions of bytes that are still in L2 when the next launch begins. All these
numbers are fitted to timed plans, so that the plans that they choose lose least; hopper_menu.json says to which. They
lose 1.6 % to the fastest plan that was timed, of its 168 extreme problems 1.8 %; timing's own spread is a part of that.
Only the order of the costs matters; the microseconds scatter by 14 %. research/matmul_sweep.py times plans anew, and
matmul_fit.py improves the menu by such times."""
_ON_FILE = json.loads(Path(__file__).with_name("hopper_menu.json").read_text(encoding="utf-8"))
MENU = {
    HopperPlan((TM, TN), slots, below, across, together, turned=turned): factor
    for TM, TN, slots, below, across, together, turned, factor in _ON_FILE["menu"]
}
"""The plans to choose from, each with a factor: how much longer it takes than the rest of the rule says. Not all there
are: each is a kernel that is compiled once."""


def hopper_plan(M: int, N: int, K: int, turned: bool = True) -> HopperPlan:
    """The plan that should take the least time on an H100. `turned`: such a plan is allowed."""
    choices = (plan for plan in plans(M, N, K) if turned or not plan.turned)
    return min(choices, key=lambda plan: cost(plan, M, N, K))


def plans(M: int, N: int, K: int, among: Iterable[HopperPlan] = tuple(MENU)) -> Iterator[HopperPlan]:
    """Those with which no more than half of a cluster's blocks have nothing to do, and each has some k-tiles.
    Blocks that share K all run at once: of 1,500 timed plans with more of them one was within 3 % of the best."""
    k_tiles = _up(K, TK)
    for plan in among:
        rows, columns = (N, M) if plan.turned else (M, N)
        (TM, TN), blocks = plan.tile, plan.pieces(rows, columns) * plan.cluster
        room = reached(plan.cluster, SMS) * plan.at_once
        idle = 2 * rows <= plan.below * TM > 64 or 2 * columns <= plan.across * TN > 64
        if idle or (plan.together > 1 and (k_tiles < 2 * plan.together or blocks > room)):
            continue
        yield plan
        for split in SPLITS[1:] if not plan.turned and TN % 32 == 0 else ():
            if k_tiles < 4 * split * plan.together or blocks * split > room:
                break
            yield plan.parts(K, split)


def cost(plan: HopperPlan, M: int, N: int, K: int, factor: bool = True) -> float:
    """Microseconds on an H100, with the plan's factor or without."""
    (TM, TN), rows, columns = plan.tile, *((N, M) if plan.turned else (M, N))
    blocks = plan.pieces(rows, columns) * plan.cluster
    busiest = _up(blocks, reached(plan.cluster, SMS))  # pieces of the SM that has most
    k_tiles = _up(_up(K, TK), plan.split * plan.together)
    boxes = plan.boxable and plan.split == 1 and N % 8 == 0
    around = AROUND + (EACH_SUM if boxes or plan.split > 1 else EACH_SUM + NO_BOX) * TM * TN
    # Each 64 rows read their part of A and all of B from shared memory, into which the copy engine has written both:
    # 128 bytes a cycle. That takes longer than the tensor cores need, but for the largest tiles.
    cycles = 2 * TM + TN * (1 + TM / 64)
    k_tile = longest(CYCLE * cycles, K_TILE)
    read = blocks * k_tiles * (TM / plan.across + TN / plan.below) * TK * 2 / 1e6
    l2 = read / L2 * (ODD if K % 16 else 1) + STORED * M * N * 2 / 1e6
    dram = max((M * K + N * K + M * N) * 2 / 1e6 - HELD, 0) / DRAM
    us = longest(busiest * k_tiles * k_tile, busiest * (k_tiles * K_TILE + around), l2, dram)
    us += LAUNCH + around + EXCHANGE * (1 - 1 / plan.together) * TM * TN * 4 / 65536
    us += REDUCE + SUMS * M * N * (plan.split + 0.5) / 1e6 if plan.split > 1 else 0
    return us * (MENU.get(replace(plan, split=1), 1) if factor else 1)


def longest(*times: float) -> float:
    """The longest, or more where others are near it."""
    return sum(time**5 for time in times) ** 0.2


def reached(cluster: int, sms: int) -> int:
    """On how many SMs clusters of so many blocks find room at once: a cluster lies within a GPC, which has 16 or 18 of
    an H100's."""
    return sms if cluster <= 2 else REACHED[cluster] * sms // SMS


def _up(size: int, step: int) -> int:
    return -(-size // step)
