"""What a launch is, for all batches of its blocks."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..gpus import Room
from ..ground.asked import Asked
from ..ground.heap import Heap
from ..ground.memory import Buffer, GlobalMemory, Indexed
from ..ground.texture import Texture
from ..ground.work import Budget
from ..observe.counters import Counters
from ..ptx.program import Special
from ..races.hazards import HazardLog
from ..races.messages import Letters
from ..races.orders import Trail
from ..races.proxies import ProxyFences
from ..races.shadow import Shadow
from ..units.clusters import cluster_by_cluster
from .decode import Code

MOST_HURRY = 20  # log2 of what the clock goes on in a turn, at most, where all wait for it


@dataclass(frozen=True)
class Flags:
    """How a launch runs, besides its sizes (`launch`)."""

    seed: int | None = None
    """Chooses another legal order of the warps."""
    cooperative: bool = False
    """All blocks run at once."""
    in_turn: str | None = None
    """Each block begins when the one before has ended, from the first one "up" or from the last one "down"."""
    dependent: bool = False
    """It may begin before the kernel before has ended."""
    judged: bool = True
    """Without it a launch is only computed: nobody looks for races, nor for what is read and was never written."""


PLAIN = Flags()


@dataclass
class LaunchState:
    """What a launch is: one for all batches of its blocks. Of several launches side by side each has a grid and
    parameters of its own."""

    code: Code
    grids: list[tuple[int, int, int]]
    block: tuple[int, int, int]
    params: np.ndarray  # (launches, bytes)
    memory: GlobalMemory
    shared_bytes: int
    dynamic_shared: int
    log: HazardLog
    counters: Counters
    budget: Budget
    heap: Heap
    textures: Mapping[int, Texture]
    asked: list[Asked] | None  # launches, by the kernel
    shapes: Callable[[], Mapping[str, Indexed]] = dict  # of shared arrays, by name
    registers: int | None = None  # of a thread at the launch, where setmaxnreg counts on it
    flags: Flags = PLAIN
    workspace: Buffer | None = None  # of a cooperative launch: where the blocks of the grid meet
    room: Room | None = None  # where blocks may wait for each other, and the GPU does not hold all at once
    watched: int = 0  # the block whose events the recorder notes
    skipped: int = 0  # what the clock went on while all waited for it
    steps: int = 0  # instructions executed by groups of lanes
    output: list[str] = field(default_factory=list)
    printed: int = 0  # characters in `output`
    begun: dict[int, Asked] = field(default_factory=dict)  # launches that have a buffer for their parameters
    trail: Trail = field(default_factory=Trail)
    letters: Letters = field(default_factory=dict)
    proxy_fences: ProxyFences = field(default_factory=ProxyFences)
    # Of buffers that the kernel may write: the smallest access, and once they are touched their shadow.
    granules: dict[Buffer, int] = field(default_factory=dict)
    shadows: dict[Buffer, Shadow] = field(default_factory=dict)

    @property
    def threads(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]

    def hurry(self, turns: int) -> None:
        """For so many turns all that run have waited for the clock."""
        self.skipped += 1 << min(turns, MOST_HURRY)

    @property
    def needs_all_blocks(self) -> bool:
        return self.workspace is None and any(
            isinstance(operand, Special) and operand.name.startswith("%envreg")
            for instruction in self.code.instructions
            for operand in instruction.operands
        )

    @property
    def cluster_size(self) -> int:
        """Blocks of a cluster."""
        return math.prod(self.code.program.cluster)

    @cached_property
    def blocks(self) -> np.ndarray:
        """The blocks of each grid in the order in which they run."""
        cluster = self.code.program.cluster
        order = np.concatenate([cluster_by_cluster(grid, cluster) for grid in self.grids])
        return order.reshape(-1, self.cluster_size)[::-1].ravel() if self.flags.in_turn == "down" else order

    @cached_property
    def launch_of(self) -> np.ndarray:
        """For each of `blocks` the number of its launch, of those side by side."""
        return np.repeat(np.arange(len(self.grids)), [math.prod(grid) for grid in self.grids])
