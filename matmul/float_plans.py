"""Which tile, and how many parts of K, `matmul` takes for float32."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from .plans import SMS, SPLITS, Shape

TK = 16
SLOTS = 3


@dataclass(frozen=True)
class FloatPlan:
    """A block's tile (M, N); how many rows of it a thread has, 8 columns of each; how many blocks an SM holds; and in
    how many parts K is split."""

    tile: tuple[int, int]
    rows: int
    at_once: int
    split: int = 1

    @property
    def threads(self) -> int:
        return self.tile[0] // self.rows * (self.tile[1] // 8)

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
    """A plan, and what it takes on an H100, in microseconds: fitted to the times of 3,314 plans for 70 problems in
    four layouts (2026-11-27), so that the plans chosen by them lose least: 1.8 % (geometric mean)."""

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


LAUNCH, AROUND, REDUCE, SUMS = 2.0, 1.8, 2.2, 1.6
"""Microseconds: of a launch, of a block before and behind its k-tiles; of `reduce`, and of each million sums there."""


def tiles_of(b_along_k: bool) -> tuple[FloatTile, ...]:
    """The tiles, which are wide where B lies along N, and high where it lies along K."""
    wide, middle = ((256, 128), (128, 64)) if b_along_k else ((128, 256), (64, 128))
    return (
        FloatTile(FloatPlan(wide, 16, 1), 2.55, 2.55),
        FloatTile(FloatPlan(middle, 8, 3), 0.68, 0.65),
        FloatTile(FloatPlan((64, 64), 8, 6), 0.81, 0.337),
    )


def float_plan(M: int, N: int, K: int, b_along_k: bool) -> tuple[FloatPlan, float]:
    """The plan that should take the least time on an H100, and this time in microseconds."""
    splits = [split for split in SPLITS if split <= max(_up(K, TK), 1)]
    tiles = tiles_of(b_along_k)
    choices = [(tile.cost(M, N, K, split), split, tile.plan) for tile in tiles for split in splits]
    us, split, plan = min(choices, key=lambda one: one[0])
    return plan.parts(K, split), us


def float_plan_of_many(products: Sequence[tuple[Shape, int]], b_along_k: bool) -> tuple[FloatPlan, float]:
    """The plan for products in one launch, so many of each shape, and the time that it should take."""

    def cost(tile: FloatTile) -> float:
        blocks = [count * prod(tile.plan.tiles(M, N)) for (M, N, _), count in products]
        k_tiles = [_up(K, TK) for (_, _, K), _ in products]
        mean = sum(map(prod, zip(blocks, k_tiles, strict=True))) / sum(blocks)
        return LAUNCH + max(tile.of_blocks(sum(blocks), mean), max(k_tiles) * tile.latency)

    us, plan = min(((cost(tile), tile.plan) for tile in tiles_of(b_along_k)), key=lambda one: one[0])
    return plan, us


def _up(size: int, step: int) -> int:
    return -(-size // step)
