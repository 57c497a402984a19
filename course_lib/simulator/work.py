"""How much a launch may do before it counts as one that never ends.

The measure is work, not time, so that a verdict is the same on every machine and in every run: one step is what an
instruction takes that few lanes execute, 4 to 11 microseconds on two cores of a server (2026-11-22). More lanes take
longer. What is known to take long (checks of accesses that others contend for, arrivals at barriers one by one,
float64 with rounding of its own, shuffles, printing) spends more. So endless loops of all kinds end after 6 to 16
seconds there, and on a machine of half the speed after 10 to 30 (`python -m tests.simulator.test_limits` times
them)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .memory import Buffer, Fault

LANES = 1000
"""So many lanes take one step more."""
BLOCK = 3
"""Steps of a basic block besides those of its instructions."""
PATIENCE = 1_700_000
"""Steps, about 15 seconds, in which something must get on: a block ends, or a new part of an array is touched."""
MOST = 8 * PATIENCE
"""Steps of a launch that does get on, about two minutes."""
PAGE = 4096  # bytes: a part of an array
LOOK = 4  # one access of so many is looked at


@dataclass(frozen=True)
class Work:
    """Of a basic block: steps whatever the number of lanes, and for each lane."""

    fixed: float
    lane: float

    def of(self, lanes: int) -> float:
        return self.fixed + self.lane * lanes


def work_of(costs: list[float]) -> Work:
    """`costs`: for each instruction how many times a plain one's work it is."""
    return Work(BLOCK + sum(costs), sum(costs) / LANES)


class Budget:
    """What is left for one launch."""

    def __init__(self, max_steps: int | None) -> None:
        """None: it may go on as long as it gets on, up to MOST."""
        self.spent = 0.0
        self.most = max_steps or MOST
        self.patience = float("inf") if max_steps else PATIENCE
        self.until = min(self.most, self.patience)
        self.accesses = 0
        self.touched: dict[Buffer, np.ndarray] = {}

    def spend(self, steps: float) -> None:
        """Raises Fault when there is no more."""
        self.spent += steps
        if self.spent > self.until:
            raise Fault(
                "step-limit",
                f"the kernel did {self.spent:,.0f} steps of work and had not ended; is there a loop that never ends? "
                f"(A step is an instruction, of many lanes several. The limit is {self.until:,.0f}; max_steps=... sets "
                "another one)",
            )

    def got_on(self) -> None:
        """The launch is not going round in circles."""
        self.until = min(self.most, self.spent + self.patience)

    def next_blocks(self) -> None:
        """A batch of blocks has ended; to the next one every part of an array is new."""
        self.touched.clear()
        self.got_on()

    def access(self, buffer: Buffer, unit: np.ndarray, size: int) -> None:
        """An access to global memory; one to a part of an array that is new to these blocks shows that the launch gets
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
