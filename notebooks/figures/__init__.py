"""What single lessons draw and count. lesson_NN.py has the figures of lesson NN, one function each; cells import from
the others:

k_block       03  what a warp does for one k-block, counted
loads_ahead   03  how far ahead of their FMAs the loads of a loop stand, in machine code
single        06  one kernel of `matmul` by itself: to break it, to count and to time it
comparisons   06  its kernels beside each other, `matmul` and cuBLAS
full_unit     06  which unit of the GPU is full while a kernel runs
tensor_share  07, 08  in which part of all cycles the tensor cores work
pauses        08  where they rest
programs      09  a whole program run, its kernels in the simulator
"""
