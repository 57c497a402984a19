"""How far a launch is: told on a terminal, or now and then; and where it would take too long, said at its beginning."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

from ..front.launch import Ended
from ..front.report import Report
from ..ground.memory import Buffer, Fault
from ..ground.work import PATIENCE, SECONDS, Budget
from ..machine.launched import LaunchState
from ..races.hazards import Hazard

FIRST, EVERY = 5.0, 10.0
"""Seconds of a launch before its first line, and between two."""
ENOUGH = 3.0
"""Seconds after which the speed so far says how long the rest takes."""
LOOKS = 1.0
"""Seconds between two looks at a launch whose blocks all run at once."""
STEADY = 0.5, 2.0
"""How many times as much is touched in the second half of the time, where it says how long the rest takes."""
STILL = 120
"""Seconds in which a launch with a longer limit must get on (ground/work.py). Below that the limit alone counts."""
MANY = 20
"""Launches that are many."""
SMALLER = "Run the program on a smaller problem, or give --limit SECONDS"


class TooLong(Ended):
    """A launch would take longer than it may, with the words."""


class Progress:
    """Of all launches of a program: `limit` seconds for each. `tell` shows a line."""

    def __init__(self, limit: float, tell: Callable[[str], None] | None = None) -> None:
        self.limit = limit
        self.tell = tell or _to_stderr
        self.launched: Counter[str] = Counter()
        self.seconds = 0.0
        self.told = 0.0

    def of(self, name: str, blocks: int) -> OneLaunch:
        return OneLaunch(self, name, blocks)

    def ended(self, name: str, seconds: float) -> None:
        """One launch more. Nobody knows how many are still to come: what they took is told."""
        self.launched[name] += 1
        self.seconds += seconds
        if self.seconds < self.told + EVERY or self.launched.total() < MANY:
            return
        self.told = self.seconds
        most, times = self.launched.most_common(1)[0]
        self.tell(
            f"{self.launched.total():,} launches in {_time(self.seconds)}, {times:,} of them of {most}. If they are "
            "alike, --each-launch-once leaves most of them out"
        )


class OneLaunch:
    """`state`: of the launch, once it runs. `over`: it was ended, because it took all that it may."""

    def __init__(self, progress: Progress, name: str, blocks: int) -> None:
        self.progress, self.name, self.blocks = progress, name, blocks
        self.state: LaunchState | None = None
        self.began = self.told = self.looked = monotonic()
        self.done = self.together = 0
        self.over = False
        self.looks: list[_Look] = []

    def budget(self) -> Budget:
        limit = self.progress.limit
        return _Watched(self, limit * PATIENCE / SECONDS, min(limit, STILL))

    def watch(self, state: LaunchState, done: int, together: int) -> None:
        """Before each batch of blocks: `done` have ended, so many `together` begin. Raises TooLong."""
        self.state, self.done, self.together = state, done, together
        spent = monotonic() - self.began
        if done and spent >= ENOUGH:
            self._judge(spent, spent * (self.blocks - done) / done, f"{done:,} of {self.blocks:,} blocks")

    def look(self) -> None:
        """While blocks run. Raises TooLong."""
        now = monotonic()
        if self.done or now - self.looked < LOOKS or self.state is None:
            return
        self.looked, spent = now, now - self.began
        touched = self.state.budget.touched
        self.looks.append(
            _Look(spent, {each: (int(parts.sum()), len(parts)) for each, parts in touched.items()})
        )
        if self.together < self.blocks:
            if spent >= ENOUGH:
                least = spent * (self.blocks - self.together) / self.together
                self._judge(spent, least, f"not even the first {self.together:,} of {self.blocks:,} blocks")
        elif spent >= 2 * ENOUGH:
            self._judge(spent, *_rest(self.looks))

    def endless(self, report: Report) -> Hazard | None:
        """What the report of one that is over says of that. With `room`, blocks may wait for others that have not
        begun: that is a finding."""
        if not self.over or self.state is None or self.state.room:
            return None
        return next((each for each in report.hazards if each.kind == "step-limit"), None)

    def too_long(self, place: str) -> str:
        """Of one that is over."""
        spent = _time(monotonic() - self.began)
        return (
            f"{self.name} has not ended after {spent}, and is at {place}: it needs more, or a loop goes on for ever. "
            f"{SMALLER}"
        )

    def _judge(self, spent: float, rest: float, took: str) -> None:
        if spent + rest > self.progress.limit < 4 * rest:  # one that is nearly there may end
            raise TooLong(
                f"{self.name} would take about {_time(spent + rest)}: {took} took {_time(spent)}, and a launch may "
                f"take {_time(self.progress.limit)}. {SMALLER}"
            )
        if rest and spent > FIRST and monotonic() - self.told > EVERY:
            self.told = monotonic()
            self.progress.tell(f"{self.name}: {took}, about {_time(rest)} to go")


class _Look(NamedTuple):
    """After so many seconds, how many parts of each array had been touched, and how many it has."""

    spent: float
    touched: dict[Buffer, tuple[int, int]]


def _rest(looks: list[_Look]) -> tuple[float, str]:
    """Seconds until every array is touched whole that is touched steadily now, and of the last one how much is."""
    now = looks[-1]
    half = min(looks, key=lambda look: abs(look.spent - now.spent / 2))
    found = [(0.0, "")]
    for buffer, (parts, whole) in now.touched.items():
        before, _ = half.touched.get(buffer, (0, 0))
        if before and parts < whole and STEADY[0] <= (parts - before) / before <= STEADY[1]:
            seconds = (now.spent - half.spent) * (whole - parts) / (parts - before)
            found.append(
                (seconds, f"{min(100 * parts / whole, 99):.2g} % of {buffer.label.partition(' (')[0]}")
            )
    return max(found)


class _Watched(Budget):
    """Of a launch that is looked at meanwhile."""

    def __init__(self, launch: OneLaunch, most: float, seconds: float) -> None:
        super().__init__(None, most, seconds)
        self.launch = launch

    def anew(self) -> Budget:
        return _Watched(self.launch, self.most, self.seconds)

    def spend(self, steps: float) -> None:
        try:
            super().spend(steps)
        except Fault:
            self.launch.over = True
            raise
        self.launch.look()


def _to_stderr(line: str) -> None:
    print(f"ptxsim: {line}", file=sys.stderr, flush=True)


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.{int(seconds < 1)}f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:,.0f} h"
