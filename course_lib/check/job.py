"""What is checked, measured and kept in records: one kernel, on one problem, launched in one way."""

from dataclasses import dataclass, replace

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

    def on(self, gemm: Problem) -> "Job":
        """The same kernel and launch on another problem."""
        return replace(self, gemm=gemm)

    def simulated(
        self, inputs: tuple, max_steps: int | None = None, order: int | None = None
    ) -> tuple[tuple, Report]:
        """`Problem.simulated`, with the launch for a small problem."""
        return self.gemm.simulated(self.kernel, inputs, self.launch.small(), max_steps, order)
