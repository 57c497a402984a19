"""How many cycles a launch takes by its machine code: a model, never a measurement.

operands    an instruction's text, taken apart
registers   what a warp knows without data
arithmetic  what instructions on integers and predicates do
walk        what a warp issues
costs       what an instruction costs, each number with its source
measured    a GPU's own numbers, from what `make calibrate` measured there
sm          the warps of an SM's blocks, on four sub-cores
model       a whole launch
block       what the warps of one block do, and when
services    when units of the SM work for it
"""

from .block import BlockCycles, Issue, block_cycles
from .core import REASONS
from .measured import calibrated
from .model import LaunchCycles, launch_cycles
from .walk import Untraceable

__all__ = [
    "REASONS",
    "BlockCycles",
    "Issue",
    "LaunchCycles",
    "Untraceable",
    "block_cycles",
    "calibrated",
    "launch_cycles",
]
