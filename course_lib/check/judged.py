"""The way from a problem to a verdict on a kernel that should solve it."""

from cupy_or_sim import limits
from cupy_or_sim.given import check_launched
from cupy_or_sim.kernel import Kernel
from cupy_or_sim.launch import STANDARD, Launch
from ptxsim import Report

from . import verdict
from .job import Job
from .problem import Problem

MOST_SIMULATED = 2 * 1024**3
"""FLOP of a launch that the simulator is asked for."""


class Judged(Problem):
    """A problem with which kernels are run and checked."""

    def run(self, kernel: Kernel, launch: Launch = STANDARD) -> object:
        """Run the kernel on `inputs` and return its result."""
        check_launched(kernel, launch)
        if not limits.runs_here(kernel, launch) and self.flops > MOST_SIMULATED:
            raise ValueError(f"{self} takes minutes in the simulator: without a GPU take a smaller one")
        return self.launched(kernel, self.inputs, launch)

    def one_block(self, kernel: Kernel, launch: Launch = STANDARD, k_tiles: int | None = None) -> Report:
        """Simulate one tile of `k_tiles` k-tiles; print whether it is right, and the hazards; return the report. None:
        5 k-tiles, and where they are right 4, 6 and 7, since some mistakes show with one number only."""
        check_launched(kernel, launch)
        return verdict.one_block(Job(kernel, self, launch), k_tiles)

    def check(self, kernel: Kernel, launch: Launch = STANDARD, seed: int = 0) -> verdict.Verdict:
        """Return a verdict, or raise CheckFailed with the hazard, or with where and how the result is wrong.

        First small shapes in the simulator, on every machine: whole numbers, so that the result must be exact, and no
        hazard allowed. Then random numbers against float64; then, on a GPU, the whole problem with both.
        """
        check_launched(kernel, launch)
        return verdict.check(Job(kernel, self, launch), seed)
