"""Measure a kernel's timeline on a GPU: two marks in each launch, each written in the way that disturbs it least.

The marks are those of `course/timeline.cuh`; `assembled` puts the timeline together.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import ceil, prod

import numpy as np

from cupy_or_sim import device, timing

from ..check.job import Job
from ..check.problem import Problem
from . import watched
from .assembled import Distances, Marks, events_of, overlap, parts_of, turn_of
from .events import PHASES, Entry, Event, Part, Phase, shares, to_rows
from .first_statement import with_first

BLOCKS, OTHERS, WARPS = 32, 8, 32  # of trace_marks in timeline.cuh
WAYS = (0, 1, 8, 2, 4, 10, 5, 12)
ALONE = (0, 8, 2, 4, 6)
"""To write a mark, as timeline.cuh numbers them; those without the one that needs a point."""
ENOUGH, SHARP, LIMIT = 0.01, 0.03, 0.06
"""By what part a launch with marks may take longer or shorter: to try no other way; to be drawn with sharp edges; to be
used at all."""
LAUNCHES = 4  # with marks, whose clocks are kept
AHEAD = 8  # k-tiles that a mark's number may run ahead of the last
DRAWN = 4  # warps that a record keeps
TIMED = 0.06, 3, 15  # seconds for one comparison of two launches; the fewest and the most rounds
NONE = -1
REFERENCES: tuple[Phase, ...] = ("barrier", "wait", "math", "copy")
"""Phases whose ends may be what other points are measured from."""


def name_of(point: int) -> str:
    """ "wait.end" for the end of a wait."""
    return f"{PHASES[point // 2]}.{('begin', 'end')[point % 2]}"


def points_of(source: str) -> list[int]:
    """The points that a kernel's macros mark, by their number: twice the phase, and 1 for its end."""
    found = re.findall(r"TRACE_(BEGIN|END)\(\s*(\w+)", source)
    return sorted({2 * PHASES.index(phase) + (edge == "END") for edge, phase in found})


def cluster_of(source: str) -> int:
    """Blocks of a cluster along x, where the kernel's text says it as a number or as a constant; 1 without clusters."""
    size = re.search(r"__cluster_dims__\(\s*(\w+)", source)
    if size and not size[1].isdigit():
        size = re.search(rf"\b{size[1]}\s*=\s*(\d+)", source)
    return int(size[1]) if size else 1


def traced(source: str, name: str) -> str:
    """The source of a kernel that finds its place in the array of marks before all else."""
    return with_first(source, name, "trace_marks = trace_row(trace_marks, trace_first, trace_apart);")


def options_of(point: int, references: Iterable[int], way: int) -> tuple[str, ...]:
    """What a traced kernel is compiled with."""
    bits = sum(1 << reference for reference in references)
    return ("-DCOURSE_TRACE", f"-DTRACE_POINT={point}", f"-DTRACE_REFERENCES={bits}", f"-DTRACE_WAY={way}")


@dataclass(frozen=True)
class Marked:
    """The marks of one point, how they were written, and by what part a launch with them is longer."""

    marks: Marks
    references: tuple[int, ...]
    way: int
    disturbance: float

    @property
    def much(self) -> float:
        """How much they disturb, for better or worse."""
        return abs(self.disturbance)

    @cached_property
    def warps(self) -> set[int]:
        """Those that passed a reference."""
        return set(np.flatnonzero((~np.isnan(self.marks.reference)).any((0, 2))).tolist())


class Bench:
    """One kernel on one problem: times it with and without marks."""

    def __init__(self, job: Job) -> None:
        self.job, self.kernel, self.gemm, self.launch = job, job.kernel, job.gemm, job.launch
        self.points = points_of(self.kernel.code)
        self.last = self.k_tiles * ceil(self.tiles)
        _, self.bare = self.gemm.prepare(self.kernel, self.gemm.inputs, self.launch)
        self.buffer = device.cp.zeros((self.last + AHEAD, BLOCKS + OTHERS, WARPS, 4), dtype=np.uint32)

    @cached_property
    def bare_us(self) -> float:
        return float(np.median(timing.burst(self.bare, 20)))

    @property
    def warps(self) -> int:
        return ceil(prod(self.launch.block) / 32)

    @property
    def k_tiles(self) -> int:
        """Of one tile of C."""
        return ceil(self.gemm.K / self.launch.tile[2])

    @property
    def blocks(self) -> int:
        return prod(self.gemm.grid(self.launch))

    @property
    def tiles(self) -> float:
        """Tiles of C that a block works on, one after the other, on average."""
        return prod(self.gemm.tiles(self.launch)) * cluster_of(self.kernel.code) / self.blocks

    @cached_property
    def noting(self) -> float:
        """By what part a launch takes longer whose blocks note their begin and their end: that changes the code between
        them too."""
        return slower(self.bare, watched.watched(self.job)[0], self.bare_us)

    def turn(self) -> tuple[float, float]:
        """Cycles of a turn without marks, and the SM clock in MHz: what a block takes longer than with an eighth of
        the k-tiles, from its begin to its end, over the k-tiles between; the mean of all blocks, shorter by what their
        noting costs. Not with twice as many: 2048^3 lies in L2, and with twice the K no longer. And the fewer, the less
        it matters that a shorter launch may find more of its matrices in L2."""
        fewer = self.k_tiles // 8
        noted = self._noted(self.gemm)
        spent = watched.cycles(noted).mean()
        if fewer:
            less = self.gemm.shorter(fewer * self.launch.tile[2])
            spent -= watched.cycles(self._noted(less)).mean()
        turns = (self.k_tiles - fewer) * self.tiles
        return float(spent / turns / (1 + self.noting)), float(np.median(watched.mhz(noted)))

    def _noted(self, gemm: Problem) -> np.ndarray:
        return np.stack([watched.noted(self.job.on(gemm)) for _ in range(LAUNCHES)])

    @cached_property
    def single(self) -> dict[int, Marked]:
        """Each end of a phase that may be a reference, marked alone."""
        ends = [2 * PHASES.index(phase) + 1 for phase in REFERENCES]
        return {end: self.best(NONE, (end,)) for end in ends if end in self.points}

    @cached_property
    def references(self) -> list[Marked]:
        """What all other points can be measured from, those that disturb least first: a point that all warps pass, or
        two of which each warp passes one."""
        everyone = set().union(*(one.warps for one in self.single.values()))
        whole = [one for one in self.single.values() if one.warps == everyone]
        for pair in combinations(self.single, 2):
            first, second = (self.single[point].warps for point in pair)
            if not first & second and first | second == everyone:
                whole.append(self.best(NONE, pair))
        return sorted(whole, key=lambda one: one.much)

    def point(self, point: int, references: tuple[int, ...]) -> Marked:
        """The marks of a point. Where they disturb too much beside these references, beside another single one."""
        mine = self.best(point, references)
        for other, one in self.single.items():
            if mine.much > LIMIT >= one.much and other != point and (other,) != references:
                mine = min(mine, self.best(point, (other,)), key=lambda one: one.much)
        return mine

    def to_itself(self, point: int, reference: np.ndarray) -> Marks:
        """The marks of a reference as those of a point, of the warps that pass it."""
        only = np.full_like(reference, np.nan)
        mine = sorted(self.single[point].warps)
        only[:, mine] = reference[:, mine]
        return Marks(only, reference)

    def best(self, point: int, references: tuple[int, ...]) -> Marked:
        """The marks of a point, in the first way that disturbs little enough, or in the one that disturbs least."""
        tried: list[Marked] = []
        for way in ALONE if point == NONE else WAYS:
            tried.append(self.marked(point, references, way))
            if tried[-1].much <= ENOUGH:
                break
        return min(tried, key=lambda one: one.much)

    def marked(self, point: int, references: tuple[int, ...], way: int) -> Marked:
        """Launch the kernel with marks at a point (NONE: at the references alone)."""
        run = self.with_marks(point, references, way)
        longer = slower(self.bare, run, self.bare_us)
        seen = []
        for _ in range(LAUNCHES):
            self.buffer.fill(0)
            self.bare()  # the caches as in a row of launches
            run()
            used = device.cp.ascontiguousarray(self.buffer[:, :BLOCKS, : self.warps])
            seen.append(np.moveaxis(device.cp.asnumpy(used), 0, 2))
        return Marked(Marks.of(seen), references, way, longer)

    def with_marks(self, point: int, references: tuple[int, ...], way: int) -> Callable[[], None]:
        """A function that launches the kernel with these marks."""
        code, name = self.kernel.code, self.kernel.name
        options = (*self.kernel.options, *options_of(point, references, way))
        kernel = device.cp.RawKernel(traced(code, name), name, options=options)
        apart = max(self.blocks // BLOCKS - 1, 0) | 1  # all over the grid, and odd: not all in one column
        extra = (self.buffer, np.uint32(apart // 2), np.uint32(apart), np.uint32(0), np.int32(0))
        return self.gemm.prepare(kernel, self.gemm.inputs, self.launch, extra)[1]


def slower(one: Callable[[], None], other: Callable[[], None], us: float) -> float:
    """By what part `other` takes longer than `one`, which takes `us`: the median over launches in turn, in an order
    that is the same forwards and backwards, since the clock falls as the chip gets warm."""
    seconds, fewest, most = TIMED
    rounds = int(min(max(seconds * 1e6 / us / 4, fewest), most))
    first, second, third, fourth = timing.time_in_turn((one, other, other, one), rounds)
    return float(np.median((second + third) / (first + fourth))) - 1


@dataclass(frozen=True)
class Assembled:
    """A timeline put together from one choice of references."""

    alone: Marked
    marked: dict[int, Marked]
    """By the point, also those that are left out."""
    left_out: list[int]
    parts: dict[Part, tuple[list[Event], int]]
    turn: float

    @staticmethod
    def of(bench: Bench, alone: Marked, turn: float) -> "Assembled":
        """`turn`: cycles of one without marks."""
        references = alone.references
        marked = {point: bench.point(point, references) for point in bench.points if point not in references}
        kept = {point: one for point, one in marked.items() if one.much <= LIMIT}
        elsewhere = {point: one.references[0] for point, one in kept.items() if one.references != references}
        through = {point: at for point, at in elsewhere.items() if at in kept.keys() - elsewhere.keys()}
        distances = {
            point: Distances.of(one.marks).softer(turn * one.much if one.much > SHARP else 0)
            for point, one in kept.items()
            if point in through or point not in elsewhere
        }
        distances |= {at: Distances.of(bench.to_itself(at, alone.marks.reference)) for at in references}
        stretches = parts_of(bench.last, bench.k_tiles)
        return Assembled(
            alone,
            marked | dict.fromkeys(references, alone),
            [point for point in bench.points if point not in distances],
            {name: events_of(part, alone.marks, distances, through) for name, part in stretches.items()},
            turn_of(alone.marks, stretches["steady"]),
        )

    @property
    def overlap(self) -> int:
        """Cycles that two phases of a warp share: more than a few, and some mark moves what it should only see."""
        return overlap(self.parts["steady"][0])


def measure(job: Job) -> Entry:
    """The entry of a timeline, from the references that disturb least; from others where phases of a warp overlap. A
    mark in a time in which a warp has nothing to do costs the launch nothing, and still moves what comes behind it."""
    bench = Bench(job)
    turn, mhz = bench.turn()
    tried: list[Assembled] = []
    for alone in bench.references:
        if tried and alone.much > LIMIT:
            break
        tried.append(Assembled.of(bench, alone, turn))
        if tried[-1].overlap <= SHARP * turn:
            break
    best = min(tried, key=lambda one: one.overlap)
    return {
        "gpu": timing.name(),
        "date": timing.today(),
        "us": round(bench.bare_us, 2),
        "mhz": round(mhz),
        "turn": round(turn),
        "noting": round(bench.noting, 4),
        "turn_drawn": round(best.turn),
        "references": [name_of(point) for point in best.alone.references],
        "left_out": [name_of(point) for point in best.left_out],
        "disturbance": {
            name_of(point): [one.way, round(one.disturbance, 4)] for point, one in sorted(best.marked.items())
        },
        "shares": {
            phase: share
            for phase, share in shares(*best.parts["steady"]).items()
            if not {2 * PHASES.index(phase), 2 * PHASES.index(phase) + 1} & {*best.left_out}
        },
        "parts": {
            name: {"rows": to_rows(_of_drawn_warps(events)), "length": length}
            for name, (events, length) in best.parts.items()
        },
    }


def _of_drawn_warps(events: list[Event]) -> list[Event]:
    warps = sorted({event.warp for event in events})
    drawn = warps[:: max(ceil(len(warps) / DRAWN), 1)]
    return [event for event in events if event.warp in drawn]
