"""Kernels that are written in Python: Triton or Numba compiles them to PTX, which needs no GPU, and they run here.

triton_kernels  `triton` runs a function under @triton.jit
numba_kernels   `numba` runs a function, or one under @cuda.jit
compilers       what both need

Neither compiler is a requirement of ptxsim: each is imported when it is asked for.
"""

from .compilers import CompilerMissing
from .numba_kernels import numba
from .triton_kernels import triton

__all__ = ["CompilerMissing", "numba", "triton"]
