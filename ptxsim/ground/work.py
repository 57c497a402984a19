"""How much a launch may do before it is stopped, because it may never end.

The measure is work, so that a verdict is the same on every machine and in every run: one step is what an
instruction takes that few lanes execute, 4 to 11 microseconds on two cores of a server (2026-11-22). More lanes take
longer. What is known to take long (checks of accesses that others contend for, arrivals at barriers one by one,
float64 with rounding of its own, shuffles, printing) spends more.

Besides, a clock runs while nothing gets on: on a slow machine, or where steps say too little (fences of thousands of
warps), an endless loop ends by it. It counts what this process was given of a processor: a machine that sleeps, or has
other work, ends no kernel. A launch that is given its number of steps reads no clock. (`python -m
research.endless_loops` times endless loops of all kinds.)"""

from dataclasses import dataclass
from time import monotonic, process_time

import numpy as np

from .memory import Buffer, Fault

LANES = 1000
"""So many lanes take one step more."""
BLOCK = 3
"""Steps of a basic block besides those of its instructions."""
PATIENCE = 1_700_000
"""Steps, about 15 seconds, in which something must get on: a thread ends, or a new part of an array is touched."""
SECONDS = 15
"""... and so many seconds: what takes far longer than its steps say ends, too."""
MOST = 8 * PATIENCE
"""Steps of a launch that does get on, about two minutes."""
MOMENT = 0.1
"""Seconds within which the clock is set once: to ask for the time of a processor takes as long as some instructions."""
PART = 8  # log2 of the bytes of a part of an array
MANY, EACH = 2048, 8
"""Of accesses of so many lanes, each so-many-th lane says what is touched."""


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

    def __init__(
        self, max_steps: int | None, most: float | None = None, seconds: float | None = None
    ) -> None:
        """None: it may go on as long as it gets on, up to `most` (MOST), and without getting on for `seconds`
        (SECONDS), or the steps of so many. With a number of steps no clock is read, and the verdict is the same on
        every machine."""
        self.spent = 0.0
        self.given, self.most = max_steps, max_steps or most or MOST
        self.seconds = np.inf if max_steps else seconds or SECONDS
        self.patience = self.seconds * PATIENCE / SECONDS
        self.touched: dict[Buffer, np.ndarray] = {}
        self.whole: set[Buffer] = set()  # of these, all parts
        self.wound = -np.inf
        self.first = 0
        self.got_on()

    def anew(self) -> "Budget":
        """The same for another run."""
        return Budget(self.given, self.most, self.seconds)

    def got_on(self) -> None:
        """The launch is not going round in circles."""
        self.until = min(self.most, self.spent + self.patience)
        now = monotonic()
        if now > self.wound + MOMENT:
            self.wound, self.end, self.began = now, now + self.seconds, process_time()

    def spend(self, steps: float) -> None:
        """Raises Fault when there is no more."""
        self.spent += steps
        if self.spent > self.until or (monotonic() > self.end and self._time_is_over()):
            raise Fault("step-limit", self._words())

    def _time_is_over(self) -> bool:
        """Whether this process really had its seconds; if not, it has the rest of them."""
        left = self.seconds - (process_time() - self.began)
        self.end = monotonic() + left
        return left <= 0

    def _words(self) -> str:
        why = ""
        if self.given:
            why = f", which is all that max_steps={self.given:,} allows"
        elif self.spent <= self.most:
            why = ", and for a good part of it no thread has ended and no new part of an array was touched"
        return (
            f"after {self.spent:,.0f} steps of work the kernel has not ended{why}. Either a loop goes on for ever, or "
            "the launch needs more: then simulate a smaller size, or give a larger max_steps=... (A step is an "
            "instruction, of many lanes several)"
        )

    def next_blocks(self) -> None:
        """A batch of blocks has ended; to the next one every part of an array is new."""
        self.touched.clear()
        self.whole.clear()
        self.got_on()

    def access(self, buffer: Buffer, unit: np.ndarray, size: int) -> None:
        """An access to global memory; one to a part of an array that is new to these blocks shows that the launch gets
        on."""
        if buffer in self.whole:
            return
        if len(unit) >= MANY:  # lanes side by side mostly touch one part: others each time
            self.first = (self.first + 1) % EACH
            unit = unit[self.first :: EACH]
        parts = unit >> (PART - size.bit_length() + 1)
        touched = self.touched.get(buffer)
        if touched is None:
            touched = self.touched[buffer] = np.zeros((buffer.size - 1 >> PART) + 1, bool)
        if not touched[parts].all():
            touched[parts] = True
            self.got_on()
            if touched.all():
                self.whole.add(buffer)
