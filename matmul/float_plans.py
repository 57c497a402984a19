"""Which tile, and how many parts of K, `matmul` takes for float32."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from .plans import SMS, SPLITS, Shape

TK = 16
SLOTS = 3


@dataclass(frozen=True)
class FloatPlan:
    """A block's tile (M, N); how many columns of it a thread has, each 8 rows; how many blocks an SM holds; and in how
    many parts K is split."""

    tile: tuple[int, int]
    columns: int
    at_once: int
    split: int = 1

    @property
    def threads(self) -> int:
        return self.tile[0] // 8 * (self.tile[1] // self.columns)

    @property
    def shared_mem(self) -> int:
        return SLOTS * sum(self.tile) * TK * 4

    def tiles(self, M: int, N: int) -> tuple[int, int]:
        """Down C and across it."""
        return _up(M, self.tile[0]), _up(N, self.tile[1])

    def k_part(self, K: int) -> int:
        """How many k a block adds: whole k-tiles."""
        return _up(_up(K, TK), self.split) * TK

    def parts(self, K: int, split: int) -> "FloatPlan":
        """This plan with K in about so many parts, none of them empty."""
        k_tiles = max(_up(K, TK), 1)
        return replace(self, split=_up(k_tiles, _up(k_tiles, split)))


@dataclass(frozen=True)
class FloatTile:
    """A plan, and what it takes on an H100, in microseconds: fitted to the times of 600 plans for 9 problems in each
    layout (2026-11-26), those of WIDE to 70 problems (2026-11-27), so that the plans chosen by them lose least."""

    plan: FloatPlan
    latency: float  # of a k-tile, however few blocks there are
    work: float  # of a k-tile of each block on the SM

    def of_blocks(self, count: int, k_tiles: float) -> float:
        """Of so many blocks with so many k-tiles each. The last turn has fewer of them on an SM; the schedulers are
        busy alike where their number of warps divides by four."""
        alike, turns = max(128 // self.plan.threads, 1), divmod(_up(count, SMS), self.plan.at_once)
        us = 0.0
        for times, blocks in ((turns[0], self.plan.at_once), (bool(turns[1]), _up(turns[1], alike) * alike)):
            us += times * (AROUND + k_tiles * max(self.latency, self.work * blocks))
        return us

    def cost(self, M: int, N: int, K: int, split: int) -> float:
        reduce = REDUCE + SUMS * M * N * (split + 0.5) / 1e6 if split > 1 else 0
        return LAUNCH + self.of_blocks(prod(self.plan.tiles(M, N)) * split, _up(_up(K, TK), split)) + reduce


LAUNCH, AROUND, REDUCE, SUMS = 2.0, 4.2, 1.3, 1.8
"""Microseconds: of a launch, of a block before and behind its k-tiles; of `reduce`, and of each million sums there."""
TILES = (
    FloatTile(FloatPlan((128, 128), 16, 2), 2.56, 1.35),
    FloatTile(FloatPlan((128, 64), 8, 3), 0.81, 0.705),
    FloatTile(FloatPlan((64, 64), 8, 6), 0.82, 0.37),
)
WIDE = {
    (True, False): FloatTile(FloatPlan((64, 256), 16, 2), 2.4, 1.27),
    (False, True): FloatTile(FloatPlan((256, 128), 16, 1), 2.5, 2.6),
    (True, True): FloatTile(FloatPlan((256, 128), 16, 1), 2.4, 2.4),
}
"""One more, by whether A and B lie along K. What lies along K comes 4 bytes at a time: so a tile has less of it than of
the other, or where both lie so, is larger."""


def tiles_of(a_along_k: bool, b_along_k: bool) -> tuple[FloatTile, ...]:
    """Those for operands that lie so."""
    wide = WIDE.get((a_along_k, b_along_k))
    return (*TILES, wide) if wide else TILES


def float_plan(M: int, N: int, K: int, a_along_k: bool, b_along_k: bool) -> tuple[FloatPlan, float]:
    """The plan that should take the least time on an H100, and this time in microseconds."""
    splits = [split for split in SPLITS if split <= max(_up(K, TK), 1)]
    tiles = tiles_of(a_along_k, b_along_k)
    choices = [(tile.cost(M, N, K, split), split, tile.plan) for tile in tiles for split in splits]
    us, split, plan = min(choices, key=lambda one: one[0])
    return plan.parts(K, split), us


def float_plan_of_many(
    products: Sequence[tuple[Shape, int]], a_along_k: bool, b_along_k: bool
) -> tuple[FloatPlan, float]:
    """The plan for products in one launch, so many of each shape, and the time that it should take."""

    def cost(tile: FloatTile) -> float:
        blocks = [count * prod(tile.plan.tiles(M, N)) for (M, N, _), count in products]
        k_tiles = [_up(K, TK) for (_, _, K), _ in products]
        mean = sum(map(prod, zip(blocks, k_tiles, strict=True))) / sum(blocks)
        return LAUNCH + max(tile.of_blocks(sum(blocks), mean), max(k_tiles) * tile.latency)

    us, plan = min(
        ((cost(tile), tile.plan) for tile in tiles_of(a_along_k, b_along_k)), key=lambda one: one[0]
    )
    return plan, us


def _up(size: int, step: int) -> int:
    return -(-size // step)
