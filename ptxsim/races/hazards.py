"""The kinds of findings, and the list of those of a launch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from ..ptx.program import Instruction, Where


class Kind(NamedTuple):
    """`fatal`: the kernel cannot go on after it. `means` in a line."""

    name: str
    fatal: bool
    means: str


KINDS = (
    Kind("unwaited-copy", False, "reads what an asynchronous copy brings, before anybody waited for it"),
    Kind(
        "read-after-write",
        False,
        "reads what another thread of the block wrote, with no order between the two",
    ),
    Kind(
        "write-after-read",
        False,
        "writes what another thread of the block reads, with no order between the two",
    ),
    Kind(
        "write-after-write",
        False,
        "two threads of the block write different values, with no order between the two",
    ),
    Kind("block-conflict", False, "the same in global memory, between threads of two blocks"),
    Kind(
        "missing-proxy-fence",
        False,
        "the copy engine or the tensor cores read what a thread wrote, with no fence.proxy.async in between",
    ),
    Kind("unwaited-wgmma", False, "uses a register of a wgmma before anybody waited for it"),
    Kind(
        "missing-wgmma-fence",
        False,
        "a wgmma on registers that other instructions wrote, with no wgmma.fence",
    ),
    Kind("uninitialised-read", False, "reads memory, or adds to sums of a wgmma, that nobody wrote"),
    Kind("barrier-divergence", False, "not all threads come to the same barrier"),
    Kind("exited-block", False, "uses the shared memory of a block that may have exited"),
    Kind("warp-mask", False, "a lane that is not in its own mask, or a value from a lane that is not there"),
    Kind("out-of-bounds", True, "an address outside of the array"),
    Kind("misaligned", True, "an address that is no multiple of the access's size"),
    Kind("barrier-count", True, "threads at a named barrier that disagree about their number"),
    Kind("mbarrier", True, "an mbarrier that nobody initialised, or that counts what it cannot"),
    Kind("deadlock", True, "all threads wait, and nobody is left to come"),
    Kind("assertion-failed", True, "assert() is false"),
    Kind("trap", True, "the kernel ended itself, with __trap()"),
    Kind("step-limit", True, "much work and no end: a loop without an end, or a launch that is too large"),
    Kind("unsupported-instruction", True, "something that the simulator cannot run"),
)
"""Most serious first; those that end the launch come last, because they are the last to be found."""

ORDER = {kind.name: number for number, kind in enumerate(KINDS)}
FATAL = frozenset(kind.name for kind in KINDS if kind.fatal)
RACES = frozenset(kind.name for kind in KINDS[:5])


@dataclass(frozen=True)
class Hazard:
    """One finding. `line` is the learner's own line; `call_line` the line that called the helper it stands in.
    `header`: the header and its line, if the place is in one that the learner did not call from a line of his own."""

    kind: str
    line: int
    call_line: int | None
    message: str
    count: int = 1
    header: str | None = None

    @property
    def place(self) -> str:
        return str(Where(self.line, self.call_line, self.header))

    def __str__(self) -> str:
        times = f" ({self.count} times; the first:)" if self.count > 1 else ""
        return f"{self.kind} at {self.place}{times}: {self.message}"


class HazardLog:
    """Findings, one for each (kind, line, call line); the first message stays, the others are counted."""

    def __init__(self) -> None:
        self._found: dict[tuple, Hazard] = {}

    def add(self, kind: str, instruction: Instruction, message: str, count: int = 1) -> None:
        if not self.again(kind, instruction, count):
            where = instruction.where
            if where.header and where.line:
                message = f"{message} (in {where.header})"
            key = self._key(kind, instruction)
            self._found[key] = Hazard(*key[:3], message, count, where.header)

    def again(self, kind: str, instruction: Instruction, count: int) -> bool:
        """Count a finding that is there already; whether it is. (A loop may repeat it, and words take time.)"""
        old = self._found.get(key := self._key(kind, instruction))
        if old:
            self._found[key] = replace(old, count=old.count + count)
        return old is not None

    def _key(self, kind: str, instruction: Instruction) -> tuple:
        where = instruction.where
        return kind, where.line, where.call_line, where.header if not where.line else None

    def sorted(self) -> tuple[Hazard, ...]:
        """Most serious first; a finding that ended the launch comes last."""
        return tuple(sorted(self._found.values(), key=lambda hazard: ORDER[hazard.kind]))
