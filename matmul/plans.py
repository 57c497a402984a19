"""Which tile, how many slots and how many parts of K `matmul` takes for a problem."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import prod
from pathlib import Path

from ptxsim.gpus import H100, file_name

FOLDER = Path(__file__).parent / "sweeps"
"""A file for each GPU that was tuned: the fastest plan for each of 30 problems, and the sweep that found it."""
SMS, SHARED = H100.sms, H100.shared_block
"""Streaming multiprocessors, and bytes of shared memory that a block may have."""
GROUP = 16
SIX = 1.2
"""What lesson 06's kernel took for 89 problems on an H100, over what its rule says: that was fitted in another run."""
Shape = tuple[int, int, int]
"""M, N, K"""
SPLITS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)


@dataclass(frozen=True)
class Plan:
    """A block's tile (M, N, K), a warp's part of it (M, N), slots of the ring, in how many parts K is split; the order
    of blocks: how many tiles below each other come before those to the right, so that L2 has what they read; and
    `shared_by`: 0 for a block for each tile, or so many blocks on an SM that share all k-tiles (stream-K)."""

    tile: tuple[int, int, int]
    warp: tuple[int, int]
    stages: int
    split: int = 1
    group: int = GROUP
    shared_by: int = 0

    @property
    def threads(self) -> int:
        return self.tile[0] // self.warp[0] * (self.tile[1] // self.warp[1]) * 32

    @property
    def shared_mem(self) -> int:
        """Bytes for the ring, or for all sums of the block where these need more."""
        (TM, TN, TK), (WM, WN) = self.tile, self.warp
        return max(self.stages * (TM + TN) * TK * 2, self.threads // 32 * WM * (WN + 8) * 4)

    def fits(self, a_along_k: bool, b_along_k: bool, shared: int = SHARED) -> bool:
        """Whether a block has enough shared memory; and its threads copy a tile in whole turns of 8 rows, or more, also
        where these run along M or N."""
        turns = [
            along_k or self.threads % size == 0 for along_k, size in zip((a_along_k, b_along_k), self.tile)
        ]
        return all(turns) and self.shared_mem <= shared

    def tiles(self, M: int, N: int) -> tuple[int, int]:
        """Down C and across it."""
        return _up(M, self.tile[0]), _up(N, self.tile[1])

    def groups(self, M: int) -> int:
        """Of at most `group` tiles below each other."""
        return _up(_up(M, self.tile[0]), self.group)

    def grid(self, M: int, N: int) -> tuple[int, int, int]:
        """Tiles down a group, tiles across C, groups times parts of K."""
        down, across = self.tiles(M, N)
        return _up(down, self.groups(M)), across, self.groups(M) * self.split

    def stream(self, M: int, N: int, K: int, sms: int) -> tuple[int, int]:
        """Blocks that share the k-tiles, and how many tiles come before that: all waves but the last full one."""
        down, across = self.tiles(M, N)
        blocks = min(sms * self.shared_by, down * across * _up(K, self.tile[2]))
        return blocks, max(down * across // blocks - 1, 0) * blocks

    def k_part(self, K: int) -> int:
        """How many k a block adds: whole k-tiles."""
        return max(_up(_up(K, self.tile[2]), self.split), 1) * self.tile[2]

    def parts(self, K: int, split: int) -> Plan:
        """This plan with K in about so many parts, none of them empty."""
        return replace(self, split=max(_up(K, replace(self, split=split).k_part(K)), 1))


@dataclass(frozen=True)
class Tile:
    """A tile, and what it takes on an H100, in microseconds. The numbers are fitted to a sweep of 30 problems that knew
    no other slots and orders. In the one on file the rule below loses 2.5 % to the fastest plans (geometric mean)."""

    tile: tuple[int, int, int]
    warp: tuple[int, int]
    stages: int
    at_once: int  # blocks on an SM
    around: float  # of a block: before and behind its k-tiles
    latency: float  # of a k-tile, however few blocks there are
    work: float  # of a k-tile of each block on the SM

    @property
    def plan(self) -> Plan:
        return Plan(self.tile, self.warp, self.stages)

    def cost(self, M: int, N: int, K: int, split: int) -> float:
        down, across = self.plan.tiles(M, N)
        reduce = 2 + M * N * 4 * (split + 0.5) / 2e6 if split > 1 else 0
        return self.of_blocks(down * across * split, _up(_up(K, self.tile[2]), split)) + reduce

    def of_blocks(self, count: int, k_tiles: float) -> float:
        """Of so many blocks with so many k-tiles each."""
        blocks = _up(count, SMS)  # that the busiest SM makes
        waves = _up(blocks, self.at_once)
        return waves * self.around + k_tiles * max(self.latency * waves, self.work * blocks)

    def cost_of_many(self, products: Iterable[tuple[Shape, int]]) -> float:
        """Of products in one launch: so many of each shape. No block is done before the one with most k-tiles."""
        blocks, k_tiles, most = 0, 0, 0
        for (M, N, K), count in products:
            tiles, deep = count * prod(self.plan.tiles(M, N)), _up(K, self.tile[2])
            blocks, k_tiles, most = blocks + tiles, k_tiles + tiles * deep, max(most, deep)
        return max(self.of_blocks(blocks, k_tiles / blocks), self.around + most * self.latency)

    def shared_cost(self, M: int, N: int, K: int) -> float:
        """Of one block on each SM, and shared k-tiles. The two numbers are fitted to 68 problems."""
        shared = replace(self.plan, shared_by=1)
        (blocks, whole), (down, across), k_tiles = (
            shared.stream(M, N, K, SMS),
            shared.tiles(M, N),
            _up(K, self.tile[2]),
        )
        k_tile = max(self.latency, self.work)
        rest = (down * across - whole) * k_tiles / blocks  # k-tiles of a block
        return whole / blocks * (self.around + k_tiles * k_tile) + 22 + 0.96 * rest * k_tile


TILES = (
    Tile((128, 256, 64), (64, 64), 3, 1, 4.99, 1.000, 0.214),
    Tile((256, 128, 64), (64, 64), 3, 1, 4.89, 1.005, 0.695),
    Tile((128, 128, 64), (64, 64), 3, 2, 4.60, 0.637, 0.517),
    Tile((128, 192, 64), (64, 48), 3, 1, 5.26, 0.530, 0.772),
    Tile((192, 128, 64), (48, 64), 3, 1, 4.98, 0.771, 0.275),
    Tile((64, 128, 64), (32, 64), 3, 3, 5.25, 0.412, 0.326),
    Tile((128, 64, 64), (64, 32), 3, 3, 4.25, 0.478, 0.374),
    Tile((64, 96, 64), (32, 48), 4, 2, 6.26, 0.085, 0.254),
    Tile((64, 64, 64), (32, 32), 4, 3, 5.34, 0.119, 0.217),
    Tile((64, 64, 64), (32, 32), 6, 2, 5.54, 0.106, 0.203),
    Tile((32, 64, 64), (16, 32), 6, 3, 4.61, 0.075, 0.172),
    Tile((16, 64, 128), (16, 16), 4, 2, 4.82, 0.022, 0.251),
)


def plan(
    M: int,
    N: int,
    K: int,
    a_along_k: bool = True,
    b_along_k: bool = True,
    shared: int = SHARED,
    gpu: str = H100.driver_name,
) -> Plan:
    """The plan that was the fastest on this GPU, where the problem was tuned; else by a rule the one that should be."""
    known = tuned(gpu).get((M, N, K))
    if known and known.fits(a_along_k, b_along_k, shared):
        return known
    return by_rule(M, N, K, a_along_k, b_along_k, shared)


def by_rule(
    M: int, N: int, K: int, a_along_k: bool = True, b_along_k: bool = True, shared: int = SHARED
) -> Plan:
    """The plan that should take the least time on an H100, of those that fit."""
    return predicted(M, N, K, a_along_k, b_along_k, shared)[0]


def predicted(
    M: int, N: int, K: int, a_along_k: bool = True, b_along_k: bool = True, shared: int = SHARED
) -> tuple[Plan, float]:
    """The plan of the rule, and the time it should take, in microseconds."""
    fitting = [tile for tile in TILES if tile.plan.fits(a_along_k, b_along_k, shared)]
    best, split = min(
        ((tile, split) for tile in fitting for split in SPLITS), key=lambda one: one[0].cost(M, N, K, one[1])
    )
    us, largest = best.cost(M, N, K, split), TILES[0]
    if M * N * K and largest in fitting and (shared_us := largest.shared_cost(M, N, K)) < 0.95 * us:
        return replace(largest.plan, shared_by=1), shared_us
    return best.plan.parts(K, split), us


def plan_of_many(
    products: Sequence[tuple[Shape, int]], a_along_k: bool, b_along_k: bool, shared: int = SHARED
) -> tuple[Plan, int, float]:
    """The plan for products in one launch, how many of its blocks an SM holds, and the time it should take."""
    fitting = [tile for tile in TILES if tile.plan.fits(a_along_k, b_along_k, shared)]
    us, best = min(((tile.cost_of_many(products), tile) for tile in fitting), key=lambda one: one[0])
    return best.plan, best.at_once, us


@cache
def on_file(gpu: str) -> dict:
    """What tuning found on the GPU of this name; empty where nobody tuned it."""
    path = FOLDER / file_name(gpu)
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


@cache
def tuned(gpu: str) -> dict[Shape, Plan]:
    """(M, N, K) -> the fastest plan."""
    return {tuple(row["shape"]): plan_of(row) for row in on_file(gpu).get("plans", [])}


def plan_of(row: dict) -> Plan:
    """As it stands in a file."""
    return Plan(
        tuple(row["tile"]),
        tuple(row["warp"]),
        row["stages"],
        row["split"],
        row["group"],
        row.get("shared_by", 0),
    )


def _up(size: int, step: int) -> int:
    return -(-size // step)
