"""What all answers share: the GPU, its memory, what was found so far, and the error that nothing can be done after."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..gpus import Gpu
from . import errors
from .arena import Arena
from .orders import Orders
from .report import Findings
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

    def refused(self, call: str, error: int, why: str, site: int, numbers: tuple[int, ...] = ()) -> Answer:
        """The answer to a call with this error; it is a finding."""
        self.findings.refuse(call, errors.NAMES[error], why, site)
        return Answer(error, numbers)
