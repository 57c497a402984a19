"""Rounds of a loop that are all alike: of many the last one is enough.

A kernel that is made to be measured does the same a thousand times over. Once a round has left all as it found it
(ptx/repeats.py) the counter goes on to the last round at once: who touches what, and the numbers, are the same.
"""

from collections import Counter
from typing import Protocol

import numpy as np

from ..lanes import Registers
from ..observe.recorder import Recorder
from ..ptx.opcode import DTYPES
from ..ptx.program import Immediate, Register
from ..ptx.repeats import Repeat
from ..races.hazards import HazardLog
from ..units.turns import Turns
from .launched import LaunchState

WORTH = 2
"""Rounds to come, if they are to be left out."""


class Looping(Registers, Protocol):
    """What it asks of the machine."""

    log: HazardLog
    still: bool | None
    turns: Turns
    recorder: Recorder
    launch: LaunchState

    def execute(self, pc: int, idx: np.ndarray | None) -> None:
        """These lanes run the basic block at `pc`."""


class Settled:
    """Of one machine."""

    def __init__(self, machine: Looping) -> None:
        self.machine = machine
        self.rounds: Counter[int] = Counter()
        launch = machine.launch
        # With a seed lanes of a loop part at random; and who counts wants each round.
        plain = launch.flags.seed is None and not (launch.counters.on or machine.recorder.on)
        self.loops = launch.code.repeats if plain else {}

    def round(self, pc: int, lanes: np.ndarray | None) -> None:
        """These lanes run the loop once. After 2, 4, 8 and so many rounds it is seen whether all stays as it is."""
        machine = self.machine
        self.rounds[pc] += 1
        if self.rounds[pc].bit_count() > 1:
            machine.execute(pc, lanes)
            return
        repeat, found = self.loops[pc], machine.log.count
        before = [machine.R[index] for index in repeat.carried]
        machine.still = True
        machine.execute(pc, lanes)
        still, machine.still = machine.still, None
        if not still or pc not in machine.turns.ready or machine.log.count != found:
            return
        going_on = machine.all_lanes(machine.turns.ready[pc])
        now = (machine.R[index] for index in repeat.carried)
        if all(_same(old, new, going_on) for old, new in zip(before, now, strict=True)):
            self._skip(pc, repeat, going_on)

    def _skip(self, pc: int, repeat: Repeat, lanes: np.ndarray) -> None:
        """To the last round of these lanes, where it is the same for all."""
        machine = self.machine
        counter, end = (self._number(each, repeat.type, lanes) for each in (repeat.counter, repeat.end))
        if counter is None or end is None or (rounds := repeat.rounds(counter, end)) <= WORTH:
            return
        held = machine.R[repeat.counter.index]
        new = np.broadcast_to(held, (machine.lanes,)).copy().view(DTYPES[repeat.type])
        new[lanes] = counter + repeat.step * (rounds - 1)
        machine.R[repeat.counter.index] = new.view(held.dtype)
        machine.launch.steps += machine.launch.code.block(pc).length * (rounds - 1)

    def _number(self, operand: Register | Immediate, kind: str, lanes: np.ndarray) -> int | None:
        """What all these lanes have there."""
        if isinstance(operand, Immediate):
            return int(operand.value(DTYPES[kind])[0])
        values = _of(self.machine.R[operand.index].view(DTYPES[kind]), lanes)
        return int(values[0]) if (values == values[0]).all() else None


def _of(values: np.ndarray, lanes: np.ndarray) -> np.ndarray:
    return values if len(values) == 1 else values[lanes]


def _same(old: np.ndarray, new: np.ndarray, lanes: np.ndarray) -> bool:
    """To the bit."""
    if old is new:
        return True
    a, b = (
        _of(each if each.dtype.kind == "b" else each.view(f"V{each.dtype.itemsize}"), lanes)
        for each in (old, new)
    )
    return bool((a == b).all())
