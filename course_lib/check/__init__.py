"""Is a kernel right?

problem   one GEMM problem: its inputs, and a launch of a kernel on them
job       a kernel, the problem that it solves, its launch: one thing
gemm      `Gemm`: a problem, and the way to a verdict
verdict   first in the simulator, then where the course runs
mistakes  where a product is wrong, and which common mistake makes it so
pairing   which k of A meets which k of B
"""
