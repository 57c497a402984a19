"""Which tile, cluster and how many parts of K `matmul` takes with lesson 07's kernel, on compute capability 9.0."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from ptxsim.gpus import H100

from .plans import SMS, SPLITS

TK = 64
BOX = 64 * 64 * 2
"""Bytes of a box."""
REACHED = {3: 117, 4: 120, 6: 102, 8: 120}
"""SMs of an H100 that clusters of so many blocks reach, of 132: cuOccupancyMaxActiveClusters, 2026-11-26."""


@dataclass(frozen=True)
class HopperPlan:
    """A block's tile (M, N), slots of the ring; of a cluster how many blocks lie below each other (they share B), how
    many beside each other (they share A), and how many such groups share the k-tiles of the same tiles (they add up
    their sums in each other's shared memory); and in how many parts K is split, each with sums of its own in global
    memory."""

    tile: tuple[int, int]
    slots: int
    below: int = 1
    across: int = 1
    together: int = 1
    split: int = 1

    @property
    def threads(self) -> int:
        """A warpgroup that copies, and one for every 64 rows."""
        return 128 + 2 * self.tile[0]

    @property
    def shared_mem(self) -> int:
        """Bytes: the ring with two barriers for each slot, two boxes of C for each 64 rows; and what comes from others
        that share the tile, with a barrier."""
        (TM, TN), others = self.tile, self.together - 1
        ring = self.slots * ((TM + TN) * TK * 2 + 16) + TM // 64 * 2 * BOX
        return ring + (others * TM * TN // self.together * 4 + 16 if others else 0)

    @property
    def at_once(self) -> int:
        """Blocks on an SM: one where a producer's registers go to two consumers."""
        return 1 if self.tile[0] == 128 else H100.shared // (self.shared_mem + H100.reserved)

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

    def pieces(self, M: int, N: int) -> int:
        """In all parts of K."""
        return _up(M, self.piece[0]) * _up(N, self.piece[1]) * self.split

    def blocks(self, M: int, N: int, sms: int) -> int:
        """As many as make all pieces in the fewest turns, and no more: the others would only wait at the end. A cluster
        that shares k-tiles makes one piece."""
        pieces, most = self.pieces(M, N), reached(self.cluster, sms) * self.at_once // self.cluster
        return (pieces if self.together > 1 else _up(pieces, _up(pieces, most))) * self.cluster

    def parts(self, K: int, split: int) -> "HopperPlan":
        """This plan with K in about so many parts, none of them empty."""
        k_tiles = _up(K, TK)
        return replace(self, split=_up(k_tiles, _up(k_tiles, split)))


LAUNCH, PAIR, MORE, REDUCE, SUMS, EXCHANGE = 5.2, 0.29, 0.99, 3.15, 1.58, 4.3
"""Microseconds: of a launch, and what clusters of two blocks, or of more, add to it; of `reduce`, and of each million
of sums that are stored and read there; of 64 KB of sums that a block gets from others of its cluster."""
L2, ODD, DRAM = 9.1, 1.475, 3.8
"""What L2 gives to all SMs and DRAM to L2, in bytes of a microsecond and a million; how many times as long L2 takes
where rows begin at odd multiples of 16 bytes, so that 128 bytes of them lie in five sectors."""
MOST = 400
"""Blocks that share K: in more of them each has too little to do."""


@dataclass(frozen=True)
class Tile:
    """A tile, and what it takes on an H100, in microseconds. These numbers and those above are fitted to the times of
    all plans for 89 problems, 64 of them drawn at random: so that the plans that they choose lose least, and that the
    times they say are true. They lose 2.8 % to the fastest plans (geometric mean); fitted to half of the problems,
    4.1 % in the other half."""

    tile: tuple[int, int]
    slots: int
    together: tuple[
        int, ...
    ]  # how many blocks may share a tile's k-tiles: their sums have room in shared memory
    around: float  # of a wave of pieces: before and behind their k-tiles
    k_tile: float  # of each block on the SM

    def plans(self, M: int, N: int, K: int) -> Iterator[HopperPlan]:
        """Those with which no block of a cluster has nothing to do, and each has some k-tiles."""
        TM, TN = self.tile
        k_tiles = _up(K, TK)
        for below, across, together in product((1, 2)[: _up(M, TM)], (1, 2)[: _up(N, TN)], self.together):
            plan = HopperPlan(self.tile, self.slots, below, across, together)
            blocks = plan.pieces(M, N) * plan.cluster
            if plan.cluster > 8 or (together > 1 and (k_tiles < 2 * together or blocks > MOST)):
                continue
            yield plan
            for split in SPLITS[1:]:
                if together > 2 or k_tiles < 4 * split * together or blocks * split > MOST:
                    break
                yield plan.parts(K, split)

    def cost(self, plan: HopperPlan, M: int, N: int, K: int) -> float:
        TM, TN = self.tile
        blocks = plan.pieces(M, N) * plan.cluster
        busiest = _up(blocks, reached(plan.cluster, SMS))  # pieces of the SM that has most
        k_tiles = _up(_up(K, TK), plan.split * plan.together)
        read = blocks * k_tiles * (TM / plan.across + TN / plan.below) * TK * 2 / 1e6
        whole = (M * K + N * K + M * N) * 2 / 1e6
        # The slowest of three, or more where two are near each other.
        slowest = hypot5(busiest * k_tiles * self.k_tile, read / L2 * (ODD if K % 16 else 1), whole / DRAM)
        us = LAUNCH + (PAIR if plan.cluster == 2 else MORE if plan.cluster > 2 else 0) + slowest
        us += _up(busiest, plan.at_once) * self.around
        us += REDUCE + SUMS * M * N * (plan.split + 0.5) / 1e6 if plan.split > 1 else 0
        return us + EXCHANGE * (1 - 1 / plan.together) * TM * TN * 4 / 65536


TILES = (
    Tile((128, 256), 4, (1,), 2.08, 0.619),
    Tile((128, 192), 4, (1,), 0.94, 0.528),
    Tile((128, 128), 6, (1,), 0.86, 0.379),
    Tile((128, 128), 4, (1, 2, 4), 0.47, 0.404),
    Tile((64, 256), 5, (1,), 1.33, 0.438),
    Tile((64, 192), 6, (1,), 0.87, 0.375),
    Tile((64, 192), 4, (1, 2, 3, 6), 0.89, 0.363),
    Tile((64, 128), 8, (1, 2), 0.56, 0.219),
    Tile((64, 128), 4, (1, 2, 4), 0.62, 0.264),
    Tile((64, 64), 8, (1, 2), 0.22, 0.180),
    Tile((64, 64), 4, (1, 2), 0.08, 0.213),
)


def hopper_plan(M: int, N: int, K: int) -> tuple[HopperPlan, float]:
    """The plan that should take the least time on an H100, and this time in microseconds."""
    choices = ((tile.cost(plan, M, N, K), plan) for tile in TILES for plan in tile.plans(M, N, K))
    us, best = min(choices, key=lambda choice: choice[0])
    return best, us


def hypot5(*times: float) -> float:
    return sum(time**5 for time in times) ** 0.2


def reached(cluster: int, sms: int) -> int:
    """On how many SMs clusters of so many blocks find room at once: a cluster lies within a GPC, which has 16 or 18 of
    an H100's."""
    return sms if cluster <= 2 else REACHED[cluster] * sms // SMS


def _up(size: int, step: int) -> int:
    return -(-size // step)
