"""Threads that go round and round, and nobody who could end it: found at once, and not by the limit of steps.

For some time nothing but loops without traces runs (ptx/rounds.py). Then the watch notes where each thread is and what
its deciding registers hold, and sees who comes back to that. When all that run have, and the others wait, each goes
round for ever, in whatever order they take turns.
"""

from typing import Protocol

import numpy as np

from ..lanes import Registers
from ..ptx.rounds import NO_ROUNDS, Rounds
from ..units.turns import Turns

TURNS = 256
"""Without a trace, before the watch begins; it looks for so many turns, and then for twice as many."""


class Watched(Registers, Protocol):
    """What the watch asks of the machine."""

    turns: Turns


class Watch:
    """Of one machine. `at` is -1 for a lane that has not been noted."""

    def __init__(self, machine: Watched) -> None:
        self.machine = machine
        self.turns = 0
        self.length = TURNS
        self.blocks: set[int] = set()
        self.rounds = NO_ROUNDS

    def turn(self, pc: int, lanes: np.ndarray | None, traceless: bool) -> bool:
        """These lanes are about to run the basic block at `pc`. Whether all go round for ever."""
        if self.machine.turns.stirred or not traceless:
            self.machine.turns.stirred = False
            if self.turns:
                self._begin(TURNS)
            return False
        self.turns += 1
        if self.turns <= self.length:
            if self.turns * 2 > self.length:
                self.blocks.add(pc)
            return False
        if self.rounds is NO_ROUNDS:
            self._note()
        if pc not in self.rounds.blocks or (self.turns > 3 * self.length and not self.rounds.timed):
            self._begin(2 * self.length)
            return False
        if self.rounds.timed:
            # All that run wait for a time to come.
            self.machine.launch.hurry(self.turns - self.length)
            return False
        return self._comes(pc, self.machine.all_lanes(lanes))

    def _begin(self, length: int) -> None:
        self.turns, self.length, self.rounds = 0, length, NO_ROUNDS
        self.blocks.clear()

    def _note(self) -> None:
        machine, code = self.machine, self.machine.launch.code
        self.rounds = Rounds.of(code.instructions, code.flow, self._loops())
        self.values = [machine.R[register] for register in self.rounds.deciding]
        self.at = np.full(machine.lanes, -1)
        self.ran, self.back = np.zeros(machine.lanes, bool), np.zeros(machine.lanes, bool)

    def _loops(self) -> frozenset[int]:
        """The blocks that ran, and of the smallest loop around each what leaves no trace either: a way that was not
        taken lately may lead back into the loop."""
        code, blocks = self.machine.launch.code, set(self.blocks)
        loops = sorted(code.flow.loops(), key=len)
        for block in self.blocks:
            loop = next((loop for loop in loops if block in loop), ())
            blocks.update(each for each in loop if code.leaves_no_trace(each))
        return frozenset(blocks)

    def _comes(self, pc: int, lanes: np.ndarray) -> bool:
        """These lanes come to `pc`; whether with them all have come back to where they were."""
        new = self.at[lanes] < 0
        # noted when it runs for the first time: nothing that decides about it has changed since
        if new.any():
            self.at[lanes[new]] = pc
        same = self.at[lanes] == pc
        for register, noted in zip(self.rounds.deciding, self.values):
            now = self.machine.R[register]
            if now is not noted:
                same &= _of(now, lanes) == _of(noted, lanes)
        self.back[lanes] |= same & self.ran[lanes]
        self.ran[lanes] = True
        if not self.back[self.ran].all():
            return False
        running = [lanes, *(self.machine.all_lanes(others) for others in self.machine.turns.ready.values())]
        return bool(self.back[np.concatenate(running)].all())


def _of(values: np.ndarray, lanes: np.ndarray) -> np.ndarray:
    bits = values if values.dtype.kind == "b" else values.view(f"V{values.dtype.itemsize}")
    return bits if len(bits) == 1 else bits[lanes]
