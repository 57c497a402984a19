"""A launch as the simulator's clock sees it on an H100: the source of modelled times and timelines."""

from __future__ import annotations

from ..simulate import compiled
from ..simulator.estimate import Estimate, estimate

BAND = 0.76, 1.35
"""Modelled over measured time of the lessons' kernels at 4096^3; tests/simulator/test_clock_lessons.py holds it."""
ORIGIN = f"not a measurement; times of the lessons' kernels are {BAND[0]} to {BAND[1]} of the measured ones"


def modelled(
    kernel, gemm, tile: tuple, threads: int | tuple, shared_mem: int, blocks: int | None = None
) -> Estimate:
    """The model of this launch. Only one block of it is simulated, with a few k-tiles."""

    def block_of(k_tiles: int) -> tuple:
        problem = type(gemm)(*tile[:2], k_tiles * tile[2], gemm.dtype)
        return problem.passed(kernel, problem.arguments(*problem.integers(seed=0)))

    block = threads if isinstance(threads, tuple) else (threads,)
    return estimate(compiled(kernel), gemm.grid(tile), block, block_of, gemm.K // tile[2], shared_mem)
