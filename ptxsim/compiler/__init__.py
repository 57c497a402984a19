"""From CUDA C++ to PTX and to machine code, without a GPU.

nvrtc        NVIDIA's compiler as a library: PTX; registers, spills and shared memory as ptxas reports them
headers      CUDA's headers in memory, for compiling what somebody else sent
elsewhere    PTX and machine code from another machine's compiler, where there is none here
cache        what it made, kept in files: the one place where a compilation is looked up
nested       how deep a text may be nested before the compiler's stack is full
debug_names  the same from debug information
signature    the names of a kernel's parameters, from its source, for messages
shared_arrays  shared arrays as they were declared, for messages: `full[1]`
joined       lines of stores and barriers that the compiler has joined, from the source
disassembly  a cubin as a list of instructions, by nvdisasm
"""

from ..ptx.flow import ENDS, targets_of
from ..ptx.program import MAIN_FILE, Instruction
from ..ptx.provenance import read_by, written_by
from . import cache, elsewhere, nvrtc
from .cache import ToolMissing
from .disassembly import NvdisasmMissing, nvdisasm

__all__ = [
    "ENDS",
    "MAIN_FILE",
    "Instruction",
    "NvdisasmMissing",
    "ToolMissing",
    "cache",
    "elsewhere",
    "nvdisasm",
    "nvrtc",
    "read_by",
    "targets_of",
    "written_by",
]
