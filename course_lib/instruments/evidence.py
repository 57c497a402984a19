"""What the checklist looks at: a kernel's counters in the simulator, its machine code, its needs, its measurements."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ptxsim import Counts, HazardError, LaunchResources, Report
from ptxsim.compiler.cache import ToolMissing
from ptxsim.gpus import H100, SECTOR, Gpu
from ptxsim.observe.events import Copy, Event, Load, UseLoads, Work, in_flight

from ..check.job import Job
from ..check.mistakes import product, where_wrong
from ..check.verdict import CheckFailed
from ..measure.bench import benchmark
from ..measure.model import NOT_FOLLOWED, by_machine_code
from .profile import profile
from .sass import Sass, sass

K_TILES = 4, 8
"""One block is simulated with so many k-tiles: their difference is what a k-tile of the main loop does. With both,
rows of K elements are aligned alike, on which wavefronts depend."""
MATH = {"tensor": ("HMMA", "HGMMA"), "fma": ("FFMA",)}
FLOP_PER_CLOCK = {"tensor": 2730, "fma": 256}
"""Of one SM of an H100: what `mma.sync` reaches when nothing else runs (measured), and 128 FMA units."""
WGMMA_FLOP_PER_CLOCK = 4096
BUSY = {"tensor": "tensor cores busy, %", "fma": "FMA units busy, %"}


@dataclass(frozen=True)
class Busy:
    """How busy the math units are, in percent of what they can do (None: not known); where that comes from; whether it
    was measured."""

    percent: float | None
    origin: str
    measured: bool


class Evidence:
    """Of one kernel at one launch on one problem. Raises HazardError and CheckFailed for a kernel that is wrong."""

    def __init__(self, job: Job) -> None:
        self.job, self.gemm, self.kernel, self.launch = job, job.gemm, job.kernel, job.launch
        self.tile, self.itemsize = self.launch.tile, np.dtype(self.gemm.dtype).itemsize
        self.short, self.long = (self._one_block(k_tiles) for k_tiles in K_TILES)

    def _one_block(self, k_tiles: int) -> Report:
        one = self.gemm.like(*self.tile[:2], k_tiles * self.tile[2])
        args, report = self.job.on(one).simulated(one.integers(seed=0))
        if not report.ok:
            raise HazardError(report)
        if wrong := where_wrong(args[2], product(*args[:2]).astype(one.dtype), limit=0.0):
            raise CheckFailed(f"a checklist is for a kernel that is right, see Gemm.check: {wrong}")
        return report

    # ---- the simulator's

    @cached_property
    def total(self) -> Counts:
        """Counts of one block with all k-tiles of the problem: those simulated, and more like the last of them."""
        return self._with_all_k_tiles(self.short.counters.total, self.long.counters.total)

    @cached_property
    def by_line(self) -> dict[int, Counts]:
        """The same for each line of the source."""
        few, many = (each.counters.by_line for each in (self.short, self.long))
        return {
            line: self._with_all_k_tiles(few.get(line, Counts()), counts) for line, counts in many.items()
        }

    def _with_all_k_tiles(self, few: Counts, many: Counts) -> Counts:
        """On the line through the counts at K_TILES."""
        share = (self.gemm.K // self.tile[2] - K_TILES[0]) / (K_TILES[1] - K_TILES[0])
        return Counts(**{name: round(a + (vars(many)[name] - a) * share) for name, a in vars(few).items()})

    @cached_property
    def read_twice(self) -> float:
        """How often a block reads each element of its tiles from global memory."""
        few, many = (each.counters.total.global_sectors_ideal for each in (self.short, self.long))
        elements = (self.tile[0] + self.tile[1]) * (K_TILES[1] - K_TILES[0]) * self.tile[2]
        return (many - few) * SECTOR / (elements * self.itemsize)

    @cached_property
    def on_their_way(self) -> float:
        """The most k-tiles whose copies or loads are on their way while a warp multiplies. Where other warps copy, as
        many as there are slots beside the one that is multiplied."""
        more = K_TILES[1] - K_TILES[0]
        found = []
        for few, many in zip(self.short.events, self.long.events):
            of_a_k_tile = (_copied(many) - _copied(few)) / more
            if any(map(_multiplies, many)):
                found.append(_on_their_way(many) / of_a_k_tile if of_a_k_tile else self.slots - 1.0)
        return max(found, default=0.0)

    @cached_property
    def units(self) -> str:
        """Which units multiply: "tensor" or "fma"."""
        return "tensor" if self.long.counters.total.mma else "fma"

    @cached_property
    def math_of_a_k_tile(self) -> float:
        """mma or FMA instructions that a warp which multiplies needs for a k-tile."""
        name = {"tensor": "mma", "fma": "fma"}[self.units]
        few, many = (getattr(each.counters.total, name) for each in (self.short, self.long))
        warps = sum(any(_multiplies(event) for event in events) for events in self.long.events)
        return (many - few) / (K_TILES[1] - K_TILES[0]) / max(warps, 1)

    # ---- the assembler's

    @cached_property
    def needs(self) -> LaunchResources:
        """Registers, spills, shared memory and occupancy on an H100."""
        return self.long.resources

    @property
    def gpu(self) -> Gpu:
        return H100

    @property
    def threads(self) -> int:
        threads = self.launch.threads
        return math.prod(threads) if isinstance(threads, tuple) else threads

    @cached_property
    def slots(self) -> int:
        """k-tiles for which a block has shared memory."""
        shared = self.needs.static_shared + self.needs.dynamic_shared
        return shared // ((self.tile[0] + self.tile[1]) * self.tile[2] * self.itemsize)

    @cached_property
    def code(self) -> Sass | None:
        """The machine code for an H100; None where nobody makes or disassembles it."""
        try:
            return sass(self.kernel)
        except ToolMissing:
            return None

    def count(self, code: Sass, *opcodes: str) -> int:
        return sum(map(code.count, opcodes))

    @cached_property
    def loop(self) -> Sass | None:
        """The loop over k-tiles: of the innermost loops that copy and multiply (or else multiply), that with the most
        math. None without any."""
        loops = self.code.loops if self.code else ()
        multiply = [loop for loop in loops if self.count(loop, *MATH[self.units])]
        whole = [loop for loop in multiply if self.count(loop, "LDGSTS", "LDG")] or multiply
        inner = [loop for loop in whole if not any(_inside(other, loop) for other in whole)]
        return max(inner, key=lambda loop: self.count(loop, *MATH[self.units]), default=None)

    @cached_property
    def math_in_the_loop(self) -> int:
        """mma or FMA instructions in that loop."""
        return self.count(self.loop, *MATH[self.units]) if self.loop else 0

    # ---- measurements

    @cached_property
    def busy(self) -> Busy:
        """From the profiler's record, else from a speed (measured now on a GPU, elsewhere recorded), else the model."""
        mine = {self.kernel.name: (self.kernel, self.launch)}
        counted = profile(self.gemm, mine, BUSY[self.units])
        if (percent := counted[self.kernel.name, BUSY[self.units]]) is not None:
            return Busy(percent, counted.origin, True)
        row = benchmark(self.gemm, mine).rows[0]
        most = FLOP_PER_CLOCK[self.units]
        if row.flop_per_clock:
            return Busy(100 * row.flop_per_clock / most, f"the speed, {row.origin}", True)
        try:
            modelled = by_machine_code(self.job)
        except NOT_FOLLOWED as why:
            return Busy(None, f"no measurement, and no model: {why}", False)
        cycles = modelled.ms * 1e3 * modelled.clock_mhz * self.gpu.sms
        flop = 2 * self.gemm.M * self.gemm.N * self.gemm.K / cycles
        return Busy(100 * flop / most, "the model", False)


def _multiplies(event: Event) -> bool:
    return isinstance(event, Work) and event.math > 0


def _copied(events: list[Event]) -> float:
    """Bytes that one warp copies and loads."""
    return sum(event.bytes for event in events if isinstance(event, Copy | Load))


def _on_their_way(events: list[Event]) -> float:
    """The most bytes on their way while one warp multiplies."""
    loads = most = 0.0
    for event, groups, open_group in in_flight(events):
        match event:
            case Load():
                loads += event.bytes
            case UseLoads():
                loads = 0.0
            case Work() if event.math:
                most = max(most, sum(groups) + open_group + loads)
    return most


def _inside(one: Sass, other: Sass) -> bool:
    """Whether one loop is a smaller part of the other."""
    mine, all_of_it = ({i.address for i in code.instructions} for code in (one, other))
    return mine < all_of_it
