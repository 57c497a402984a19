"""A launch as the simulator's clock sees it on an H100: the source of modelled times and timelines."""

from __future__ import annotations

from math import prod

from ..simulate import compiled
from ..simulator.estimate import Estimate, estimate

BAND = 0.76, 1.35
"""Modelled over measured time of the lessons' kernels at 4096^3; tests/simulator/test_clock_lessons.py holds it."""
ORIGIN = f"not a measurement; times of the lessons' kernels are {BAND[0]} to {BAND[1]} of the measured ones"


def modelled(
    kernel, gemm, tile: tuple, threads: int | tuple, shared_mem: int, blocks: int | None = None
) -> Estimate:
    """The model of this launch. Only one block of it is simulated, with a few k-tiles; `blocks` of a persistent kernel
    share the tiles out."""

    def block_of(k_tiles: int, tiles: int = 1) -> tuple:
        problem = type(gemm)(tiles * tile[0], tile[1], k_tiles * tile[2], gemm.dtype)
        return problem.passed(kernel, problem.arguments(*problem.integers(seed=0)))

    block = threads if isinstance(threads, tuple) else (threads,)
    code, grid, tiles = compiled(kernel), gemm.grid(tile, blocks), 1
    if blocks:  # or clusters, which share the tiles out
        tiles = -(-prod(gemm.grid(tile)) * code.code.program.cluster[0] // blocks)
    return estimate(code, grid, block, block_of, gemm.K // tile[2], shared_mem, tiles=tiles)
