"""Is a kernel right?

problem   what a kernel solves: inputs, and a launch of a kernel on them
product   a problem: C = A @ B.T
judged    a problem, and the way to a verdict
job       a kernel, the problem that it solves, its launch: one thing
gemm      `Gemm`: a product, and the way to a verdict
attention `Attention`, and the way to a verdict
kinds     all of these, by what stands in a file
verdict   first in the simulator, then where the course runs
mistakes  where a product is wrong, and which common mistake makes it so
attention_mistakes  attention in float64, and what common mistakes make of it
pairing   which k of A meets which k of B
"""
