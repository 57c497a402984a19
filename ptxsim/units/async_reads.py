"""Who reads shared memory on its own for a while: tensor cores, from the start of a product until somebody knows that
it is over. Who changes meanwhile what they read is found."""

import numpy as np

from ..races.shadow import Reading
from .access import Memories

CHUNK = 16
"""Bytes of the unit in which tensor cores read shared memory."""
KNOWN = {
    "wgmma": ("wgmma-still-reads", "First wgmma.wait_group, then free the slot"),
    "tcgen05": (
        "mma-still-reads",
        "First wait for the phase of the mbarrier that tcgen05.commit tells, then free the slot",
    ),
}
"""By who reads, the cause of a finding, and how one comes to know that the reads are over."""


class AsyncReads:
    """Of one machine."""

    def __init__(self, machine: Memories) -> None:
        self.machine = machine
        self.going_on: list[Reading] = []
        self.count: np.ndarray | None = None  # by chunk of shared memory, how many are reading it

    def begin(self, reading: Reading) -> None:
        if self.count is None:
            self.count = np.zeros(len(self.machine.shared.memory.data) // CHUNK, np.int32)
        self.count[reading.chunks] += 1
        self.going_on.append(reading)

    def end(self, reading: Reading) -> None:
        if self.count is not None:
            self.count[reading.chunks] -= 1
        self.going_on.remove(reading)

    def on_write(self, unit: np.ndarray, size: int, pc: int, lanes: np.ndarray) -> None:
        """These lanes write these units of `size` bytes, or start a copy to them."""
        if self.count is None:
            return
        chunks = unit * size // CHUNK
        hit = np.flatnonzero(self.count[chunks])
        if not len(hit):
            return
        machine, instructions = self.machine, self.machine.launch.code.instructions
        reading = next(each for each in self.going_on if chunks[hit[0]] in each.chunks)
        reader = instructions[reading.pc].opcode.root
        cause, first = KNOWN[reader.partition(".")[0]]
        place = machine.shared.describe(int(unit[hit[0]]) * size % machine.shared.stride)
        text = (
            f"{machine.describe_thread(int(lanes[hit[0]]))} writes {place}, which the {reader} at "
            f"{machine.launch.code.where(reading.pc)} may still read. {first}"
        )
        machine.log.add("write-after-read", instructions[pc], text, len(hit), cause)
