"""When a launch counts as one that never ends.

By default the measure is time, that of this thread on the processor, because work per instruction differs a
thousandfold: what an access costs depends on who touched the place before. Who gives `max_steps` gets the same verdict
on every machine: one step is about what an instruction takes that few lanes execute; more lanes take longer.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import thread_time

import numpy as np

from .memory import Buffer, Fault

LANES = 1000
"""So many lanes take one step more."""
PATIENCE = 15
"""Seconds in which something must get on: a batch of blocks ends, or a new part of an array is touched."""
MOST = 8 * PATIENCE
"""Seconds of a launch that does get on."""
PAGE = 4096  # bytes: a part of an array
LOOK = 16  # one access of so many is looked at


@dataclass(frozen=True)
class Work:
    """Of a basic block: steps whatever the number of lanes, and for each lane."""

    fixed: float
    lane: float

    def of(self, lanes: int) -> float:
        return self.fixed + self.lane * lanes


def work_of(costs: list[float]) -> Work:
    """`costs`: for each instruction how many times a plain one's work it is."""
    return Work(sum(costs), sum(costs) / LANES)


class Budget:
    """What is left for one launch."""

    def __init__(self, max_steps: int | None) -> None:
        """None: it may go on as long as it gets on, up to MOST."""
        self.max_steps = max_steps
        self.spent = 0.0
        self.began = self.moved = thread_time()
        self.accesses = 0
        self.touched: dict[Buffer, np.ndarray] = {}

    def spend(self, steps: float) -> None:
        """Raises Fault when there is no more."""
        self.spent += steps
        if self.max_steps:
            if self.spent > self.max_steps:
                self._end(f"did more than {self.max_steps:,} steps of work and had not ended")
            return
        now = thread_time()
        if now - self.moved > PATIENCE:
            self._end(
                f"ran for {PATIENCE} seconds in which no block ended and no new part of an array was touched"
            )
        if now - self.began > MOST:
            self._end(f"ran for {MOST} seconds and had not ended")

    def _end(self, what: str) -> None:
        raise Fault(
            "step-limit",
            f"the kernel {what}; is there a loop that never ends? (max_steps=... sets another limit)",
        )

    def got_on(self) -> None:
        """The launch is not going round in circles."""
        self.moved = thread_time()

    def access(self, buffer: Buffer, unit: np.ndarray, size: int) -> None:
        """An access to global memory; one to a part of an array that was never touched shows that the launch gets
        on."""
        self.accesses += 1
        if self.accesses % LOOK:
            return
        pages = unit * size // PAGE
        touched = self.touched.get(buffer)
        if touched is None:
            touched = self.touched[buffer] = np.zeros(buffer.size // PAGE + 1, bool)
        if not touched[pages].all():
            touched[pages] = True
            self.got_on()
