"""What the warps of one block do, and when: copies, waits, barriers and math on one axis of time.

The kernel marks its own events with the macros of `course/timeline.cuh`. On a GPU it is compiled with them and
launched now, many times; elsewhere the timeline recorded on a GPU is shown.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import cast, get_args

import numpy as np

from cupy_or_sim import limits, style
from cupy_or_sim.kernel import Kernel
from cupy_or_sim.launch import STANDARD, Launch

from ..check.job import Job
from ..check.problem import Problem
from ..measure import records
from . import marks, modelled, stalls, timeline_chart
from .events import PHASES, Entry, Part, Phase, Shown, Source, in_order, together

PARTS: tuple[Part, ...] = get_args(Part)


@dataclass(frozen=True)
class Timeline:
    """The events of one block, by the part of its time that they belong to."""

    title: str
    phases: tuple[str, ...]
    source: Source = ""
    gpu: str = ""
    date: str = ""
    """Of a model: how far to trust it."""
    parts: Mapping[Part, Shown] = field(default_factory=dict)
    about: Entry = field(default_factory=Entry)
    """What `marks.measure`, or of a model `modelled.entry`, says beside the events."""
    below: str = ""
    """Where a row of the tensor cores comes from."""

    def __repr__(self) -> str:
        return f"Timeline({self.title}: {', '.join(self.phases)})"

    @property
    def origin(self) -> str:
        """Where the events come from, in words."""
        if not self.source:
            return "no record of this kernel as it stands now: it needs a GPU to be measured"
        if self.source == "model":
            return f"model of an {self.gpu}, {self.date}"
        said = f"{'measured now' if self.source == 'measured' else self.source} on {self.gpu}, {self.date}"
        return f"{said}; {self.below}" if self.below else said

    @property
    def small_print(self) -> str:
        """How far a measured timeline is from the kernel that was timed; which block a modelled one shows."""
        if not self.about:
            return ""
        if self.source == "model":
            return self._which_block
        disturbed = {name: by for name, (_, by) in self.about["disturbance"].items()}
        left_out = self.about["left_out"]
        used = [by for name, by in disturbed.items() if name not in left_out]
        longer = f"launches with marks took {min(used):+.1%} to {max(used):+.1%} longer than those without"
        turn = (
            f"a turn: {self.about['turn_drawn']:,} cycles here, {self.about['turn']:,} by the kernel's speed"
        )
        soft = [name for name, by in disturbed.items() if abs(by) > marks.SHARP and name not in left_out]
        named = (
            words and f"{words}: {', '.join(name.replace('.', ' ') for name in names)}"
            for words, names in (
                ("pale for what they disturb", soft),
                ("left out, since they disturb more", left_out),
            )
            if names
        )
        return "; ".join((longer, turn, *named))

    @property
    def _which_block(self) -> str:
        """Of a model."""
        if self.about["resident"] == 1:
            return ""
        turns = f"{self.about['turn_drawn']:,} cycles here, {self.about['turn']:,} the mean of all"
        return f"the oldest of the SM's {self.about['resident']} blocks, which goes first; a turn: {turns}"

    @property
    def turn(self) -> int | None:
        """Cycles of a turn in the steady state, from one k-tile to the next: the mean of all blocks. None where nothing
        was measured or modelled."""
        return self.about.get("turn") if self.source == "model" else self.about.get("turn_drawn")

    def share(self, phase: str) -> float | None:
        """What part of a turn a warp spends in a phase: in the steady state, the mean of all warps that are marked.
        None where this was not measured."""
        return self.about.get("shares", {}).get(phase)

    def percent(self, phase: str) -> str:
        """`share` in words: "43%", or "not measured"."""
        share = self.share(phase)
        return "not measured" if share is None else f"{share:.0%}"

    @property
    def unmarked(self) -> int:
        """Cycles of a turn in the steady state that no mark covers: the mean of the drawn warps; 0 where nothing was
        recorded."""
        if not self.parts:
            return 0
        found: list[float] = []
        for warp in {event.warp for event in self.parts["steady"].events}:
            mine = in_order(event for event in self.parts["steady"].events if event.warp == warp)
            begins = [event.begin for event in mine if event.phase == mine[0].phase]
            inside = [event for event in mine if event.begin <= begins[-1]]  # whole turns
            ends = accumulate((event.end for event in inside), max)
            bare = sum(max(later.begin - end, 0) for end, later in zip(ends, inside[1:]))
            found += [bare / (len(begins) - 1)] if len(begins) > 1 else []
        return round(np.mean(found)) if found else 0

    def cycles(self, phase: str) -> int:
        """Median time of a phase in a k-tile, over the k-tiles of the warps that have this phase, in SM cycles: in the
        steady state, or where it has no such phase, at the end; 0 where neither has it, or nothing was recorded."""
        if not self.parts:
            return 0
        found = self.parts["steady"].events
        if not any(event.phase == phase for event in found):
            found = self.parts["end"].events
        warps = {event.warp for event in found if event.phase == phase}
        lengths = {(event.warp, event.k_tile): 0 for event in found if event.warp in warps}
        for event in found:
            if event.phase == phase:
                lengths[event.warp, event.k_tile] += event.end - event.begin
        # The epilogue belongs to no k-tile; any other phase that is missing in one took no time there.
        counted = [length for length in lengths.values() if length or phase != "epilogue"]
        return int(np.median(counted)) if counted else 0

    def plot(self, *parts: Part) -> None:
        """Draw a part of the block's time, for a few of its warps: its `start`, some k-tiles of the `steady` state
        (where none is named), its `end`, or the `seam` of a persistent block's first two tiles. Several parts stand
        one behind the other, with a cut between them: `plot("start", "end")`."""
        parts = parts or ("steady",)
        for part in parts:
            if part not in PARTS:
                raise ValueError(f"part={part!r}; a timeline has the parts {', '.join(map(repr, PARTS))}")
        if not self.parts:
            print(f"{self!r}: {self.origin}.")
        elif missing := [part for part in parts if part not in self.parts]:
            print(f"{self!r} has no {missing[0]}: its blocks work on one tile each.")
        else:
            style.show(*self.figure(*parts))

    def figure(self, *parts: Part) -> style.Drawing:
        """The drawing of these parts, and its description in words."""
        return timeline_chart.drawing(self, parts or ("steady",))


def compare(*timelines: Timeline, part: Part = "steady", names: Sequence[str] = (), warps: int = 2) -> None:
    """Draw the same part of several timelines in one figure and on one scale: `timeline.compare(before, after)`.

    `names`: one for each, put before its title, where two have the same kernel. `warps`: how many of each, at most."""
    if names and len(names) != len(timelines):
        raise ValueError(f"{len(names)} names for {len(timelines)} timelines; give one for each, or none")
    if part not in PARTS:
        raise ValueError(f"part={part!r}; a timeline has the parts {', '.join(map(repr, PARTS))}")
    if missing := [each for each in timelines if part not in each.parts]:
        print(f"{missing[0]!r}: {missing[0].origin if not missing[0].parts else f'it has no {part}'}.")
    else:
        shown = [replace(each, title=f"{name}: {each.title}") for name, each in zip(names, timelines)]
        style.show(*timeline_chart.comparison(shown or timelines, part, warps))


def timeline(kernel: Kernel, gemm: Problem, launch: Launch = STANDARD, model: bool = False) -> Timeline:
    """The timeline of a kernel with TRACE macros: measured now on a GPU, the recorded one elsewhere.

    `kernel` is the kernel that `Gemm.check` takes, compiled without tracing. `model`: the timeline that the simulator's
    clock makes of one block, on every machine: on an H100, or on the GPU here where `make calibrate` has measured it.
    That raises Untraceable for a kernel whose addresses or branches depend on data.
    """
    job = Job.given(kernel, gemm, launch)
    points = marks.points_of(kernel.code)
    if "TRACE_ARG" not in kernel.code or not points:
        raise ValueError(
            f"kernel {kernel.name!r} records nothing. Include <course/timeline.cuh>, write TRACE_ARG after "
            "the last parameter (no comma), and put TRACE_BEGIN(math, k_tile); before and "
            "TRACE_END(math, k_tile); after each phase."
        )
    phases = tuple(phase for at, phase in enumerate(PHASES) if {2 * at, 2 * at + 1} & set(points))
    if model:
        return timeline_of(modelled.entry(job), phases, "model")
    key, about = records.kernel_key(job), records.about(job)
    if not limits.runs_here(kernel, launch):
        return timeline_of(cast(Entry, records.find("timelines", key) or about), phases, "recorded")
    measured = marks.measure(job)
    if os.environ.get("COURSE_RECORD"):  # ncu takes rights that many machines do not give
        measured["ncu"] = stalls.sampled(job)
    entry = {**about, **measured}
    records.remember("timelines", {key: entry})
    return timeline_of(cast(Entry, entry), phases, "measured")


vars(timeline)["compare"] = compare  # where a notebook has one name, it has both


def timeline_of(entry: Entry, marked: tuple[Phase, ...], source: Source) -> Timeline:
    """The timeline in an entry of a record; one without events when the entry has none."""
    title = f"{entry['kernel']}, {' x '.join(map(str, entry['shape']))} {entry['dtype']}"
    phases: tuple[str, ...] = marked
    if "parts" not in entry:
        return Timeline(title, phases)
    parts = {part: Shown.of(kept) for part, kept in entry["parts"].items()}
    left_out = {mark.partition(".")[0] for mark in entry.get("left_out", ())}
    unsure = [phase for phase in marked if phase in left_out]
    if len(unsure) > 1:  # with one alone its neighbours say where it begins and ends
        parts = {part: replace(shown, events=together(shown.events, unsure)) for part, shown in parts.items()}
        phases = *(phase for phase in marked if phase not in unsure), " + ".join(unsure)
    return Timeline(title, phases, source, entry["gpu"], entry["date"], parts, entry)
