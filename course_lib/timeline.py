"""What the warps of one block do, and when: copies, waits, barriers and math on one axis of time.

The kernel writes its own events with the macros of `course/timeline.cuh`. On a GPU it is compiled with them
and launched now; elsewhere the events recorded on a GPU are shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from . import device, style
from .backend import records, trace

LOOKS = {
    "copy": (style.SKY, "///"),
    "wait": (style.ORANGE, "xxx"),
    "barrier": (style.VERMILLION, "---"),
    "math": (style.GREEN, ""),
    "epilogue": (style.PURPLE, "\\\\\\"),
}
MOST_WARPS, MOST_K_TILES = 4, 4  # in a drawing


@dataclass(frozen=True)
class Event:
    """One phase of one warp in one k-tile. Cycles count from the block's first event."""

    warp: int
    phase: str
    k_tile: int
    begin: int
    end: int


@dataclass(frozen=True)
class Timeline:
    """The events of one block. `source` is "measured", "recorded" or "model"; "" when there is nothing to show."""

    title: str
    phases: tuple[str, ...]
    source: str = ""
    gpu: str = ""
    date: str = ""
    read_cost: int = 0  # cycles of one clock read, already subtracted
    events: tuple[Event, ...] = ()

    def __repr__(self) -> str:
        return f"Timeline({self.title}: {', '.join(self.phases)})"

    @property
    def origin(self) -> str:
        """Where the events come from, in words."""
        if not self.source:
            return "no record of this kernel as it stands now: it needs a GPU to be measured"
        if self.source == "model":
            return f"model of an {self.gpu}, not a measurement"
        return f"{'measured now' if self.source == 'measured' else self.source} on {self.gpu}, {self.date}"

    def cycles(self, phase: str) -> int:
        """Median time of a phase in a k-tile, over the k-tiles of the warps that have this phase, in SM cycles."""
        warps = {event.warp for event in self.events if event.phase == phase}
        lengths = {(event.warp, event.k_tile): 0 for event in self.events if event.warp in warps}
        for event in self.events:
            if event.phase == phase:
                lengths[event.warp, event.k_tile] += event.end - event.begin
        # The epilogue belongs to no k-tile; any other phase that is missing in one took no time there.
        return int(np.median([length for length in lengths.values() if length or phase != "epilogue"]))

    def plot(self) -> None:
        """Draw the first k-tiles of a few warps."""
        if self.events:
            style.show(*self.figure())
        else:
            print(f"{self!r}: {self.origin}.")

    @style.styled
    def figure(self):
        """The drawing, and its description in words."""
        drawn = [event for event in self.events if event.k_tile < MOST_K_TILES]
        # The epilogue belongs to no k-tile; it is drawn where it follows the drawn ones.
        last = max(event.end for event in [e for e in drawn if e.phase != "epilogue"] or drawn)
        drawn = [event for event in drawn if event.begin <= last]
        warps = sorted({event.warp for event in drawn})
        warps = warps[:: -(-len(warps) // MOST_WARPS)]

        figure = style.new_figure(1.5 + 0.42 * len(warps))
        axes = style.axes(figure)
        for phase, (colour, hatch) in LOOKS.items():
            bars = [event for event in drawn if event.phase == phase and event.warp in warps]
            begins, lengths = [bar.begin for bar in bars], [bar.end - bar.begin for bar in bars]
            look = {"color": colour, "hatch": hatch, "edgecolor": style.TEXT, "linewidth": 0.4}
            axes.barh([warps.index(bar.warp) for bar in bars], lengths, 0.7, begins, **look)
        _label_phases(axes, [event for event in drawn if event.warp == warps[0]], last)
        _label_other_phases(axes, drawn, warps)
        _label_k_tiles(axes, [event for event in drawn if event.warp == warps[-1]], len(warps), last)
        axes.set_yticks(range(len(warps)), [f"warp {warp}" for warp in warps])
        axes.set(xlim=(0, 1.01 * last), ylim=(len(warps) + 0.1, -1.3))
        kind = "modelled cycles" if self.source == "model" else "SM cycles, clock reads subtracted"
        axes.set_xlabel(f"time since the block's first event ({kind})")
        axes.set_title(f"{self.title}\n{self.origin}")
        seen = {event.phase for event in self.events}
        cycles = ", ".join(f"{phase} {self.cycles(phase):,}" for phase in self.phases if phase in seen)
        shown = f"Rows: warps {', '.join(map(str, warps))} of one block. Median cycles of a phase: {cycles}."
        return figure, f"Timeline of {self.title}, {self.origin}. {shown}"


def _label_phases(axes, events: list[Event], last: int) -> None:
    """Name each phase once, above its longest bar in the first row; close labels take turns in height."""
    by_length = sorted(events, key=lambda event: (event.end - event.begin, -event.begin))
    longest = {event.phase: event for event in by_length}
    previous, level = -last, 0
    for event in sorted(longest.values(), key=lambda event: event.begin):
        middle = (event.begin + event.end) / 2
        level = 1 - level if middle - previous < 0.09 * last else 0
        line = {"arrowstyle": "-", "linewidth": 0.6, "color": style.TEXT}
        place = (middle, -0.62 - 0.42 * level)
        axes.annotate(event.phase, (middle, -0.35), place, ha="center", va="bottom", arrowprops=line)
        previous = middle


def _label_other_phases(axes, events: list[Event], warps: list[int]) -> None:
    """Name what the first row never does (a producer does no math) inside its longest bar of the next row that does."""
    named = {event.phase for event in events if event.warp == warps[0]}
    for row, warp in enumerate(warps):
        bars = sorted(
            (e for e in events if e.warp == warp and e.phase not in named), key=lambda e: e.end - e.begin
        )
        for bar in {bar.phase: bar for bar in bars}.values():
            box = {"facecolor": style.FACE, "edgecolor": "none", "pad": 1}
            axes.text((bar.begin + bar.end) / 2, row, bar.phase, ha="center", va="center", bbox=box)
            named.add(bar.phase)


def _label_k_tiles(axes, events: list[Event], row: int, last: int) -> None:
    """Name each k-tile below the last row, where its first event begins, if there is room for the name."""
    begins: dict[int, int] = {}
    for event in events:  # in the order of their begin
        if event.phase != "epilogue":
            begins.setdefault(event.k_tile, event.begin)
    free = 0.0
    for k_tile, begin in begins.items():
        if begin >= free:
            axes.text(begin, row - 0.3, f"k-tile {k_tile}", va="center", fontsize=8)
            free = begin + 0.07 * last


def timeline(
    kernel,
    gemm,
    tile: tuple[int, int, int] = (64, 64, 16),
    threads: int | tuple = 256,
    shared_mem: int = 0,
    model: bool = False,
) -> Timeline:
    """The timeline of a kernel with TRACE macros: measured now on a GPU, the recorded one elsewhere.

    `kernel` is the kernel that `Gemm.check` takes, compiled without tracing. `tile` is (M, N, K) of a block,
    `threads` its number of threads, `shared_mem` its dynamic shared memory in bytes. `model`: the timeline that the
    simulator's clock makes of one block on an H100, on every machine.
    """
    phases = tuple(phase for phase in LOOKS if re.search(rf"TRACE_BEGIN\(\s*{phase}\b", kernel.code))
    if "TRACE_ARG" not in kernel.code or not phases:
        raise ValueError(
            f"kernel {kernel.name!r} records nothing. Include <course/timeline.cuh>, write TRACE_ARG after "
            "the last parameter (no comma), and put TRACE_BEGIN(math, k_tile); before and "
            "TRACE_END(math, k_tile); after each phase."
        )
    launch = {"tile": tile, "threads": threads, "shared_mem": shared_mem}
    if model:
        return timeline_of(trace.modelled(kernel, gemm, **launch), phases, "model")
    key, about = records.kernel_key(kernel, gemm, **launch), records.about(kernel, gemm, **launch)
    if device.backend() == "cupy":
        entry, source = about | trace.measure(kernel, gemm, **launch), "measured"
        records.remember("timelines", {key: entry})
    else:
        entry, source = records.find("timelines", key), "recorded"
    return timeline_of(entry or about, phases, source)


def timeline_of(entry: dict, phases: tuple[str, ...], source: str) -> Timeline:
    """The timeline in an entry of a record; one without events when the entry has none."""
    title = f"{entry['kernel']}, {' x '.join(map(str, entry['shape']))} {entry['dtype']}"
    if "events" not in entry:
        return Timeline(title, phases)
    events = tuple(Event(*event) for event in entry["events"])
    return Timeline(title, phases, source, entry["gpu"], entry["date"], entry["read_cost"], events)
