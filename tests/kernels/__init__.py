"""Small CUDA kernels, each with a NumPy reference; `cases.CASES` and `cases.WRONG` list them all."""
