"""The figures of lesson 05 and of what goes deeper there."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import cos, radians, sin

from cupy_or_sim import style

LOAD, FETCH = 0.28, 3.06
"""A load of fragments and a copy, in units of one k-step of math: of the schedules, which are sketches. `flights` has a
copy of at most 1.53 times the math of a k-tile, which is two k-steps."""


@style.styled
def flights(rows: Sequence[tuple[str, int, int]]):
    """Turns of math on one axis, and below them the copy of a k-tile. A row is (its name, cycles of the math of a
    k-tile, cycles of its copy)."""
    if unknown := [name for name, math, _ in rows if not math]:  # its marks were left out
        return style.nothing(f"no math was measured of {', '.join(unknown)}")
    figure, words = style.new_figure(1.0 + 1.05 * len(rows)), []
    ax, last = style.axes(figure), 1.02 * max(-(-copy // math) * math for _, math, copy in rows)
    for row, (name, math, copy) in enumerate(rows):
        turns = -(-copy // math)
        for turn in range(turns):
            style.box(ax, turn * math, row, math, 0.36, facecolor=style.GREEN, linewidth=1)
            style.label(ax, (turn + 0.5) * math, row + 0.18, f"math {math:,}", 9, color=style.INK)
        style.arrow(ax, (0, row + 0.55), (copy, row + 0.55), linewidth=1.6, shrinkA=0, shrinkB=0)
        ax.text(
            0, row + 0.62, f"copy of one k-tile, at most {copy:,}: {copy / math:.2f} times the math", va="top"
        )
        words.append(f"{name}: math {math:,}, copy at most {copy:,}, {copy / math:.2f} times the math")
    ax.set(xlim=(0, last), ylim=(len(rows) - 0.1, -0.15), xlabel="SM clocks from the start of the copy")
    ax.set_yticks([row + 0.18 for row in range(len(rows))], [name for name, _, _ in rows])
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return figure, f"Math of k-tiles, turn by turn, and the copy of one, in SM clocks. {'; '.join(words)}."


@style.styled
def ring(stages: int = 3, turns: Sequence[int] = (0, 1, 2, 3)):
    """What lies in each slot of the ring during the math of a turn."""
    from matplotlib.patches import Wedge

    figure, words = style.new_figure(2.35), []
    for ax, turn in zip(figure.subplots(1, len(turns)), turns):
        for slot in range(stages):
            k_tile = turn + (slot - turn) % stages
            what = (
                "math" if k_tile == turn else "copy\nstarts" if k_tile == turn + stages - 1 else "on its\nway"
            )
            begin, math = 90 - 360 * (slot + 1) / stages, k_tile == turn
            ax.add_patch(Wedge((0, 0), 1, begin, begin + 360 / stages, width=0.72, edgecolor=style.TEXT, linewidth=0.8,
                               facecolor=style.GREEN if math else style.SKY, hatch="" if math else "///"))  # fmt: skip
            x, y = cos(radians(begin + 180 / stages)), sin(radians(begin + 180 / stages))
            style.label(ax, 0.64 * x, 0.64 * y, f"{k_tile}\n{what}", 7, style.GREEN if math else style.FACE)
            side = "left" if x > 0.1 else "right" if x < -0.1 else "center"
            ax.text(1.1 * x, 1.1 * y, f"slot {slot}", ha=side, va="bottom" if y > 0 else "top", fontsize=7)
            words.append(f"turn {turn}, slot {slot}: k-tile {k_tile}, {what}".replace("\n", " "))
        ax.set(xlim=(-1.3, 1.3), ylim=(-1.25, 1.25), aspect="equal")
        ax.axis("off")
        ax.set_title(f"turn {turn}", fontsize=9, loc="center")
    return figure, f"A ring of {stages} slots in turns {turns[0]} to {turns[-1]}. {'; '.join(words)}."


@style.styled
def queue(stages: int = 3, k_tiles: int = 4):
    """The groups of copies that a thread has committed when it waits, in each turn, and the cut of the wait."""
    figure, words = style.new_figure(2.1), []
    ax = style.axes(figure)
    for turn in range(k_tiles):
        for group in range(turn + stages - 1):
            landed, empty = group <= turn, group >= k_tiles
            colour = style.GREEN if landed else style.FACE if empty else style.SKY
            hatch = "" if landed or empty else "///"
            style.box(ax, group, turn + 0.12, 0.92, 0.76, facecolor=colour, hatch=hatch, linewidth=0.7)
            text, ground = f"{group}: empty" if empty else group, style.GREEN if landed else style.FACE
            style.label(ax, group + 0.46, turn + 0.5, text, ground=ground)
        ax.plot([turn + 0.96] * 2, [turn - 0.02, turn + 1.02], color=style.VERMILLION, linewidth=2)
        late = " and ".join(str(group) for group in range(turn + 1, turn + stages - 1))
        words.append(f"turn {turn}: groups 0 to {turn + stages - 2} are asked for, 0 to {turn} must have landed, "
                     f"{late} may be late")  # fmt: skip
    ax.text(0.96, -0.12, f"the cut of wait_group<{stages - 2}>", ha="center", va="bottom", fontsize=8)
    ax.text(k_tiles + stages - 2, 0.5, "left of the cut: must have landed\nright of it: may be late", va="center",
            ha="right", fontsize=8)  # fmt: skip
    ax.set(xlim=(0, k_tiles + stages - 2), ylim=(k_tiles, -0.6), xticks=[])
    ax.set_yticks([turn + 0.5 for turn in range(k_tiles)], [f"turn {turn} waits" for turn in range(k_tiles)])
    ax.spines[["left", "bottom"]].set_visible(False)
    return figure, (f"The groups of copies in the order of their commits, {stages} slots and {k_tiles} k-tiles. "
                    f"{'; '.join(words)}. Groups from {k_tiles} on are empty.")  # fmt: skip


@style.styled
def orders(cases: Sequence[tuple[str, int, bool]], k_tiles: int = 4):
    """Two k-steps to a k-tile, fragments one k-step ahead: a panel for each (title, slots, whether a copy is issued
    behind the barrier of mid-turn, and not before its wait). A sketch."""
    heights = [stages + 2.2 for _, stages, _ in cases]
    figure = style.new_figure(0.9 + 0.34 * sum(heights))
    panels = figure.subplots(len(cases), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    drawn = [_schedule(stages, behind, k_tiles) for _, stages, behind in cases]
    last, words = max(begin + length for bars in drawn for _, begin, length, _ in bars), []
    for ax, (title, stages, _), bars in zip(panels, cases, drawn):
        for row, begin, length, label in bars:
            copying, loading = row < stages, row == stages
            colour, hatch = (
                style.SKY if copying else style.ORANGE if loading else style.GREEN,
                "///" * copying,
            )
            style.box(ax, begin, row + 0.1, length, 0.8, facecolor=colour, hatch=hatch, linewidth=0.5)
            if not loading:
                text, ground = (f"copy {label}", style.FACE) if copying else (label, style.GREEN)
                style.label(ax, begin + length / 2, row + 0.52, text, ground=ground, clip_on=True)
        ax.set(xlim=(0, last + 0.1), ylim=(stages + 2, 0), xticks=[])
        names = [*(f"slot {slot}" for slot in range(stages)), "shared → registers", "mma"]
        ax.set_yticks([row + 0.5 for row in range(stages + 2)], names)
        ax.set_title(title, fontsize=9)
        math = [(begin, begin + length) for row, begin, length, _ in bars if row == stages + 1]
        idle = sum(after[0] - before[1] > 0.01 for before, after in pairwise(math))
        words.append(f"{title}: the mma row has {idle or 'no'} gap{'s' * (idle > 1)} after its start")
    copy = f"a copy: {FETCH / 2:.2f} times the math of a k-tile, at the most"
    panels[-1].set_xlabel(f"time →      (a sketch; 0a, 0b: the k-steps of k-tile 0; {copy})", fontsize=8)
    return figure, f"Schedules of {k_tiles} k-tiles, fragments loaded one k-step ahead. {'; '.join(words)}."


def _schedule(stages: int, behind: bool, k_tiles: int) -> list[tuple[int, float, float, str]]:
    """(row, begin, length, label) of each bar: a row for each slot, one of loads to registers, one of mma."""
    bars: list[tuple[int, float, float, str]] = []
    arrived: dict[int, float] = {}

    def copy(k_tile: int, now: float) -> None:
        arrived[k_tile] = now + FETCH if k_tile < k_tiles else now
        if k_tile < k_tiles:
            bars.append((k_tile % stages, now, FETCH, f"{k_tile}"))

    def load(k_tile: int, step: int, now: float) -> float:
        bars.append((stages, now, LOAD, f"{k_tile}{'ab'[step]}"))
        return now + LOAD

    def math(k_tile: int, step: int, now: float) -> float:
        bars.append((stages + 1, now, 1, f"{k_tile}{'ab'[step]}"))
        return now + 1

    now = 0.0
    for k_tile in range(stages - 1 + behind):
        copy(k_tile, now)
    now = load(0, 0, arrived[0])
    for k_tile in range(k_tiles):
        load(k_tile, 1, now)
        now = math(k_tile, 0, now)
        if not behind:
            copy(k_tile + stages - 1, now)
        now = max(now, arrived[k_tile + 1])
        if behind:
            copy(k_tile + stages, now)
        if k_tile + 1 < k_tiles:
            load(k_tile + 1, 0, now)
        now = math(k_tile, 1, now)
    return bars


LOOKS = ((style.VERMILLION, "o", 6), (style.GREEN, "s", -14), (style.BLUE, "^", 6), (style.TEXT, "x", None))
"""Of a curve: colour, mark, and how far its numbers stand above it, in points; None: it has none."""


@style.styled
def curves(origin: str, lines: Mapping[str, Mapping[int, float | None]]):
    """Speed over the number of slots, one slot = 1; a line for each {name: {slots: times as fast, None: no record}}.
    The last one is a table that others print, and dashed."""
    figure, words = style.new_figure(4.2), []
    ax = style.axes(figure)
    *_, printed = lines.values()
    for (name, values), (colour, mark, above) in zip(lines.items(), LOOKS):
        known = {slots: value for slots, value in values.items() if value}
        if len(known) < 2:
            continue
        ax.plot(list(known), list(known.values()), color=colour, marker=mark, markeredgecolor=style.TEXT,
                linestyle="-" if above else "--", linewidth=1.4 if above else 0.9)  # fmt: skip
        end = max(known)
        # beside the last number
        ax.annotate(
            name, (end, known[end]), (16, max(above or 0, 0) / 2), textcoords="offset points", va="center"
        )
        for slots, value in known.items():
            if above and slots > 1:
                hidden = 0 <= (printed.get(slots) or 0) - value < 0.1  # by the printed line's mark
                ax.annotate(f"{value:.2f}", (slots, value), (0, -14 if hidden else above),
                            textcoords="offset points", ha="center", fontsize=7.5)  # fmt: skip
        said = (f"{slots} slot{'s' * (slots > 1)} {value:.2f}" for slots, value in known.items())
        words.append(f"{name}: {', '.join(said)}")
    ax.set(xlim=(0.8, 6.3), ylim=(0, None), xticks=range(1, 6), xlabel="slots in the ring",
           ylabel="speed, one slot = 1", title=origin)  # fmt: skip
    ax.grid(axis="y")
    return figure, f"Speed over the number of slots, {origin}. {'; '.join(words)}."


@style.styled
def budget(needs: Mapping[str, int], line: int):
    """What one k-step needs of each resource when it has it alone, in SM clocks: a bar each, to one scale. A line
    across all bars at `line`, what the tensor cores need."""
    figure, words = style.new_figure(0.9 + 0.42 * len(needs)), []
    ax = style.axes(figure)
    for row, (name, need) in enumerate(needs.items()):
        ax.barh(row, need, 0.62, color=style.SKY, edgecolor=style.TEXT, linewidth=0.6)
        ax.text(need + 6, row, str(need), va="center", bbox=style.on(style.FACE, 1))
        words.append(f"{name} {need}")
    ax.axvline(line, color=style.VERMILLION, linewidth=1.6, linestyle="--", zorder=0)
    shortest = min(range(len(needs)), key=[*needs.values()].__getitem__)
    ax.text(line - 6, shortest, f"{line}: the tensor cores' own time", ha="right", va="center", fontsize=8)
    ax.set_yticks(range(len(needs)), list(needs))
    ax.set(ylim=(len(needs) - 0.5, -0.5), xlim=(0, 1.2 * line), xlabel="SM clocks for one k-step of a block")
    return figure, f"One k-step of a block, in SM clocks: {'; '.join(words)}. A line at {line}."
