"""What the warps of one block do, and when: copies, waits, barriers and math on one axis of time.

The kernel writes its own events with the macros of `course/timeline.cuh`. On a GPU it is compiled with them
and launched now; elsewhere the events recorded on a GPU are shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from ..draw import style
from ..gpu import device
from ..launch import STANDARD, Launch
from . import records, timeline_chart, trace
from .events import PHASES, Event, Phase, Source, from_rows
from .model import ORIGIN


@dataclass(frozen=True)
class Timeline:
    """The events of one block."""

    title: str
    phases: tuple[Phase, ...]
    source: Source = ""
    gpu: str = ""
    date: str = ""
    read_cost: int = 0  # cycles of one clock read, already subtracted
    events: tuple[Event, ...] = ()
    spans: dict[str, list[list[int]]] = field(
        default_factory=dict
    )  # of a model: resource -> [begin, end] of each use

    def __repr__(self) -> str:
        return f"Timeline({self.title}: {', '.join(self.phases)})"

    @property
    def origin(self) -> str:
        """Where the events come from, in words."""
        if not self.source:
            return "no record of this kernel as it stands now: it needs a GPU to be measured"
        if self.source == "model":
            return f"model of an {self.gpu}, {ORIGIN}"
        return f"{'measured now' if self.source == 'measured' else self.source} on {self.gpu}, {self.date}"

    def cycles(self, phase: Phase) -> int:
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

    def figure(self):
        """The drawing, and its description in words."""
        return timeline_chart.drawing(self)


def timeline(
    kernel,
    gemm,
    launch: Launch = STANDARD,
    model: bool = False,
) -> Timeline:
    """The timeline of a kernel with TRACE macros: measured now on a GPU, the recorded one elsewhere.

    `kernel` is the kernel that `Gemm.check` takes, compiled without tracing. `model`: the timeline that the simulator's
    clock makes of one block on an H100, on every machine.
    """
    phases = tuple(phase for phase in PHASES if re.search(rf"TRACE_BEGIN\(\s*{phase}\b", kernel.code))
    if "TRACE_ARG" not in kernel.code or not phases:
        raise ValueError(
            f"kernel {kernel.name!r} records nothing. Include <course/timeline.cuh>, write TRACE_ARG after "
            "the last parameter (no comma), and put TRACE_BEGIN(math, k_tile); before and "
            "TRACE_END(math, k_tile); after each phase."
        )
    if model:
        return timeline_of(trace.modelled(kernel, gemm, launch), phases, "model")
    key, about = records.kernel_key(kernel, gemm, launch), records.about(kernel, gemm, launch)
    if device.backend() == "cupy":
        entry, source = about | trace.measure(kernel, gemm, launch), "measured"
        records.remember("timelines", {key: entry})
    else:
        entry, source = records.find("timelines", key), "recorded"
    return timeline_of(entry or about, phases, source)


def timeline_of(entry: dict, phases: tuple[Phase, ...], source: Source) -> Timeline:
    """The timeline in an entry of a record; one without events when the entry has none."""
    title = f"{entry['kernel']}, {' x '.join(map(str, entry['shape']))} {entry['dtype']}"
    if "events" not in entry:
        return Timeline(title, phases)
    events, spans = from_rows(entry["events"]), entry.get("spans", {})
    return Timeline(title, phases, source, entry["gpu"], entry["date"], entry["read_cost"], events, spans)
