"""Which tile, how many slots and how many parts of K `matmul` takes for a problem."""

from __future__ import annotations

from dataclasses import dataclass, replace

SMS, SHARED = 132, 232_448
"""Of an H100: streaming multiprocessors, and bytes of shared memory that a block may have."""
GROUP = 16
"""Tiles below each other that are made before those to the right of them, so that L2 has what they read."""


@dataclass(frozen=True)
class Plan:
    """A block's tile (M, N, K), a warp's part of it (M, N), slots of the ring, and in how many parts K is split."""

    tile: tuple[int, int, int]
    warp: tuple[int, int]
    stages: int
    split: int = 1

    @property
    def threads(self) -> int:
        return self.tile[0] // self.warp[0] * (self.tile[1] // self.warp[1]) * 32

    @property
    def shared_mem(self) -> int:
        """Bytes for the ring, or for all sums of the block where these need more."""
        (TM, TN, TK), (WM, WN) = self.tile, self.warp
        return max(self.stages * (TM + TN) * TK * 2, self.threads // 32 * WM * (WN + 8) * 4)

    def fits(self, a_along_k: bool, b_along_k: bool) -> bool:
        """Whether the threads copy a tile in whole turns of 8 rows, or more, where its rows run along M or N."""
        return (a_along_k or self.threads % self.tile[0] == 0) and (
            b_along_k or self.threads % self.tile[1] == 0
        )

    def tiles(self, M: int, N: int) -> tuple[int, int]:
        """Down C and across it."""
        return _up(M, self.tile[0]), _up(N, self.tile[1])

    def groups(self, M: int) -> int:
        """Of at most GROUP tiles below each other."""
        return _up(_up(M, self.tile[0]), GROUP)

    def grid(self, M: int, N: int) -> tuple[int, int, int]:
        """Tiles down a group, tiles across C, groups times parts of K."""
        down, across = self.tiles(M, N)
        return _up(down, self.groups(M)), across, self.groups(M) * self.split

    def k_part(self, K: int) -> int:
        """How many k a block adds: whole k-tiles."""
        return max(_up(_up(K, self.tile[2]), self.split), 1) * self.tile[2]

    def parts(self, K: int, split: int) -> Plan:
        """This plan with K in about so many parts, none of them empty."""
        return replace(self, split=max(_up(K, replace(self, split=split).k_part(K)), 1))


TILES = (
    Plan((128, 256, 64), (64, 64), 3),
    Plan((256, 128, 64), (64, 64), 3),
    Plan((128, 128, 64), (64, 64), 3),
    Plan((128, 128, 64), (64, 32), 4),
    Plan((64, 128, 64), (32, 64), 3),
    Plan((128, 64, 64), (64, 32), 3),
    Plan((64, 64, 64), (32, 32), 4),
    Plan((32, 128, 64), (32, 32), 4),
)


def plan(M: int, N: int, K: int, a_along_k: bool = True, b_along_k: bool = True) -> Plan:
    """The plan for a problem, by a rule: the fewest waves x work of a wave."""
    fitting = [tile for tile in TILES if tile.fits(a_along_k, b_along_k)]
    parts = (tile.parts(K, split) for tile in fitting for split in (1, 2, 3, 4, 6, 8, 12, 16))
    return min(parts, key=lambda one: cost(one, M, N, K))


def cost(one: Plan, M: int, N: int, K: int) -> float:
    TM, TN, _ = one.tile
    down, across = one.tiles(M, N)
    waves = _up(down * across * one.split, SMS)
    return waves * (TM * TN * (one.k_part(K) + 200)) + (one.split > 1) * (
        M * N * (one.split + 1) / 10 + 10000
    )


def _up(size: int, step: int) -> int:
    return -(-size // step)
