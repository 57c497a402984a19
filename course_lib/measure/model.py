"""A launch as the simulator's clocks see it on an H100: the source of modelled times and timelines."""

from math import prod

import numpy as np

from cupy_or_sim.simulate import compiled
from ptxsim import Estimate, LaunchCycles, estimate, launch_cycles

from ..check.job import Job

BAND = 0.76, 1.35
"""Modelled over measured time of the lessons' kernels at 4096^3; tests/ptxsim/clock/test_clock_lessons.py holds it."""
ORIGIN = f"not a measurement; times of the lessons' kernels are {BAND[0]} to {BAND[1]} of the measured ones"


def modelled(job: Job) -> Estimate:
    """The model of this launch. Only one block of it is simulated, with a few k-tiles."""
    kernel, gemm, launch = job.kernel, job.gemm, job.launch
    M, N, K = launch.tile

    def block_of(k_tiles: int, tiles: int = 1) -> tuple:
        problem = gemm.like(tiles * M, N, k_tiles * K)
        return problem.passed(kernel, problem.arguments(*problem.integers(seed=0)))

    code, grid, tiles = compiled(kernel), gemm.grid(launch), _tiles_of_a_block(job)
    return estimate(code, grid, launch.block, block_of, gemm.K // K, launch.shared_mem, tiles=tiles)


def by_machine_code(job: Job) -> LaunchCycles:
    """The model of this launch that plays its machine code. No arrays are made: nothing looks at data.

    Raises Untraceable for a kernel that it cannot follow.
    """
    kernel, gemm, launch = job.kernel, job.gemm, job.launch
    M, N, K = launch.tile

    def args_at(k_tiles: int, tiles: int = 0) -> tuple:
        m, n = (tiles * M, N) if tiles else (gemm.M, gemm.N)
        return None, None, None, m, n, k_tiles * K

    code, grid = compiled(kernel), gemm.grid(launch)
    operands = (gemm.M + gemm.N) * gemm.K * np.dtype(gemm.dtype).itemsize
    return launch_cycles(
        code,
        grid,
        launch.block,
        args_at,
        gemm.K // K,
        launch.shared_mem,
        operands=operands,
        tiles=_tiles_of_a_block(job),
    )


def _tiles_of_a_block(job: Job) -> int:
    """The most that one makes; a cluster's blocks share them out together."""
    launch = job.launch
    if not launch.blocks:
        return 1
    cluster = compiled(job.kernel).code.program.cluster[0]
    return -(-prod(job.gemm.tiles(launch)) * cluster // launch.blocks)
