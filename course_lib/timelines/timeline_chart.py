"""The picture of a timeline: a row for each of a few warps, and of a model a row for each resource."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from textwrap import wrap
from typing import Any

from cupy_or_sim import style

from .events import Drawn, Event, Part, Shown

LOOKS: dict[str, tuple[str, str]] = {
    "copy": (style.SKY, "///"),
    "wait": (style.ORANGE, "xxx"),
    "barrier": (style.VERMILLION, "---"),
    "math": (style.GREEN, ""),
    "epilogue": (style.PURPLE, "\\\\\\"),
    "softmax": (style.BLUE, "|||"),
    "values": (style.GREEN, "---"),
}
UNMARKED = (style.FACE, "..")
"""Of a stretch in which several phases are together, since marks between them were left out."""
MOST_WARPS = 4  # in a drawing
SMALL_PRINT = 105  # characters of a line of it
LETTER = 0.01  # of the width
CUT = 0.06  # of the time drawn: how wide a cut is, where k-tiles are left out
TICKS = 8  # on the axis, about


WHERE: dict[Part, str] = {
    "start": "from its first event on",
    "steady": "somewhere in the middle",
    "end": "up to its last event",
    "seam": "where its second tile begins",
}


@style.styled
def drawing(timeline: Drawn, parts: Sequence[Part]) -> style.Drawing:
    """Parts of the timeline, one behind the other, for a few warps; and the drawing's description in words."""
    shown, begins = _on_one_axis([timeline.parts[part] for part in parts])
    warps = _few_warps(shown.events, MOST_WARPS)
    last = shown.length

    small = wrap(timeline.small_print, SMALL_PRINT)
    named = _rows_of_k_tiles(shown.events, warps)
    height = 1.3 + 0.42 * len(warps) + 0.2 * len(named) + 0.35 * len(shown.spans) + 0.16 * len(small)
    figure = style.new_figure(height)
    axes = style.axes(figure)
    shares = _draw_rows(axes, shown, warps, last)
    if len(parts) > 1:
        _draw_cuts(axes, [timeline.parts[part].length for part in parts], begins)
    kind = (
        "modelled cycles" if timeline.source == "model" else "SM cycles, means over many blocks and launches"
    )
    where = ", then ".join(WHERE[part] for part in parts)
    axes.set_xlabel("\n".join((f"a block {where} ({kind})", *small)), fontsize=8)
    axes.set_title(f"{timeline.title}\n{timeline.origin}".replace("; ", "\n"))
    spent = "" if parts == ("seam",) else f" {_spent(timeline, shown.events).capitalize()}."
    words = (
        f"A block {where}. Rows: warps {', '.join(map(str, warps))}.{spent}{shares} {timeline.small_print}"
    )
    return figure, f"Timeline of {timeline.title}, {timeline.origin}. {words}".strip()


@style.styled
def comparison(timelines: Sequence[Drawn], part: Part, most: int = 2) -> style.Drawing:
    """The same part of several timelines, so many warps of each at most, one below the other, on one axis of cycles;
    and the drawing in words."""
    # On an axis of its own each: what took no time is not drawn.
    shown = [_on_one_axis([timeline.parts[part]])[0] for timeline in timelines]
    warps = [_few_warps(each.events, most) for each in shown]
    last = max(each.length for each in shown)
    heights = [1.0 + 0.42 * len(few) + 0.35 * len(each.spans) for few, each in zip(warps, shown)]
    figure, words = style.new_figure(0.7 + sum(heights)), []
    panels = figure.subplots(len(shown), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
    for axes, timeline, each, few in zip(panels, timelines, shown, warps):
        shares = _draw_rows(axes, each, few, last)
        axes.axvline(each.length, color=style.TEXT, linewidth=0.8, linestyle=":")
        turn = f"a turn: {timeline.turn:,} cycles" if timeline.turn else ""
        axes.set_title(", ".join(filter(None, (timeline.title, turn))))
        spent = [] if part == "seam" else [_spent(timeline, each.events)]
        said = "; ".join(filter(None, (turn, *spent)))
        words.append(f"{timeline.title}: {said}.{shares}".rstrip("."))
    origins = "; ".join(dict.fromkeys(timeline.origin for timeline in timelines))
    panels[-1].set_xlabel(f"SM cycles, one scale for all; a block {WHERE[part]}\n{origins}", fontsize=8)
    return figure, f"Timelines on one scale, {origins}. A block {WHERE[part]}. {'. '.join(words)}."


FAR = 0.2
"""Of a turn: a median so far from the mean of warps that do the same is nobody's."""


def _spent(timeline: Drawn, events: Sequence[Event]) -> str:
    """How long the phases of k-tiles take, in words. A seam has k-tiles of two tiles, and none of them says it."""
    seen = {event.phase for event in events}
    phases = [phase for phase in timeline.phases if phase in seen]
    cycles = {phase: timeline.cycles(phase) for phase in phases}
    alike = (
        len({frozenset(e.phase for e in events if e.warp == warp) for warp in {e.warp for e in events}}) == 1
    )
    shares = {phase: share for phase in phases if (share := timeline.share(phase)) is not None}
    turn = timeline.turn or 0
    if alike and any(abs(share * turn - cycles[phase]) > FAR * turn for phase, share in shares.items()):
        return "on average a warp spends of a turn: " + ", ".join(
            f"{phase} {share:.0%}" for phase, share in shares.items()
        )
    return "median cycles of a phase: " + ", ".join(f"{phase} {each:,}" for phase, each in cycles.items())


def _few_warps(events: Sequence[Event], most: int) -> list[int]:
    """So many warps at most, spread over those that have events."""
    warps = sorted({event.warp for event in events})
    return warps[:: -(-len(warps) // most)]


def _draw_warps(axes: style.Axes, shown: Shown, warps: Sequence[int], last: int, below: float = 0.0) -> float:
    """A row for each of the warps, names of phases above them, numbers of k-tiles below; and room `below`. Returns the
    place of the first row that is free."""
    for event in shown.events:
        if event.warp in warps:
            _bar(axes, event, warps.index(event.warp))
    _label_phases(axes, [event for event in shown.events if event.warp == warps[0]], last)
    _label_other_phases(axes, shown.events, warps, last)
    named = _rows_of_k_tiles(shown.events, warps)
    places = [len(warps) - 0.35 + 0.5 * row for row in range(len(named))]
    for place, (warp, phase) in zip(places, named.items()):
        _label_k_tiles(axes, [e for e in shown.events if (e.warp, e.phase) == (warp, phase)], place, last)
    names = [*(f"warp {warp}" for warp in warps), *(f"{phase}, k-tile" for phase in named.values())]
    axes.set_yticks([*range(len(warps)), *places], names)
    free = places[-1] + 0.45
    axes.set(xlim=(0, 1.01 * last), ylim=(free + below, -1.3))
    return free + 0.35


def _draw_rows(axes: style.Axes, shown: Shown, warps: Sequence[int], last: int) -> str:
    """Rows of warps, and below them one for each resource; in words, for how much of the time that it serves."""
    rows = _draw_warps(axes, shown, warps, last, 0.75 * len(shown.spans))
    places = [rows - 0.2 + 0.7 * row for row in range(len(shown.spans))]
    shares = _draw_resources(axes, shown.spans, places, shown.length)
    names = [*(text.get_text() for text in axes.get_yticklabels()), *shown.spans]
    axes.set_yticks([*axes.get_yticks(), *places], names)
    return shares


def _rows_of_k_tiles(events: Sequence[Event], warps: Sequence[int]) -> dict[int, str]:
    """Warp -> the phase by which its k-tiles are named: the math; where other warps only copy, their copies too."""
    kinds = {warp: {event.phase for event in events if event.warp == warp} for warp in warps}
    doing = {
        warp: max(kinds[warp], key=lambda phase: (phase.endswith("math"), phase == "copy")) for warp in warps
    }
    return {max(w for w in warps if doing[w] == phase): phase for phase in dict.fromkeys(doing.values())}


def _on_one_axis(parts: Sequence[Shown]) -> tuple[Shown, list[int]]:
    """Parts one behind the other, with a cut between two, and where each begins. Of events only what is inside."""
    events, begins, end = [], [], 0
    spans: dict[str, list[list[int]]] = {}
    cut = round(CUT * sum(part.length for part in parts))
    for part in parts:
        begins.append(end)
        inside = (_within(event, part.length) for event in part.events)
        events += [event.moved(end) for event in inside if event.end > event.begin]
        for name, found in part.spans.items():
            spans.setdefault(name, []).extend([first + end, last + end] for first, last in found)
        end += part.length + cut
    return Shown(tuple(events), end - cut, spans), begins


def _within(event: Event, length: int) -> Event:
    """What of an event lies between 0 and the length; its soft edges stay where they are."""
    begin, end = max(event.begin, 0), min(event.end, length)
    sure_from = min(max(event.begin + event.begin_spread, begin), end)
    sure_to = max(min(event.end - event.end_spread, end), sure_from)
    return replace(event, begin=begin, end=end, begin_spread=sure_from - begin, end_spread=end - sure_to)


def _draw_cuts(axes: style.Axes, lengths: list[int], begins: list[int]) -> None:
    """Count each part's cycles from its begin, and say between two parts that k-tiles are left out."""
    from matplotlib.ticker import MaxNLocator

    steps = MaxNLocator(TICKS // len(lengths) + 1, integer=True)
    ticks = [
        (begin + tick, f"{tick:,.0f}")
        for begin, length in zip(begins, lengths)
        for tick in steps.tick_values(0, length)
        if 0 <= tick <= length
    ]
    axes.set_xticks(*zip(*ticks))
    bottom, top = axes.get_ylim()
    for end, begin in zip((at + length for at, length in zip(begins, lengths)), begins[1:]):
        axes.axvspan(end, begin, color=style.FACE, zorder=4)
        middle, over = (end + begin) / 2, style.on(style.FACE, 0)
        style.label(axes, middle, bottom, "//", 12, zorder=5, clip_on=False, bbox=over)
        style.label(axes, middle, (bottom + top) / 2, "k-tiles left out", 9, rotation=90, zorder=5)


def _bar(axes: style.Axes, event: Event, row: int) -> None:
    """A phase. Where its edges lie in most blocks only, the bar is pale and without hatch."""
    colour, hatch = LOOKS.get(event.phase, UNMARKED)
    begin, end = event.begin, event.end
    sure_from, sure_to = begin + event.begin_spread, end - event.end_spread
    look: dict[str, Any] = {"color": colour, "linewidth": 0.4, "edgecolor": style.TEXT, "clip_on": False}
    axes.barh(row, sure_to - sure_from, 0.7, sure_from, hatch=hatch, zorder=2, **look)
    for left, right in (begin, sure_from), (sure_to, end):
        if right > left:
            pale: style.Look = {"color": colour, "alpha": 0.45, "linewidth": 0, "clip_on": False}
            axes.barh(row, right - left, 0.7, left, zorder=1, **pale)


def _draw_resources(
    axes: style.Axes, spans: Mapping[str, list[list[int]]], rows: list[float], last: int
) -> str:
    """Draw when each resource works for the block; return in words for how much of the drawn time."""
    words = []
    for row, (name, found) in zip(rows, spans.items()):
        lengths = [end - begin for begin, end in found]
        axes.barh([row] * len(found), lengths, 0.42, [begin for begin, _ in found], color=style.TEXT)
        words.append(f"{name} {sum(lengths) / last:.0%}")
    return f" Serving this block, of the time drawn: {', '.join(words)}." if words else ""


def _label_phases(axes: style.Axes, events: list[Event], last: int) -> None:
    """Name each phase once, above its longest bar in the first row; close labels take turns in height."""
    by_length = sorted(events, key=lambda event: (event.end - event.begin, -event.begin))
    longest = {event.phase: event for event in by_length}
    previous, level = float(-last), 0
    for event in sorted(longest.values(), key=lambda event: event.begin):
        middle = (event.begin + event.end) / 2
        level = 1 - level if middle - previous < 0.09 * last else 0
        line = {"arrowstyle": "-", "linewidth": 0.6, "color": style.TEXT}
        place = (max(middle, 0.025 * last), -0.62 - 0.42 * level)  # clear of the axis
        axes.annotate(event.phase, (middle, -0.35), place, ha="center", va="bottom", arrowprops=line)
        previous = middle


def _label_other_phases(axes: style.Axes, events: Sequence[Event], warps: Sequence[int], last: int) -> None:
    """Name what the first row never does (a producer does no math) inside its longest bar: inside the dark part, or in
    small letters inside the whole of it, if that is long enough; a shorter one between its row and the one above."""
    named = {event.phase for event in events if event.warp == warps[0]}
    others = [event for event in events if event.warp in warps and event.phase not in named]
    for phase in dict.fromkeys(event.phase for event in others if event.end - event.begin > last / 100):
        own = [event for event in others if event.phase == phase]
        dark = [(e.begin + e.begin_spread, e.end - e.end_spread, warps.index(e.warp)) for e in own]
        whole = [(e.begin, e.end, warps.index(e.warp)) for e in own]
        for bars, size, margin in (dark, 9, 0.02), (whole, 7, 0.008):
            begin, end, row = max(bars, key=lambda bar: (bar[1] - bar[0], bar[0], bar[2]))
            if end - begin > (margin + LETTER * len(phase) * size / 9) * last:
                style.label(axes, (begin + end) / 2, row, phase, size, bbox=style.on(style.FACE, 0.5))
                break
        else:
            style.label(axes, max((begin + end) / 2, last / 28), row - 0.5, phase, 7)


def _label_k_tiles(axes: style.Axes, events: list[Event], place: float, last: int) -> None:
    """Name each k-tile below the middle of its events, those of one phase of one warp; not where it only reaches a
    little into the picture, or there is no room."""
    free = 0.0
    for k_tile in dict.fromkeys(event.k_tile for event in events):
        own = [event for event in events if event.k_tile == k_tile]
        begin, end = max(own[0].begin, 0), min(max(event.end for event in own), last)
        half, middle = LETTER * (len(str(k_tile)) + 1) / 2 * last, (begin + end) / 2
        whole = own[0].begin >= 0 and own[-1].end <= last
        if middle - half >= free and (whole or end - begin > 2 * half):
            axes.text(middle, place, f"{k_tile}", ha="center", va="center", fontsize=8)
            free = middle + half
