"""C = A @ B with the kernels of lessons 06 and 07.

matmul               the call
operands             what it is given, and what is refused
plans, hopper_plans  which tile it takes with lesson 06's and lesson 07's kernel
tune, tuner          the fastest plans, found by a sweep on a GPU
sweep_file, heat     the sweep on file, and its picture
single               one kernel by itself: to break it, to count and to time it
comparisons          lesson 06's kernels beside each other, `matmul` and cuBLAS
"""
