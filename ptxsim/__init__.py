"""Run CUDA C++ kernels without a GPU: NVRTC compiles them to PTX, and NumPy runs the PTX.

Knows CUDA, PTX and NumPy, and nothing of lessons, plots or CuPy. README.md beside this file explains the parts.
Others import from here, and from `ptxsim.gpus`, `ptxsim.compiler` and `ptxsim.observe.events`.
"""

from .arguments import Struct
from .clock import (
    REASONS,
    BlockCycles,
    Issue,
    LaunchCycles,
    Untraceable,
    block_cycles,
    calibrated,
    launch_cycles,
)
from .compiler.disassembly import SassInstruction
from .compiler.nvrtc import CompileError, NvrtcMissing, Resources
from .foreign import printable, printable_line
from .instructions.tensor import fragment
from .interrupts import MessageOnly, in_background, result_of
from .kernel import Kernel, LaunchError, compile, from_ptx, machine_code, resources, variables
from .launch import SimulatorError, assemble, clean_side_by_side, launch
from .observe.counters import NO_LANE, Counts, global_sectors, shared_wavefronts
from .occupancy import LaunchResources, occupancy, refusal
from .races.hazards import BAD_ADDRESS, CAUSES, KINDS, Cause, Hazard, Kind, Meeting
from .report import HazardError, Report, line_link
from .tensor_map import TensorMap

__all__ = [
    "BAD_ADDRESS",
    "CAUSES",
    "KINDS",
    "NO_LANE",
    "REASONS",
    "BlockCycles",
    "Cause",
    "CompileError",
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
    "SimulatorError",
    "Struct",
    "TensorMap",
    "Untraceable",
    "assemble",
    "block_cycles",
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
    "occupancy",
    "printable",
    "printable_line",
    "refusal",
    "resources",
    "result_of",
    "shared_wavefronts",
    "variables",
]
