"""Run CUDA C++ kernels without a GPU: NVRTC compiles them to PTX, and NumPy runs the PTX.

Knows CUDA, PTX and NumPy, and nothing of lessons, plots or CuPy. README.md beside this file explains the parts.
"""

from collections.abc import Callable

from .estimate import Estimate, estimate
from .hazards import Hazard
from .launch import Kernel, LaunchError, assemble, compile, launch
from .nvrtc import CompileError, NvrtcMissing, Resources
from .nvrtc import machine_code as _machine_code
from .nvrtc import resources as _resources
from .report import HazardError, Report
from .tensor_map import TensorMap


def resources(kernel: Kernel, arch: str = "sm_90") -> Resources:
    """Registers, spills and shared memory of a kernel on a real GPU architecture, as ptxas reports them."""
    return _resources(kernel.source, kernel.entry, kernel.options, arch, kernel.name_expressions)


def machine_code(kernel: Kernel, arch: str, disassemble: Callable[[bytes], str]) -> tuple[str, str]:
    """What `disassemble` makes of the kernel's cubin for a real GPU architecture, and the kernel's name in it."""
    made = _machine_code(kernel.source, kernel.name_expressions, kernel.options, arch, disassemble)
    return made.text, made.lowered.get(kernel.name, kernel.name)


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
    "TensorMap",
    "assemble",
    "compile",
    "estimate",
    "launch",
    "machine_code",
    "resources",
]
