"""Which tile, cluster and how many parts of K `matmul` takes with lesson 07's kernel, on compute capability 9.0."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ptxsim.gpus import H100

from .plans import SMS, SPLITS

TK = 64
BOX = 64 * 64 * 2
"""Bytes of a box."""


@dataclass(frozen=True)
class HopperPlan:
    """A block's tile (M, N), slots of the ring, blocks of a cluster (below each other: they share B), and in how many
    parts K is split."""

    tile: tuple[int, int]
    slots: int
    cluster: int
    split: int = 1

    @property
    def threads(self) -> int:
        """A warpgroup that copies, and one for every 64 rows."""
        return 128 + 2 * self.tile[0]

    @property
    def shared_mem(self) -> int:
        """Bytes: the ring with two barriers for each slot, and two boxes of C for each 64 rows."""
        TM, TN = self.tile
        return self.slots * ((TM + TN) * TK * 2 + 16) + TM // 64 * 2 * BOX

    @property
    def at_once(self) -> int:
        """Blocks on an SM."""
        return H100.shared // (self.shared_mem + H100.reserved)

    @property
    def group(self) -> int:
        """Tiles of a cluster below each other before those to their right: what runs at once is about a square."""
        TM, TN = self.tile
        return max(round((SMS * self.at_once * TM * TN) ** 0.5 / (self.cluster * TM)), 1)

    def pieces(self, M: int, N: int) -> int:
        """What a cluster makes at a time: tiles, in all parts of K."""
        TM, TN = self.tile
        return _up(M, self.cluster * TM) * _up(N, TN) * self.split

    def blocks(self, M: int, N: int, sms: int) -> int:
        """As many as make all pieces in the fewest turns, and no more: the others would only wait at the end."""
        pieces, most = self.pieces(M, N), sms * self.at_once // self.cluster
        return _up(pieces, _up(pieces, most)) * self.cluster

    def parts(self, K: int, split: int) -> HopperPlan:
        """This plan with K in about so many parts, none of them empty."""
        k_tiles = _up(K, TK)
        return replace(self, split=_up(k_tiles, _up(k_tiles, split)))


LAUNCH, PAIRED, PAIRED_K, REDUCE, SUMS = 4.8, 1.0, 0.94, 4.4, 1.3
"""Microseconds: of a launch, and what clusters of two add to it; what a k-tile takes where two blocks share B, as a
part of what it takes alone; of `reduce`, and of each million of sums that are stored and read."""


@dataclass(frozen=True)
class Tile:
    """A tile, and what it takes on an H100, in microseconds. These numbers and the five above are fitted to the times
    of all plans for 45 problems (least squares of the logarithms; plans near a problem's best weigh more). For the 31
    problems of tools/author/tune.py and 16384 x 4096 x 4096 the rule loses 3.5 % to the fastest plans of both lessons
    (geometric mean); fitted to the other 14 problems alone, 4.6 %."""

    plan: HopperPlan
    around: float  # of a wave of pieces: before and behind their k-tiles
    k_tile: float  # of each block on the SM

    def cost(self, M: int, N: int, K: int, split: int) -> float:
        plan = self.plan.parts(K, split)
        blocks = _up(plan.pieces(M, N) * plan.cluster, SMS)  # pieces that the busiest SM makes
        k_tiles = _up(_up(K, TK), plan.split) * blocks
        pair, k_tile = (PAIRED, PAIRED_K * self.k_tile) if plan.cluster > 1 else (0, self.k_tile)
        reduce = REDUCE + SUMS * M * N * (plan.split + 0.5) / 1e6 if plan.split > 1 else 0
        return LAUNCH + pair + _up(blocks, plan.at_once) * self.around + k_tiles * k_tile + reduce


TILES = tuple(
    Tile(HopperPlan(tile, slots, cluster), around, k_tile)
    for tile, slots, clusters, around, k_tile in (
        ((128, 256), 4, (2, 1), 2.02, 0.671),
        ((128, 192), 4, (2, 1), 1.38, 0.526),
        ((128, 128), 6, (2, 1), 1.03, 0.417),
        ((64, 256), 5, (2, 1), 1.57, 0.424),
        ((64, 128), 8, (2, 1), 0.82, 0.264),
        ((64, 128), 4, (1,), 0.33, 0.327),
        ((64, 64), 4, (1,), 0.20, 0.203),
    )
    for cluster in clusters
)


def hopper_plan(M: int, N: int, K: int) -> tuple[HopperPlan, float]:
    """The plan that should take the least time on an H100, and this time in microseconds."""
    choices = ((tile, split) for tile in TILES for split in SPLITS)
    us, best, split = min(
        ((tile.cost(M, N, K, split), tile, split) for tile, split in choices), key=lambda choice: choice[0]
    )
    return best.plan.parts(K, split), us


def _up(size: int, step: int) -> int:
    return -(-size // step)
