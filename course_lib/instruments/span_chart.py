"""The picture of spans: a panel for each kernel, a line for each SM, and on it what the SM makes, piece after piece."""

from typing import Protocol

import numpy as np

from cupy_or_sim import style

COLOURS = (style.SKY, style.ORANGE, style.GREEN, style.PURPLE)
NAMES = ("1st", "2nd", "3rd", "4th")
LEAST = 0.03  # of the width: a span that is shorter gets no name
GAP = 0.06  # of a band: white below it


class Noted(Protocol):
    """What is drawn: rows of (SM, begin, end) in microseconds, by label, one label at least."""

    title: str
    origin: str
    rows: dict[str, np.ndarray]

    def us(self, label: str) -> float | None: ...

    def busy(self, label: str) -> float | None: ...


@style.styled
def drawing(spans: Noted) -> style.Drawing:
    """The panels, and their description in words. SMs with most pieces come first, then those whose first
    piece ends first. Where an SM makes several at a time, each has a band of its own, with a line for each SM."""
    bands = max(int(in_places(rows)[1].max()) + 1 for rows in spans.rows.values())
    figure = style.new_figure(0.7 + (1.15 + 0.3 * bands) * len(spans.rows))
    panels = figure.subplots(len(spans.rows), 1, sharex=True, squeeze=False)[:, 0]
    longest = max(spans.us(label) or 0 for label in spans.rows)
    words = []
    for axes, (label, rows) in zip(panels, spans.rows.items()):
        _panel(axes, rows, longest)
        found = f"{label}: {spans.us(label):.0f} us, SMs busy {spans.busy(label):.0%} of it"
        axes.set_title(found, fontsize=9)
        axes.set_xlim(0, 1.01 * longest)
        words.append(f"{found}; {ends(rows)}")
    panels[-1].set_xlabel(
        "microseconds since the first block began; 1st, 2nd ...: what an SM makes one after the other"
    )
    figure.suptitle(f"{spans.title}, {spans.origin}", x=0.01, ha="left", fontsize=10)
    several = f", in {bands} bands, since an SM makes {bands} pieces at a time" if bands > 1 else ""
    return (
        figure,
        f"A line for each SM, over time{several}; ends are medians. {spans.title}, {spans.origin}. {'; '.join(words)}.",
    )


def ends(rows: np.ndarray) -> str:
    """When the pieces of the SMs end, those that they make first, second ...: the medians, in words."""
    turns, beside = in_places(rows)
    found: dict[int, list[str]] = {}
    for place, turn in sorted(set(zip(beside.tolist(), turns.tolist()))):
        mine = (beside == place) & (turns == turn)
        found.setdefault(place, []).append(
            f"{_name(turn)} of {mine.sum()} SMs until {np.median(rows[mine, 2]):.0f}"
        )
    several = len(found) > 1
    return "; ".join(f"place {place + 1}: " * several + ", ".join(each) for place, each in found.items())


def _name(turn: int) -> str:
    return NAMES[turn] if turn < len(NAMES) else f"{turn + 1}th"


def _panel(axes: style.Axes, rows: np.ndarray, longest: float) -> None:
    ends = {sm: rows[rows[:, 0] == sm, 2] for sm in set(rows[:, 0])}
    line = {sm: place for place, sm in enumerate(sorted(ends, key=lambda sm: (-len(ends[sm]), ends[sm][0])))}
    turns, beside = in_places(rows)
    lines, band = np.array([line[sm] for sm in rows[:, 0]]), (1 + GAP) * len(line)
    places = sorted({*beside.tolist()})
    for place, turn in sorted(set(zip(beside.tolist(), turns.tolist()))):
        mine = np.flatnonzero((beside == place) & (turns == turn))
        mine = mine[np.argsort(lines[mine])]
        _areas(axes, rows[mine, 1:], lines[mine] + place * band, COLOURS[turn % len(COLOURS)])
        begin, end = max(rows[mine, 1:], key=lambda span: span[1] - span[0])
        if end - begin > LEAST * longest:
            height = np.median(lines[mine]) + place * band + 0.5
            style.label(axes, (begin + end) / 2, height, _name(turn), bbox=style.on(style.FACE, 1))
    names = [f"{len(line)} SMs", *(f"the same,\nplace {place + 1}" for place in places[1:])]
    names[0] += ",\nplace 1" * (len(places) > 1)
    axes.set_yticks([place * band + len(line) / 2 for place in places], names, fontsize=8)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim((len(places) - 1) * band + len(line), 0)


def _areas(axes: style.Axes, spans: np.ndarray, lines: np.ndarray, colour: str) -> None:
    """Spans of (begin, end), each as high as a line, those of lines side by side as one area: a line may be less than
    a pixel high, and bars of their own would fall out or count twice."""
    from matplotlib.collections import PolyCollection

    areas = []
    for run in np.split(np.arange(len(lines)), np.flatnonzero(np.diff(lines) > 1) + 1):
        upper, lower = lines[run], lines[run] + 1
        heights = np.stack((upper, lower), axis=1).ravel()
        left, right = (np.repeat(spans[run, side], 2) for side in (0, 1))
        areas.append(np.column_stack((np.r_[left, right[::-1]], np.r_[heights, heights[::-1]])))
    axes.add_collection(PolyCollection(areas, facecolors=colour, linewidths=0, snap=False))


def in_places(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each span, of rows by SM and begin: how many its place on the SM had before it, and which of the places that
    lie side by side it has: the first one that is free."""
    turns, beside = np.zeros(len(rows), int), np.zeros(len(rows), int)
    of_sm: dict[float, list[tuple[float, int]]] = {}
    for number, (sm, begin, end) in enumerate(rows):
        places = of_sm.setdefault(sm, [])
        free = next((at for at, (until, _) in enumerate(places) if until <= begin), len(places))
        before = places[free][1] if free < len(places) else -1
        places[free : free + 1] = [(end, before + 1)]
        turns[number], beside[number] = before + 1, free
    return turns, beside
