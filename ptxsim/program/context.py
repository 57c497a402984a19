"""What all answers share: the GPU, its memory, what was found so far, and the error that nothing can be done after."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..gpus import Gpu
from . import errors
from .arena import Arena
from .late import Late
from .orders import Orders, Piece
from .report import Findings
from .sites import mark
from .wire import Answer


class Stopped(Exception):
    """The program cannot go on, with the words why."""


@dataclass
class Context:
    """Of one program. `process` is its number; `lost` the error that CUDA answers all calls with, once there is one.
    `gpus`: how many of its kind the program sees; `used`: those that it chose, by number."""

    gpu: Gpu
    arch: int
    findings: Findings
    late: Late = field(default_factory=Late)
    arena: Arena = field(default_factory=Arena)
    orders: Orders = field(init=False)
    gpus: int = 1
    used: set[int] = field(default_factory=lambda: {0})
    process: int = 0
    lost: int = 0

    def __post_init__(self) -> None:
        self.orders = Orders(self.findings.conflict)

    def see(self, site: int) -> None:
        self.findings.sites.see(site, self.process)

    def host_waits(self, what: int, handle: int) -> list[Piece]:
        """The work of which the host sees now what it wrote."""
        return self.late.show(self.orders.host_waits(what, handle))

    def seen_only(self, when: str, works: list[Piece]) -> None:
        """A note that the host saw so late what this work wrote, because nothing made it wait before."""
        if not works:
            return
        first, more = works[0], len(works) - 1
        others = f", and for {more} more" * bool(more)
        self.findings.note(
            f"until {when} the host did not wait for {first.words}{f' (at {mark(first.site)})' * bool(first.site)}"
            f"{others}: before, it sees nothing of what was written"
        )

    def quiet(self) -> None:
        """The host has asked for nothing for long."""
        self.seen_only("it had asked for nothing for long", self.late.show_all())

    def refused(self, call: str, error: int, why: str, site: int, numbers: tuple[int, ...] = ()) -> Answer:
        """The answer to a call with this error; it is a finding."""
        self.findings.refuse(call, errors.NAMES[error], why, site)
        return Answer(error, numbers)
