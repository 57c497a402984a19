"""A whole CUDA program in the simulator: `ptxsim run`, or `run("reduce.cu")` from Python.

compile      finds nvcc and the host's C++ compiler, builds the program and the runtime library it is linked with
folder       where one run is built
kept         objects of the compiler, kept between runs
cuda12       names that went with CUDA 13; headers/cuda12/ supplies most of them
shim/        that library, in C++: it takes the place of libcudart and asks this process what to do
wire         those questions and their answers
runtime      who answers which question, for one program
context      what all answers share
memory       allocations, copies, fills; their errors
textures     whether CUDA makes a texture object, and what it reads
blas         products of matrices, in cuBLAS's place
launches     whether CUDA takes a launch, the memory that its kernel may reach, and its run
errors       CUDA's numbers and names of them
arena        device memory: one range of addresses, shared with the program
fatbin       the PTX in what nvcc builds
modules      kernels and variables of a program, ready to be launched
tensor_maps  tensor maps as the driver makes them
assembler    how many registers a kernel has
devices      the GPU that the program sees
unchanged    launches that change nothing, and need not run again
late         when the host sees what streams wrote
unchanged    launches that leave all memory as it was, and need not run again
orders       what orders the work of streams, and races between them
progress     how far a launch is, and whether it would take too long
sites        where in the program's text something was called
report       what was found, in words and as JSON
run          all of it: build, start, listen, report
typed        the command line
fixture      for pytest
"""

from .compile import BuildError, NoCompiler
from .report import ProgramReport
from .run import run

__all__ = ["BuildError", "NoCompiler", "ProgramReport", "run"]
