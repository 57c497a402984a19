"""Run CUDA C++ kernels without a GPU: NVRTC compiles them to PTX, and NumPy runs the PTX.

Knows CUDA, PTX and NumPy, and nothing of lessons, plots or CuPy. README.md beside this file explains the parts.

Others import from here, and from `ptxsim.gpus`, `ptxsim.compiler`, `ptxsim.compiler.cache`,
`ptxsim.compiler.elsewhere`, `ptxsim.compiler.headers`, `ptxsim.compiler.nvrtc`, `ptxsim.observe.events`,
`ptxsim.observe.rounds`, `ptxsim.ground.foreign` and `ptxsim.ground.whole`.
"""

from .clock import (
    REASONS,
    BlockCycles,
    Issue,
    LaunchCycles,
    Shares,
    Untraceable,
    block_cycles,
    by_line,
    calibrated,
    launch_cycles,
)
from .compiler.disassembly import SassInstruction
from .compiler.nvrtc import CompileError, NvrtcMissing, Resources
from .front.arguments import Struct
from .front.kernel import Kernel, LaunchError, compile, from_ptx, machine_code, resources, variables
from .front.launch import SimulatorError, assemble, clean_side_by_side, launch
from .front.occupancy import LaunchResources, occupancy, refusal
from .front.report import HazardError, Report, line_link
from .ground.foreign import printable, printable_line
from .ground.interrupts import MessageOnly, in_background, result_of
from .ground.tensor_map import TensorMap
from .instructions.tensor import fragment
from .observe.counters import NO_LANE, Counts, global_sectors, shared_wavefronts
from .python_kernels import CompilerMissing, numba, triton
from .races.hazards import BAD_ADDRESS, CAUSES, KINDS, Cause, Hazard, Kind, Meeting

__all__ = [
    "BAD_ADDRESS",
    "CAUSES",
    "KINDS",
    "NO_LANE",
    "REASONS",
    "BlockCycles",
    "Cause",
    "CompileError",
    "CompilerMissing",
    "Counts",
    "Hazard",
    "HazardError",
    "Issue",
    "Kernel",
    "Kind",
    "LaunchCycles",
    "LaunchError",
    "LaunchResources",
    "Meeting",
    "MessageOnly",
    "NvrtcMissing",
    "Report",
    "Resources",
    "SassInstruction",
    "Shares",
    "SimulatorError",
    "Struct",
    "TensorMap",
    "Untraceable",
    "assemble",
    "block_cycles",
    "by_line",
    "calibrated",
    "clean_side_by_side",
    "compile",
    "fragment",
    "from_ptx",
    "global_sectors",
    "in_background",
    "launch",
    "launch_cycles",
    "line_link",
    "machine_code",
    "numba",
    "occupancy",
    "printable",
    "printable_line",
    "refusal",
    "resources",
    "result_of",
    "shared_wavefronts",
    "triton",
    "variables",
]
