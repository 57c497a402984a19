"""The picture of spans: a panel for each kernel, a line for each SM, and on it what the SM makes, piece after piece."""

from typing import Protocol

import numpy as np

from cupy_or_sim import style

COLOURS = (style.SKY, style.ORANGE, style.GREEN, style.PURPLE)
NAMES = ("1st", "2nd", "3rd", "4th")
LEAST = 0.03  # of the width: a span that is shorter gets no name


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
    piece ends first."""
    figure = style.new_figure(0.7 + 1.45 * len(spans.rows))
    panels = figure.subplots(len(spans.rows), 1, sharex=True, squeeze=False)[:, 0]
    longest = max(spans.us(label) or 0 for label in spans.rows)
    words = []
    for axes, (label, rows) in zip(panels, spans.rows.items()):
        _panel(axes, rows, longest)
        found = f"{label}: {spans.us(label):.0f} us, SMs busy {spans.busy(label):.0%} of it"
        axes.set_title(found, fontsize=9)
        axes.set(ylabel="SMs", yticks=[], xlim=(0, 1.01 * longest))
        words.append(found)
    panels[-1].set_xlabel(
        "microseconds since the first block began; 1st, 2nd ...: what an SM makes one after the other"
    )
    figure.suptitle(f"{spans.title}, {spans.origin}", x=0.01, ha="left", fontsize=10)
    return figure, f"A line for each SM, over time. {spans.title}, {spans.origin}. {'; '.join(words)}."


def _panel(axes: style.Axes, rows: np.ndarray, longest: float) -> None:
    ends = {sm: rows[rows[:, 0] == sm, 2] for sm in set(rows[:, 0])}
    line = {sm: place for place, sm in enumerate(sorted(ends, key=lambda sm: (-len(ends[sm]), ends[sm][0])))}
    turns, beside = in_places(rows)
    high = 1 / (beside.max() + 1)
    places = np.array([line[sm] for sm in rows[:, 0]]) + high * (beside - beside.max() / 2)
    lengths = rows[:, 2] - rows[:, 1]
    for turn in range(turns.max() + 1):
        mine, colour = turns == turn, COLOURS[turn % len(COLOURS)]
        axes.barh(
            places[mine], lengths[mine], high, rows[mine, 1], color=colour, edgecolor=style.TEXT, linewidth=0
        )
        widest = max(np.flatnonzero(mine), key=lambda number: lengths[number])
        if lengths[widest] > LEAST * longest:
            name = NAMES[turn] if turn < len(NAMES) else f"{turn + 1}th"
            middle = rows[widest, 1] + lengths[widest] / 2
            style.label(axes, middle, np.median(places[mine]), name, bbox=style.on(style.FACE, 1))
    axes.set_ylim(len(line), -1)


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
