"""C = A @ B with the kernels of lessons 06 and 07, and one for float32.

matmul               the call
ready, packed        its launches, with all that is known before the arrays are
given                what it is given, and what is refused, in words
operands, places     how arrays lie in memory, as the kernels read them
copies               views that no kernel reads or writes
warm, scratch        calls that are kept, and memory for a call; others: arrays of other libraries
plans, hopper_plans  which tile it takes with lesson 06's and lesson 07's kernel
float32, float_plans  the launches of float32, and its tiles
many, batches        batches and lists, in one launch or several; lists: what is given as such
tune, tuner          the fastest plans, found by a sweep on a GPU
sweep_file, heat     the sweep on file, and its picture
sweeps/              a file for each GPU that was tuned
hopper_menu.json     the plans of hopper_plans
"""

from .matmul import matmul
from .ready import matmul_source
from .tune import tune, tuned

__all__ = ["matmul", "matmul_source", "tune", "tuned"]
