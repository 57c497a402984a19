"""Which tile, cluster and how many parts of K `matmul` takes with lesson 07's kernel, on compute capability 9.0."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from ..simulator.gpus import H100
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


@dataclass(frozen=True)
class Tile:
    """A tile, and what it takes on an H100, in microseconds."""

    plan: HopperPlan
    around: float  # of a piece: before and behind its k-tiles
    k_tile: float  # of each block on the SM

    def cost(self, M: int, N: int, K: int, split: int) -> float:
        plan = self.plan.parts(K, split)
        turns = _up(plan.pieces(M, N) * plan.cluster, SMS * plan.at_once) * plan.at_once
        k_tiles = _up(_up(K, TK), plan.split)
        reduce = 3 + M * N * 4 * (plan.split + 0.5) / 2e6 if plan.split > 1 else 0
        return 2 + turns * (self.around + k_tiles * self.k_tile) + reduce


TILES = (
    Tile(HopperPlan((128, 256), 4, 2), 4.0, 0.65),
    Tile(HopperPlan((128, 256), 4, 1), 4.0, 0.68),
    Tile(HopperPlan((128, 192), 4, 2), 3.5, 0.52),
    Tile(HopperPlan((128, 192), 4, 1), 3.5, 0.54),
    Tile(HopperPlan((128, 128), 6, 2), 3.0, 0.38),
    Tile(HopperPlan((128, 128), 6, 1), 3.0, 0.40),
    Tile(HopperPlan((64, 256), 5, 2), 3.0, 0.38),
    Tile(HopperPlan((64, 256), 5, 1), 3.0, 0.40),
    Tile(HopperPlan((64, 128), 8, 2), 2.5, 0.25),
    Tile(HopperPlan((64, 128), 8, 1), 2.5, 0.26),
    Tile(HopperPlan((64, 128), 4, 1), 2.0, 0.22),
    Tile(HopperPlan((64, 64), 4, 1), 1.5, 0.15),
)


@cache
def hopper_plan(M: int, N: int, K: int) -> HopperPlan:
    """The plan that should take the least time on an H100."""
    best, split = min(
        ((tile, split) for tile in TILES for split in SPLITS), key=lambda one: one[0].cost(M, N, K, one[1])
    )
    return best.plan.parts(K, split)


def _up(size: int, step: int) -> int:
    return -(-size // step)
