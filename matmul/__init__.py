"""C = A @ B with the kernels of lessons 06 and 07.

matmul               the call
ready, packed        its launches, with all that is known before the arrays are
operands             what it is given, and what is refused
plans, hopper_plans  which tile it takes with lesson 06's and lesson 07's kernel
tune, tuner          the fastest plans, found by a sweep on a GPU
sweep_file, heat     the sweep on file, and its picture
sweeps/              a file for each GPU that was tuned
"""

from .matmul import matmul
from .ready import matmul_source
from .tune import tune, tuned

__all__ = ["matmul", "matmul_source", "tune", "tuned"]
