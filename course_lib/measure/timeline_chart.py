"""The picture of a timeline: a row for each of a few warps, and of a model a row for each resource."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..draw import style
from .events import Drawn, Event, Phase

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOOKS: dict[Phase, tuple[str, str]] = {
    "copy": (style.SKY, "///"),
    "wait": (style.ORANGE, "xxx"),
    "barrier": (style.VERMILLION, "---"),
    "math": (style.GREEN, ""),
    "epilogue": (style.PURPLE, "\\\\\\"),
}
MOST_WARPS, MOST_K_TILES = 4, 4  # in a drawing


@style.styled
def drawing(timeline: Drawn) -> tuple[Figure, str]:
    """The first k-tiles of a few warps, and the drawing's description in words."""
    drawn = [event for event in timeline.events if event.k_tile < MOST_K_TILES]
    # The epilogue belongs to no k-tile; it is drawn where it follows the drawn ones.
    last = max(event.end for event in [e for e in drawn if e.phase != "epilogue"] or drawn)
    drawn = [event for event in drawn if event.begin <= last]
    warps = sorted({event.warp for event in drawn})
    warps = warps[:: -(-len(warps) // MOST_WARPS)]

    figure = style.new_figure(1.5 + 0.42 * len(warps) + 0.35 * len(timeline.spans))
    axes = style.axes(figure)
    for phase, (colour, hatch) in LOOKS.items():
        bars = [event for event in drawn if event.phase == phase and event.warp in warps]
        begins, lengths = [bar.begin for bar in bars], [bar.end - bar.begin for bar in bars]
        look = {"color": colour, "hatch": hatch, "edgecolor": style.TEXT, "linewidth": 0.4}
        axes.barh([warps.index(bar.warp) for bar in bars], lengths, 0.7, begins, **look)
    _label_phases(axes, [event for event in drawn if event.warp == warps[0]], last)
    _label_other_phases(axes, drawn, warps)
    _label_k_tiles(axes, [event for event in drawn if event.warp == warps[-1]], len(warps), last)
    rows = [len(warps) + 0.4 + 0.7 * row for row in range(len(timeline.spans))]
    shares = _draw_resources(axes, timeline.spans, rows, last)
    names = [*(f"warp {warp}" for warp in warps), f"k-tile of warp {warps[-1]}", *timeline.spans]
    axes.set_yticks([*range(len(warps)), len(warps) - 0.35, *rows], names)
    axes.set(xlim=(0, 1.01 * last), ylim=(len(warps) + 0.1 + 0.75 * len(rows), -1.3))
    kind = "modelled cycles" if timeline.source == "model" else "SM cycles, clock reads subtracted"
    axes.set_xlabel(f"time since the block's first event ({kind})")
    axes.set_title(f"{timeline.title}\n{timeline.origin}".replace("; ", "\n"))
    seen = {event.phase for event in timeline.events}
    cycles = ", ".join(f"{phase} {timeline.cycles(phase):,}" for phase in timeline.phases if phase in seen)
    shown = (
        f"Rows: warps {', '.join(map(str, warps))} of one block. Median cycles of a phase: {cycles}.{shares}"
    )
    return figure, f"Timeline of {timeline.title}, {timeline.origin}. {shown}"


def _draw_resources(axes, spans: dict[str, list[list[int]]], rows: list[float], last: int) -> str:
    """Draw when each resource works for the block; return in words for how much of the drawn time."""
    words = []
    for row, (name, found) in zip(rows, spans.items()):
        drawn = [(begin, min(end, last)) for begin, end in found if begin < last]
        lengths = [end - begin for begin, end in drawn]
        axes.barh([row] * len(drawn), lengths, 0.42, [begin for begin, _ in drawn], color=style.TEXT)
        words.append(f"{name} {sum(lengths) / last:.0%}")
    return f" At work for this block: {', '.join(words)} of the time drawn." if words else ""


def _label_phases(axes, events: list[Event], last: int) -> None:
    """Name each phase once, above its longest bar in the first row; close labels take turns in height."""
    by_length = sorted(events, key=lambda event: (event.end - event.begin, -event.begin))
    longest = {event.phase: event for event in by_length}
    previous, level = -last, 0
    for event in sorted(longest.values(), key=lambda event: event.begin):
        middle = (event.begin + event.end) / 2
        level = 1 - level if middle - previous < 0.09 * last else 0
        line = {"arrowstyle": "-", "linewidth": 0.6, "color": style.TEXT}
        place = (max(middle, 0.025 * last), -0.62 - 0.42 * level)  # clear of the axis
        axes.annotate(event.phase, (middle, -0.35), place, ha="center", va="bottom", arrowprops=line)
        previous = middle


def _label_other_phases(axes, events: list[Event], warps: list[int]) -> None:
    """Name what the first row never does (a producer does no math) inside its longest bar, not over others."""
    named = {event.phase for event in events if event.warp == warps[0]}
    others = [event for event in events if event.warp in warps and event.phase not in named]
    longest = {event.phase: event for event in sorted(others, key=lambda event: event.end - event.begin)}
    box = {"facecolor": style.FACE, "edgecolor": "none", "pad": 0.5}
    for phase, bar in longest.items():
        middle = (bar.begin + bar.end) / 2
        axes.text(middle, warps.index(bar.warp), phase, ha="center", va="center", bbox=box)


def _label_k_tiles(axes, events: list[Event], row: int, last: int) -> None:
    """Name each k-tile below the last row, where its first event begins, if there is room for the name."""
    begins: dict[int, int] = {}
    for event in events:  # in the order of their begin
        if event.phase != "epilogue":
            begins.setdefault(event.k_tile, event.begin)
    free = 0.0
    for k_tile, begin in begins.items():
        if begin >= free:
            axes.text(begin, row - 0.35, f"{k_tile}", va="center", fontsize=8)
            free = begin + 0.02 * last
