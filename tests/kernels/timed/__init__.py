"""Kernels that were timed on a GPU, and that the clock on machine code is compared with. `FILE` of each has its points;
research/record_*.py measures them anew."""
