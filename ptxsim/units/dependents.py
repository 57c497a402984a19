"""A launch that may begin before the kernel before it has ended (CUDA C++ Programming Guide, "Programmatic Dependent
Launch"): until a thread has come through griddepcontrol.wait, that kernel may still read and write global memory.

A block that touches global memory when none of its threads has waited is reported. That is so in the order that was
simulated, and a GPU may take this order, too; another block's wait, or one behind a barrier, counts for nobody else.
"""

from typing import Protocol

import numpy as np

from ..lanes import Lanes
from ..races.hazards import HazardLog

TEXT = (
    "touches global memory before its block has come to griddepcontrol.wait, and the kernel before may still write or "
    "read it: wait first"
)


class Dependents(Lanes, Protocol):
    """Who waits for the kernel before."""

    log: HazardLog

    def describe_thread(self, lane: int) -> str:
        """In words."""


class Dependence:
    """Of one machine on the kernel before."""

    def __init__(self, machine: Dependents, blocks: int, exists: bool) -> None:
        self.machine = machine
        self.open = np.full(blocks, exists)  # blocks that have not waited
        self.any_open = exists

    def wait(self) -> None:
        """The active lanes have waited: all that the kernel before did is there."""
        self.open[self.machine.block_of[self.machine.active()]] = False
        self.any_open = bool(self.open.any())

    def touch(self, lanes: np.ndarray, pc: int) -> None:
        """These lanes touch global memory."""
        machine = self.machine
        early = lanes[self.open[machine.block_of[lanes]]]
        if len(early):
            text = f"{machine.describe_thread(int(early[0]))} {TEXT}"
            machine.log.add(
                "block-conflict", machine.launch.code.instructions[pc], text, len(early), "kernel-before"
            )
