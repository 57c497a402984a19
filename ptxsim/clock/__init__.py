"""How many cycles a launch takes by its machine code: a model, never a measurement.

operands      an instruction's text, taken apart
registers     what a warp knows without data
arithmetic    what instructions on integers and predicates do
walk          what a warp issues
accesses      and what of it reaches beyond the warp's registers
costs         the numbers of an SM's units, each with its source
measured      a GPU's own numbers, from what `make calibrate` measured there
footprint     what a launch touches of global memory
memory        what the sub-cores share: L1, the way to L2 and back
reasons       what a warp spends its cycles on
core          a sub-core, its warps and their blocks; what all operations have
operations    a type for each kind of instruction: what happens when it is issued
instructions  the operation of an instruction, with what it costs
sm            the warps of an SM's blocks, played on four sub-cores
by_line       shares of the time by source line
model         a whole launch
block         what the warps of one block do, and when
services      when units of the SM work for it
"""

from .block import BlockCycles, Issue, block_cycles
from .by_line import Shares, by_line
from .measured import calibrated
from .model import LaunchCycles, launch_cycles
from .reasons import REASONS
from .walk import Untraceable

__all__ = [
    "REASONS",
    "BlockCycles",
    "Issue",
    "LaunchCycles",
    "Shares",
    "Untraceable",
    "block_cycles",
    "by_line",
    "calibrated",
    "launch_cycles",
]
