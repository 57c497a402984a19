"""`Gemm`: one GEMM problem, and the way to a verdict on a kernel that should solve it."""

from cupy_or_sim import limits
from cupy_or_sim.given import check_launched
from cupy_or_sim.kernel import Kernel
from cupy_or_sim.launch import STANDARD, Launch
from ptxsim import Report

from . import verdict
from .job import Job
from .problem import Problem


class Gemm(Problem):
    """C = A @ B.T with A (M,K), B (N,K), C (M,N); float32 is column-major (NT), float16 row-major (TN).

    What is launched and timed reads normal random numbers; `zeros`: zeros, for which a chip draws less power.
    """

    def run(self, kernel: Kernel, launch: Launch = STANDARD) -> object:
        """Run the kernel on `inputs` and return C."""
        check_launched(kernel, launch)
        if not limits.runs_here(kernel, launch) and self.M * self.N * self.K > 1024**3:
            raise ValueError(f"{self} takes minutes in the simulator: without a GPU take 512 x 512 x 512")
        return self.launched(kernel, self.inputs, launch)

    def one_block(self, kernel: Kernel, launch: Launch = STANDARD, k_tiles: int | None = None) -> Report:
        """Simulate one tile of `k_tiles` k-tiles; print whether C is right, and the hazards; return the report. None: 5
        k-tiles, and where they are right 4, 6 and 7, since some mistakes show with one number only."""
        check_launched(kernel, launch)
        return verdict.one_block(Job(kernel, self, launch), k_tiles)

    def check(self, kernel: Kernel, launch: Launch = STANDARD, seed: int = 0) -> verdict.Verdict:
        """Return a verdict, or raise CheckFailed with the hazard, or with where and how C is wrong.

        First small shapes in the simulator, on every machine: integers, so that C must be exact, and no
        hazard allowed. Then random numbers against float64; then, on a GPU, the whole problem with both.
        """
        check_launched(kernel, launch)
        return verdict.check(Job(kernel, self, launch), seed)
