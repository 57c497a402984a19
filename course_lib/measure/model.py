"""A launch as the simulator's clock sees it: the source of modelled times and timelines.

The GPU is an H100; on a machine whose own GPU `make calibrate` has measured, that one.
"""

from collections.abc import Callable
from math import prod
from typing import TypeVar

from cupy_or_sim import limits
from cupy_or_sim.simulate import compiled
from ptxsim import BlockCycles, LaunchCycles, Untraceable, block_cycles, calibrated, launch_cycles
from ptxsim.compiler.cache import ToolMissing
from ptxsim.gpus import H100, Gpu

from ..check.job import Job

Answer = TypeVar("Answer")
WITHIN = 0.15
"""By what part a time by machine code may be off, of the lessons' kernels at 4096^3: held by
tests/ptxsim/clock/test_lessons.py."""
BY_MACHINE_CODE = (
    f"not a measurement; times of the lessons' kernels are within {100 * WITHIN:.0f} % of the measured ones"
)
NOT_FOLLOWED = Untraceable, ToolMissing
"""What the clock raises of a kernel that it cannot follow, and where nobody makes its machine code."""


def trust(played: LaunchCycles | BlockCycles) -> str:
    """How far a model on machine code is to be trusted, in words."""
    return f"{played.origin}; not a measurement, and compared with none" if played.origin else BY_MACHINE_CODE


def gpu_of(job: Job) -> Gpu:
    """Whose clock plays a launch: of the GPU here, where it is calibrated and the launch fits; else of the H100."""
    here = limits.this_gpu()
    return here if calibrated(here) and not limits.misfit(job.kernel, job.launch) else H100


def by_machine_code(job: Job) -> LaunchCycles:
    """The model of this launch that plays its machine code. No arrays are made: nothing looks at data.

    Raises Untraceable for a kernel that it cannot follow, and ToolMissing where nobody makes its machine code.
    """
    return _of_launch(job, launch_cycles)


def block_by_machine_code(job: Job) -> BlockCycles:
    """What the warps of one block of this launch do, as `by_machine_code` sees them."""
    return _of_launch(job, block_cycles)


def _of_launch(job: Job, ask: Callable[..., Answer]) -> Answer:
    kernel, gemm, launch = job.kernel, job.gemm, job.launch
    M, N, K = launch.tile

    def args_at(k_tiles: int, tiles: int = 0) -> tuple:
        m, n = (tiles * M, N) if tiles else (gemm.M, gemm.N)
        return *(None for _ in gemm.matrices), *gemm.like(m, n, k_tiles * K).numbers()

    return ask(
        compiled(kernel),
        gemm.grid(launch),
        launch.block,
        args_at,
        gemm.K // K,
        launch.shared_mem,
        gpu_of(job),
        operands=gemm.operands,
        tiles=_tiles_of_a_block(job),
    )


def _tiles_of_a_block(job: Job) -> int:
    """The most that one makes; a cluster's blocks share them out together."""
    launch = job.launch
    if not launch.blocks:
        return 1
    cluster = compiled(job.kernel).code.program.cluster[0]
    return -(-prod(job.gemm.tiles(launch)) * cluster // launch.blocks)
