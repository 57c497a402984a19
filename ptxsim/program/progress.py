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
from ..machine.machine import Machine
from ..ptx.counted import Counted
from ..ptx.opcode import DTYPES
from ..ptx.program import Immediate, Register
from ..races.hazards import Hazard

FIRST, EVERY = 5.0, 10.0
"""Seconds of a launch before its first line and to its end where it has one, and between two lines. Of all launches a
line comes after so many, and then when they have taken twice as long as at the last one."""
ENOUGH = 3.0
"""Seconds after which the speed so far says how long the rest takes."""
LOOKS = 1.0
"""Seconds between two looks at a launch whose blocks all run at once."""
STEADY = 0.5, 2.0
"""How many times as much is touched in the second half of the time, where it says how long the rest takes."""
QUICKER = 1 / 3
"""So much of the time that the rounds of a loop seem to take they take at least: later ones may do less, as where a
matrix is divided into triangles."""
STILL = 120
"""Seconds in which a launch with a longer limit must get on (ground/work.py). Below that the limit alone counts."""
SEVERAL = 3
"""Launches before that of others is told."""
FEWER = "A smaller problem ends sooner, and --sms 4 where a program fills the GPU"
SMALLER = "Run the program on a smaller problem, or give --limit SECONDS"


ALIKE = ". If they are alike, --judge-each-launch-once only computes most, --each-launch-once leaves them out"


class TooLong(Ended):
    """A launch would take longer than it may, with the words."""


class Progress:
    """Of all launches of a program: `limit` seconds for each. `tell` shows a line. `all_judged`: those that are alike,
    too."""

    def __init__(
        self, limit: float, tell: Callable[[str], None] | None = None, all_judged: bool = True
    ) -> None:
        self.limit, self.all_judged = limit, all_judged
        self.tell = tell or _to_stderr
        self.launched: Counter[str] = Counter()
        self.seconds: dict[str, float] = {}
        self.next = FIRST

    def of(self, name: str, blocks: int) -> OneLaunch:
        return OneLaunch(self, name, blocks)

    def ended(self, name: str, seconds: float) -> None:
        """One launch more. Nobody knows how many are still to come: what a hundred take is told."""
        self.launched[name] += 1
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        spent = sum(self.seconds.values())
        if spent < self.next or self.launched.total() < SEVERAL:
            return
        self.next = 2 * spent
        most = max(self.seconds, key=self.seconds.__getitem__)
        times, took = self.launched[most], self.seconds[most]
        self.tell(
            f"{self.launched.total():,} launches in {_time(spent)}, {times:,} of them of {most}: a hundred of those "
            f"take {_time(100 * took / times)}{ALIKE * self.all_judged}"
        )


class OneLaunch:
    """`state`: of the launch, once it runs; `machine`: of its blocks that run. `over`: it was ended, because it took
    all that it may."""

    def __init__(self, progress: Progress, name: str, blocks: int) -> None:
        self.progress, self.name, self.blocks = progress, name, blocks
        self.machine: Machine | None = None
        self.state: LaunchState | None = None
        self.began = self.looked = monotonic()
        self.told = self.began + FIRST - EVERY
        self.done = self.together = 0
        self.over = False
        self.looks: list[_Look] = []

    def budget(self) -> Budget:
        limit = self.progress.limit
        return _Watched(self, limit * PATIENCE / SECONDS, min(limit, STILL))

    def watch(self, machine: Machine, done: int, together: int) -> None:
        """Before each batch of blocks: `done` have ended, so many `together` begin. Raises TooLong."""
        self.machine, self.state, self.done, self.together = machine, machine.launch, done, together
        spent = monotonic() - self.began
        if done and spent >= ENOUGH:
            self._judge(spent, spent * (self.blocks - done) / done, f"{done:,} of {self.blocks:,} blocks")

    def look(self) -> None:
        """While blocks run. Raises TooLong."""
        now = monotonic()
        if self.done or now - self.looked < LOOKS or self.machine is None or self.state is None:
            return
        self.looked, spent = now, now - self.began
        waves = self.blocks / self.together
        touched = _touched(self.state) if waves == 1 else {}  # others will touch the rest of an array
        self.looks.append(_Look(spent, touched, _counters(self.machine)))
        if waves > 1 and spent >= ENOUGH:
            first = f"not even the first {self.together:,} of {self.blocks:,} blocks"
            self._judge(spent, spent * (waves - 1), first)
        if spent >= 2 * ENOUGH:
            rests = _rests(self.looks)
            for rest, took, least in rests:
                self._judge(spent, (spent + rest) * waves - spent, took, least)
            if not rests:
                known = _round(self.looks) or "nothing says yet how long it takes"
                self._tell(f"{_time(spent)}, and {known}. {FEWER}")

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

    def _judge(self, spent: float, rest: float, took: str, least: float = 1) -> None:
        """`least`: so much of the rest it takes for certain; 0: a way leads out sooner."""
        sure = rest * least
        if spent + sure > self.progress.limit < 4 * sure:  # one that is nearly there may end
            raise TooLong(
                f"{self.name} would take about {_time(spent + rest)}: {took} took {_time(spent)}, and a launch may "
                f"take {_time(self.progress.limit)}. {SMALLER}"
            )
        if rest > FIRST:
            self._tell(f"{took}, {'about' if least else 'at most'} {_time(rest)} to go")

    def _tell(self, words: str) -> None:
        now = monotonic()
        if now - self.told > EVERY:
            self.told = now
            self.progress.tell(f"{self.name}: {words}")


class _Look(NamedTuple):
    """After so many seconds: how many parts of each array had been touched, and how many it has; and of each loop that
    counts where a thread was, and where it ends."""

    spent: float
    touched: dict[Buffer, tuple[int, int]]
    counters: dict[Counted, tuple[int, int]]


def _touched(state: LaunchState) -> dict[Buffer, tuple[int, int]]:
    return {each: (int(parts.sum()), len(parts)) for each, parts in state.budget.touched.items()}


def _counters(machine: Machine) -> dict[Counted, tuple[int, int]]:
    """Of the first thread that has not ended."""
    lane = int(machine.alive.argmax())

    def number(operand: Register | Immediate, kind: str) -> int:
        if isinstance(operand, Immediate):
            return int(operand.value(DTYPES[kind])[0])
        values = machine.R[operand.index].view(DTYPES[kind])
        return int(values[lane if len(values) > 1 else 0])

    return {
        each: (number(each.counter, each.type), number(each.end, each.type))
        for each in machine.launch.code.counted
    }


def _rests(looks: list[_Look]) -> list[tuple[float, str, float]]:
    """Seconds that are left, what was done until now, and how much of it must be done for certain; what is most
    certain and takes longest comes first."""
    found: list[tuple[float, str, float]] = []

    def add(done: list[tuple[float, int]], whole: int, of: str, least: float) -> None:
        if rest := _rest(done, whole):
            found.append((rest, f"{min(100 * done[-1][1] / whole, 99):.2g} % of {of}", least))

    for buffer, (_, whole) in looks[-1].touched.items():
        done = [(look.spent, look.touched.get(buffer, (0, 0))[0]) for look in looks]
        add([(0.0, 0), *done], whole, buffer.label.partition(" (")[0], 1)
    for loop, (_, end) in looks[-1].counters.items():
        # What it held at first may be older than the loop.
        held = [(look.spent, look.counters[loop][0]) for look in looks]
        counts = [each for each in held if each[1] != held[0][1]]
        sign = 1 if counts and counts[0][1] < end else -1
        done = [(spent, sign * (number - counts[0][1])) for spent, number in counts]
        whole = sign * (end - counts[0][1]) if counts else 0
        add(done, whole, f"the loop at {loop.where}", QUICKER if loop.sure else 0)
    return sorted(found, key=lambda each: (each[2], each[0]), reverse=True)


def _rest(done: list[tuple[float, int]], whole: int) -> float:
    """Seconds until all is done, where it is done steadily; `done`: how much, after so many seconds each."""
    if not done:
        return 0.0
    spent, now = done[-1]
    at, half = min(done, key=lambda each: abs(each[0] - (done[0][0] + spent) / 2))
    steady = half > 0 and STEADY[0] <= (now - half) / half <= STEADY[1]
    return (spent - at) * max(whole - now, 0) / (now - half) if steady else 0.0


def _round(looks: list[_Look]) -> str:
    """Of a loop that has begun to count, and whose first rounds are not over."""
    now = looks[-1]
    for loop, (at, end) in now.counters.items():
        first = looks[0].counters[loop][0]
        since = next(look.spent for look in looks if look.counters[loop][0] == at)
        if (at - first) * (end - at) > 0 and now.spent - since >= ENOUGH:
            took = _time(now.spent - since)
            return f"the loop at {loop.where}, which counts to {end:,}, has been at {at:,} for {took}"
    return ""


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
