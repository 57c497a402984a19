"""What the warps of one block do, and when: copies, waits, barriers and math on one axis of time.

The kernel writes its own events with the macros of `course/timeline.cuh`. On a GPU it is compiled with them
and launched now; elsewhere the events recorded on a GPU are shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from . import device, style
from .backend import gpu, records

PHASES = ("copy", "wait", "barrier", "math", "epilogue")  # the order of the enum in timeline.cuh
WARPS, K_TILES = 32, 16
LOOKS = {
    "copy": (style.SKY, "///"),
    "wait": (style.ORANGE, "xxx"),
    "barrier": (style.VERMILLION, "---"),
    "math": (style.GREEN, ""),
    "epilogue": (style.PURPLE, "\\\\\\"),
}

# A phase with nothing in it still takes the time of a clock read: this kernel measures how long that is.
_EMPTY_PHASES = """#include <course/timeline.cuh>
extern "C" __global__ void empty_phases(int k_tiles TRACE_ARG)
{
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
        TRACE_BEGIN(math, k_tile);
        TRACE_END(math, k_tile);
    }
}"""


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
    """The events of one block. `source` is "measured" or "recorded"; "" when there is nothing to show."""

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
        return f"{'measured now' if self.source == 'measured' else self.source} on {self.gpu}, {self.date}"

    def cycles(self, phase: str) -> int:
        """Median length of a phase over warps and k-tiles, in SM cycles."""
        return int(np.median([event.end - event.begin for event in self.events if event.phase == phase]))

    def plot(self, warps: int = 4, k_tiles: int = 4) -> None:
        """Draw the first k-tiles of a few warps."""
        if self.events:
            style.show(*self.figure(warps, k_tiles))
        else:
            print(f"{self!r}: {self.origin}.")

    @style.styled
    def figure(self, warps: int = 4, k_tiles: int = 4):
        """The drawing, and its description in words."""
        drawn = [event for event in self.events if event.k_tile < k_tiles]
        # The epilogue belongs to no k-tile; it is drawn where it follows the drawn ones.
        last = max(event.end for event in [e for e in drawn if e.phase != "epilogue"] or drawn)
        drawn = [event for event in drawn if event.begin <= last]
        rows = sorted({event.warp for event in drawn})
        rows = rows[:: -(-len(rows) // warps)]

        figure = style.new_figure(1.5 + 0.42 * len(rows))
        axes = style.axes(figure)
        for phase, (colour, hatch) in LOOKS.items():
            bars = [event for event in drawn if event.phase == phase and event.warp in rows]
            axes.barh(
                [rows.index(event.warp) for event in bars],
                [event.end - event.begin for event in bars],
                left=[event.begin for event in bars],
                height=0.7,
                color=colour,
                hatch=hatch,
                edgecolor=style.TEXT,
                linewidth=0.4,
            )
        _label_phases(axes, [event for event in drawn if event.warp == rows[0]], last)
        _label_k_tiles(axes, [event for event in drawn if event.warp == rows[-1]], len(rows))
        axes.set_yticks(range(len(rows)), [f"warp {warp}" for warp in rows])
        axes.set(xlim=(0, 1.01 * last), ylim=(len(rows) + 0.1, -1.3))
        axes.set_xlabel("SM cycles since the block's first event (clock reads subtracted)")
        axes.set_title(f"{self.title}\n{self.origin}")
        seen = {event.phase for event in self.events}
        lengths = ", ".join(f"{phase} {self.cycles(phase):,}" for phase in self.phases if phase in seen)
        shown = f"Rows: warps {', '.join(map(str, rows))} of one block. Median cycles of a phase: {lengths}."
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


def _label_k_tiles(axes, events: list[Event], row: int) -> None:
    begins: dict[int, int] = {}
    for event in events:  # in the order of their begin
        if event.phase != "epilogue":
            begins.setdefault(event.k_tile, event.begin)
    for k_tile, begin in begins.items():
        axes.text(begin, row - 0.3, f"k-tile {k_tile}", va="center", fontsize=8)


def timeline(
    kernel, gemm, tile: tuple[int, int, int] = (64, 64, 16), threads: int | tuple = 256, shared_mem: int = 0
) -> Timeline:
    """The timeline of a kernel with TRACE macros: measured now on a GPU, the recorded one elsewhere.

    `kernel` is the kernel that `Gemm.check` takes, compiled without tracing. `tile` is (M, N, K) of a block,
    `threads` its number of threads, `shared_mem` its dynamic shared memory in bytes.
    """
    phases = tuple(phase for phase in PHASES if re.search(rf"TRACE_BEGIN\(\s*{phase}\b", kernel.code))
    if "TRACE_ARG" not in kernel.code or not phases:
        raise ValueError(
            f"kernel {kernel.name!r} records nothing. Include <course/timeline.cuh>, write TRACE_ARG after "
            "the last parameter (no comma), and put TRACE_BEGIN(math, k_tile); before and "
            "TRACE_END(math, k_tile); after each phase."
        )
    launch = {"tile": tile, "threads": threads, "shared_mem": shared_mem}
    title = f"{kernel.name}, {gemm.M} x {gemm.N} x {gemm.K} {gemm.dtype}"
    key = records.kernel_key(kernel, gemm, **launch)
    if device.backend() == "cupy":
        entry, source = {"gpu": gpu.name(), **_measure(kernel, gemm, **launch)}, "measured"
        stored = {name: value for name, value in entry.items() if name != "gpu"}
        records.remember("timelines", {key: records.about(kernel, gemm, **launch) | stored})
    else:
        entry, source = records.find("timelines", key), "recorded"
    if entry is None:
        return Timeline(title, phases)
    events = tuple(Event(*event) for event in entry["events"])
    return Timeline(title, phases, source, entry["gpu"], entry["date"], entry["read_cost"], events)


def events_of(buffer: np.ndarray, read_cost: int) -> list[list]:
    """Events in a trace buffer, int64 [32 warps][5 phases][16 k-tiles][begin, end], by their begin.

    Zeros were never written. Cycles become relative to the first event; each length loses one clock read.
    """
    written = np.argwhere((buffer[..., 0] != 0) & (buffer[..., 1] != 0))
    first = min((buffer[tuple(place)][0] for place in written), default=0)
    events = []
    for warp, phase, k_tile in written.tolist():
        begin, end = (buffer[warp, phase, k_tile] - first).tolist()
        events.append([warp, PHASES[phase], k_tile, begin, max(begin, end - read_cost)])
    return sorted(events, key=lambda event: (event[3], event[0]))


def _measure(kernel, gemm, tile: tuple, threads: int | tuple, shared_mem: int) -> dict:
    """Launch the kernel with tracing on; the tenth launch counts, with a warm L2 cache and risen clocks."""
    cp = device.cp
    buffer = cp.zeros((WARPS, len(PHASES), K_TILES, 2), dtype=np.int64)
    empty = cp.RawKernel(_EMPTY_PHASES, "empty_phases", options=(*device.OPTIONS, "-DCOURSE_TRACE"))
    empty((1,), (32,), (np.int32(K_TILES), buffer))
    clocks = cp.asnumpy(buffer)[0, PHASES.index("math")]
    read_cost = int(np.median(clocks[:, 1] - clocks[:, 0]))

    traced = cp.RawKernel(kernel.code, kernel.name, options=(*kernel.options, "-DCOURSE_TRACE"))
    traced.max_dynamic_shared_size_bytes = kernel.max_dynamic_shared_size_bytes
    launch = gpu.launcher(traced, gemm, tile, threads, shared_mem, buffer)
    for _ in range(10):
        buffer.fill(0)
        launch()
    events = events_of(cp.asnumpy(buffer), read_cost)
    return {"read_cost": read_cost, "date": gpu.today(), "events": events}
