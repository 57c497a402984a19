"""Run CUDA C++ kernels without a GPU: NVRTC compiles them to PTX, and NumPy runs the PTX.

Knows CUDA, PTX and NumPy, and nothing of lessons, plots or CuPy. README.md beside this file explains the parts.
"""

from .arguments import Struct
from .compiler.disassembly import SassInstruction
from .compiler.nvrtc import CompileError, NvrtcMissing, Resources
from .estimate import Estimate, estimate
from .kernel import Kernel, LaunchError, compile, machine_code, resources
from .launch import SimulatorError, assemble, launch
from .races.hazards import Hazard
from .report import HazardError, Report
from .tensor_map import TensorMap

__all__ = [
    "CompileError",
    "Estimate",
    "Hazard",
    "HazardError",
    "Kernel",
    "LaunchError",
    "NvrtcMissing",
    "Report",
    "Resources",
    "SassInstruction",
    "SimulatorError",
    "Struct",
    "TensorMap",
    "assemble",
    "compile",
    "estimate",
    "launch",
    "machine_code",
    "resources",
]
