"""What is typed behind `ptxsim check`, and what is told: for the command line alone.

files      what is no file to check, and what to do with it
host       a file without main, <vector> and what else only the host can use
kernels    which kernel of a file a name means; the word for a name that means none, or several
arguments  `--arg float32[64]=zeros` as an array; the word for one that does not fit the kernel
places     findings and errors with the file and the line that an editor jumps to
orders     a small launch in more than one order of its warps
"""
