"""How far a launch is: told on a terminal, or now and then; and where it would take too long, said at its beginning."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import monotonic

from ..front.launch import Ended
from ..machine.launched import LaunchState

FIRST, EVERY = 5.0, 10.0
"""Seconds of a launch before its first line, and between two."""
ENOUGH = 3.0
"""Seconds after which the speed so far says how long the rest takes."""


class TooLong(Ended):
    """A launch would take longer than it may, with the words."""


class Progress:
    """Of all launches of a program: `limit` seconds for each. `tell` shows a line."""

    def __init__(self, limit: float, tell: Callable[[str], None] | None = None) -> None:
        self.limit = limit
        self.tell = tell or _to_stderr

    def of(self, name: str, blocks: int) -> OneLaunch:
        return OneLaunch(self, name, blocks)


class OneLaunch:
    """`state`: of the launch, once it runs."""

    def __init__(self, progress: Progress, name: str, blocks: int) -> None:
        self.progress, self.name, self.blocks = progress, name, blocks
        self.state: LaunchState | None = None
        self.began = self.told = monotonic()

    def watch(self, state: LaunchState, done: int) -> None:
        """Before each batch of blocks. Raises TooLong."""
        self.state = state
        now = monotonic()
        spent = now - self.began
        if not done or spent < ENOUGH:
            return
        rest = spent * (self.blocks - done) / done
        if spent + rest > self.progress.limit < 4 * rest:  # one that is nearly there may end
            raise TooLong(
                f"{self.name} would take about {_time(spent + rest)}: {done:,} of {self.blocks:,} blocks took "
                f"{_time(spent)}, and a launch may take {_time(self.progress.limit)}. Run the program on a smaller "
                "problem, or give --limit SECONDS"
            )
        if spent > FIRST and now - self.told > EVERY:
            self.told = now
            self.progress.tell(f"{self.name}: {done:,} of {self.blocks:,} blocks, about {_time(rest)} to go")


def _to_stderr(line: str) -> None:
    print(f"ptxsim: {line}", file=sys.stderr, flush=True)


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:,.0f} h"
