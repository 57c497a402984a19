"""Heat maps of a sweep: a number in every cell, darker where it is slower, the one that was chosen in a frame."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cupy_or_sim import style

from .plans import GROUP, Plan, Shape

DARKEST = 3.0
"""Times the fastest: from there on a cell is as dark as it gets."""
Times = dict[Plan, float]


@style.styled
def tiles(origin: str, times: dict[Shape, Times], chosen: dict[Shape, Plan]) -> style.Drawing:
    """A row for each problem, a column for each tile: the time of its fastest plan over that of the fastest of all. The
    tile of the chosen plan is framed."""
    columns = sorted(
        {plan.tile[:2] for each in times.values() for plan in each}, key=lambda t: (t[0] * t[1], t)
    )
    rows = []
    for each in times.values():
        fastest = min(each.values())
        best = [
            min((us for plan, us in each.items() if plan.tile[:2] == tile), default=None) for tile in columns
        ]
        rows.append([us and us / fastest for us in best])
    figure = style.new_figure(1.3 + 0.21 * len(rows))
    framed = [columns.index(chosen[shape].tile[:2]) for shape in times]
    _draw(style.axes(figure), rows, framed, list(map(_x, times)), list(map(_x, columns)))
    figure.suptitle(
        f"Time of the best plan with each tile, over that of the fastest\n{origin}", x=0.01, ha="left"
    )
    wins = "; ".join(
        f"{_x(shape)}: {_x(columns[at])}" + (f" at {row[at]:.2f}" if (row[at] or 0) >= 1.005 else "")
        for shape, row, at in zip(times, rows, framed)
    )
    return figure, f"Heat map, a row for each problem and a column for each tile, {origin}. Chosen: {wins}."


@style.styled
def variants(origin: str, shape: Shape, times: Times) -> style.Drawing:
    """Tiles near the fastest: left other orders of blocks, right other numbers of slots, with the same parts of K."""
    best: dict[tuple, Plan] = {}
    for plan in sorted(times, key=lambda plan: times[plan]):
        best.setdefault(plan.tile, plan)
    groups = {
        tile: {
            p.group: us for p, us in times.items() if (p.tile, p.stages, p.split) == (tile, b.stages, b.split)
        }
        for tile, b in best.items()
    }
    slots = {
        tile: {
            p.stages: us for p, us in times.items() if (p.tile, p.group, p.split) == (tile, GROUP, b.split)
        }
        for tile, b in best.items()
    }
    shown = [tile for tile in best if len(groups[tile]) > 1 or len(slots[tile]) > 1]
    fastest = min(times.values())
    figure = style.new_figure(1.5 + 0.25 * len(shown))
    words = []
    for axes, found, name in zip(
        figure.subplots(1, 2),
        (groups, slots),
        ("tiles below each other, then to the right", "slots of the ring"),
    ):
        columns = sorted({number for tile in shown for number in found[tile]})
        rows = [[(us := found[tile].get(number)) and us / fastest for number in columns] for tile in shown]
        framed = [row.index(min(filter(None, row))) for row in rows]
        _draw(axes, rows, framed, [_x(tile[:2]) for tile in shown], list(map(str, columns)), "{:.3f}", 1.3)
        axes.set_title(name)
        words += [
            f"{_x(tile[:2])}, {name}: " + ", ".join(f"{n} {r:.3f}" for n, r in zip(columns, row) if r)
            for tile, row in zip(shown, rows)
        ]
    figure.suptitle(f"{_x(shape)}: time over that of the fastest\n{origin}", x=0.01, ha="left")
    return figure, f"Two heat maps for {_x(shape)}, {origin}. {'; '.join(words)}."


def _draw(
    axes: style.Axes,
    rows: list[list[float | None]],
    framed: list[int],
    names: list[str],
    columns: list[str],
    form: str = "{:.2f}",
    darkest: float = DARKEST,
) -> None:
    """Cells from white (1, the fastest) to dark grey (`darkest` and more); empty ones are crossed out."""
    for y, row in enumerate(rows):
        for x, value in enumerate(row):
            if not value:
                style.box(axes, x, y, facecolor=style.FACE, hatch="xx", linewidth=0)
                continue
            shade = min(np.log(value) / np.log(darkest), 1)
            grey = 0.99 - 0.69 * shade  # pure white would turn dark on a dark page
            style.box(axes, x, y, facecolor=(grey, grey, grey), linewidth=0)
            text = form.format(value) if value < 10 else f"{value:.0f}"
            look: dict[str, Any] = {
                "color": "#f8f8f8" if grey < 0.55 else style.INK,
                "weight": "bold" if x == framed[y] else None,
            }
            axes.text(x + 0.5, y + 0.53, text, ha="center", va="center", fontsize=8, **look)
        style.box(axes, framed[y], y, fill=False, linewidth=1.6, clip_on=False)
    axes.set(xlim=(0, len(columns)), ylim=(len(rows), 0))
    axes.set_xticks(np.arange(len(columns)) + 0.5, columns, fontsize=8)
    axes.set_yticks(np.arange(len(rows)) + 0.5, names, fontsize=8)
    axes.tick_params(length=0, top=False, labeltop=True, labelbottom=False, bottom=False)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _x(numbers: Sequence[int]) -> str:
    return "x".join(map(str, numbers))
