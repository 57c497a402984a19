"""C = A @ B with the kernels of lessons 06 and 07.

matmul               the call
ready, packed        its launches, with all that is known before the arrays are
given                what it is given, and what is refused, in words
operands, places     how arrays lie in memory, as the kernels read them
copies               views that no kernel reads or writes
plans, hopper_plans  which tile it takes with lesson 06's and lesson 07's kernel
many, batches        batches and lists, in one launch or several; lists: what is given as such
tune, tuner          the fastest plans, found by a sweep on a GPU
sweep_file, heat     the sweep on file, and its picture
sweeps/              a file for each GPU that was tuned
"""

from .matmul import matmul
from .ready import matmul_source
from .tune import tune, tuned

__all__ = ["matmul", "matmul_source", "tune", "tuned"]
