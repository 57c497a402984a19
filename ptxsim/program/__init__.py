"""A whole CUDA program in the simulator: `ptxsim run`, or `run("reduce.cu")` from Python.

compile    finds nvcc and the host's C++ compiler, builds the program and the runtime library it is linked with
shim/      that library, in C++: it takes the place of libcudart and asks this process what to do
wire       those questions and their answers
arena      device memory: one range of addresses, shared with the program
fatbin     the PTX in what nvcc builds
modules    kernels and variables of a program, ready to be launched
runtime    what each question means: the rules of CUDA's runtime
devices    the GPU that the program sees
sites      where in the program's text something was called
report     what was found, in words and as JSON
run        all of it: build, start, listen, report
"""

from .compile import BuildError
from .report import ProgramReport
from .run import run

__all__ = ["BuildError", "ProgramReport", "run"]
