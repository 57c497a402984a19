"""What is checked, measured and kept in records: one kernel, on one problem, launched in one way."""

from dataclasses import dataclass, replace

from cupy_or_sim.given import check_launched
from cupy_or_sim.kernel import Kernel
from cupy_or_sim.launch import Launch
from ptxsim import Report

from .problem import Problem


@dataclass(frozen=True)
class Job:
    """A kernel, the problem that it solves, and its launch."""

    kernel: Kernel
    gemm: Problem
    launch: Launch

    @classmethod
    def given(cls, kernel: Kernel, gemm: Problem, launch: Launch) -> "Job":
        """As a cell hands it over. Raises TypeError for what is no kernel, problem or launch, and for another order."""
        if not isinstance(gemm, Problem):
            raise TypeError(
                "expected the kernel, then its problem, then its launch, "
                f"got a {type(kernel).__name__}, then a {type(gemm).__name__}"
            )
        check_launched(kernel, launch)
        return cls(kernel, gemm, launch)

    def on(self, gemm: Problem) -> "Job":
        """The same kernel and launch on another problem."""
        return replace(self, gemm=gemm)

    def simulated(
        self, inputs: tuple, max_steps: int | None = None, order: int | None = None
    ) -> tuple[tuple, Report]:
        """`Problem.simulated`, with the launch for a small problem."""
        return self.gemm.simulated(self.kernel, inputs, self.launch.small(), max_steps, order)
