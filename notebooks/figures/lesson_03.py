"""The figures of lesson 03."""

from collections.abc import Mapping
from typing import Protocol

from cupy_or_sim import style


class InCycles(Protocol):
    """A k-block of one warp, in cycles of an SM: of its FMA units, its schedulers, its shared memory; the longest."""

    @property
    def fma_cycles(self) -> float: ...

    @property
    def start_cycles(self) -> float: ...

    @property
    def shared_cycles(self) -> int: ...

    @property
    def limit(self) -> float: ...


COPY, MATH = 3, 4  # lengths of the phases in the sketches
WORK = 8 * 512 / 4  # cycles of an SM's FMA units for a turn of this lesson's blocks
LOOKS = {
    "copy": {"facecolor": style.SKY, "hatch": "\\\\"},
    "math": {"facecolor": style.GREEN},
    "start": {"facecolor": style.PURPLE},
    "load": {"facecolor": style.ORANGE, "hatch": "\\\\"},
    "free": {"facecolor": "none", "linestyle": ":"},
    "full": {"facecolor": "none"},
}


@style.styled
def life_of_a_buffer() -> style.Drawing:
    """One buffer, filled and read in turn; below it two that change places."""
    figure = style.new_figure(3.4)
    axes = style.axes(figure)
    turn = COPY + MATH
    for k_tile in range(2):
        begin = turn * k_tile
        _bar(axes, "copy", begin, 0, COPY, f"filled: {k_tile}")
        _bar(axes, "math", begin + COPY, 0, MATH, f"read: {k_tile}")
        _barrier(axes, begin + COPY, -0.5, 0.5, f"{k_tile} is complete", -0.62)
        _barrier(axes, begin + turn, -0.5, 0.5, f"all have read {k_tile}", -0.62)
    top = 2.2
    _bar(axes, "copy", 0, top, COPY, "filled: 0")
    _bar(axes, "math", COPY, top, MATH, "read: 0")
    _bar(axes, "copy", turn, top, COPY, "filled: 2")
    _bar(axes, "full", turn + COPY, top, 1, "")
    _bar(axes, "free", 0, top + 1, COPY, "free")
    _bar(axes, "copy", COPY, top + 1, COPY, "filled: 1")
    _bar(axes, "full", 2 * COPY, top + 1, MATH - COPY, "")
    _bar(axes, "math", turn, top + 1, MATH, "read: 1")
    for k_tile, text in enumerate(
        ("0 is complete", "1 is complete,\n0 is free", "2 is complete,\n1 is free")
    ):
        _barrier(axes, COPY + MATH * k_tile, top - 0.5, top + 1.5, text, top - 0.62)
    for row, label in (0, "one buffer"), (top, "buffer 0"), (top + 1, "buffer 1"):
        axes.text(-0.3, row, label, ha="right", va="center")
    axes.text(14.3, 0, "and so on", va="center")
    axes.text(11.3, top + 0.5, "and so on", va="center")
    axes.text(0, top + 2, "A number is a k-tile. Red lines: barriers. Empty: it has landed and waits. Not to scale.",
              va="center", fontsize=8)  # fmt: skip
    axes.set(xlim=(-2.2, 16.5), ylim=(top + 2.3, -1.5))
    axes.axis("off")
    return figure, (
        "The life of a buffer. Above, one buffer: filled with k-tile 0, a barrier (0 is complete), read, a second "
        "barrier (all have read 0); only then it is filled with k-tile 1. Below, two buffers: while buffer 0 is read, "
        "buffer 1 is filled with k-tile 1. Then comes one barrier, and it says two things: 1 is complete, and 0 is "
        "free. Now buffer 1 is read, and k-tile 2 goes to buffer 0. Not to scale."
    )


@style.styled
def when_it_pays(turn: int | None, measured: Mapping[int, float | None]) -> style.Drawing:
    """What a second buffer gains by the model, for blocks on an SM and idle / work: cycles of a turn
    with one buffer in which the FMA units stand, and those of their work.

    `turn`: cycles of a turn of the kernel with one buffer, alone on an SM; `measured`: blocks -> its gain. None: no
    record."""
    here = round(turn / WORK - 1, 1) if turn else None
    columns = sorted({0.25, 0.5, 1.0, 2.0, 4.0} | ({here} if here else set()))
    figure = style.new_figure(2.9)
    axes = style.axes(figure)
    words = []
    for row, blocks in enumerate((1, 2, 3, 4)):
        for column, ratio in enumerate(columns):
            gain = max(blocks, ratio + 1) / max(blocks, ratio)
            known = measured.get(blocks) if ratio == here else None
            shade = min(gain - 1, 1.0)
            style.box(axes, column, row, facecolor=style.GREEN, alpha=0.08 + 0.6 * shade, linewidth=0)
            style.box(axes, column, row, facecolor="none", linewidth=2 if known else 0.5)
            text = f"{gain:.2f}" + (f"\nmeasured {known:.2f}" if known else "")
            size, weight = (8.5, "bold") if known else (9.5, "normal")
            style.label(axes, column + 0.5, row + 0.5, text, size, weight=weight)
            if known:
                words.append(
                    f"{blocks} block{'s' * (blocks > 1)}: {gain:.2f} by the model, measured {known:.2f}"
                )
    axes.set_xticks([at + 0.5 for at in range(len(columns))], [f"{ratio:g}" for ratio in columns])
    axes.set_yticks([0.5, 1.5, 2.5, 3.5], ["1", "2", "3", "4"])
    axes.tick_params(length=0)
    axes.set(xlim=(0, len(columns)), ylim=(4, 0), xlabel="idle / work of the FMA units, in a turn with one buffer",
             ylabel="blocks on an SM", title="What a second buffer gains (model)")  # fmt: skip
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    return figure, (
        "What a second buffer gains, by the model, for 1 to 4 blocks on an SM and for idle / work of the FMA units "
        "from 0.25 to 4: max(blocks, ratio + 1) / max(blocks, ratio). One block gains 1.25, 1.50, 2.00, 1.50, 1.25 at "
        "0.25, 0.5, 1, 2, 4; two blocks gain nothing up to 1; four blocks nothing up to 3. "
        f"This lesson's kernel, at {here or '?'}: {'; '.join(words) or 'no record'}."
    )


@style.styled
def k_blocks() -> style.Drawing:
    """Copies, loads of fragments and math of two k-tiles, with fragments one k-block ahead."""
    figure = style.new_figure(2.9)
    axes = style.axes(figure)
    blocks = 8
    for k_tile in range(2):
        for k in range(blocks):
            left = blocks * k_tile + k
            _bar(axes, "math", left, 2, 1, f"{k}")
            _bar(axes, "load", left + 0.08, 1, 0.45, f"{(k + 1) % blocks}", size=7)
        _bar(axes, "copy", blocks * k_tile + 0.5, 0, 5.2, f"k-tile {k_tile + 1} to buffer {(k_tile + 1) % 2}")
        last = blocks * (k_tile + 1) - 1
        words = "wait, barrier: the next k-block 0\nlies in the other buffer"
        _barrier(axes, last, -0.6, 2.5, words, -0.75)
        style.label(axes, blocks * k_tile + blocks / 2, 2.95, f"k-tile {k_tile}", 9)
        axes.plot(
            [blocks * k_tile + 0.1, blocks * (k_tile + 1) - 0.1], [2.6, 2.6], color=style.TEXT, linewidth=0.8
        )
    for row, label in enumerate(("copy: global\nto shared", "load: shared\nto registers", "math")):
        axes.text(-0.3, row, label, ha="right", va="center")
    axes.set(xlim=(-3.1, 17.3), ylim=(3.2, -1.7))
    axes.axis("off")
    return figure, (
        "Three rows over time, two k-tiles of eight k-blocks. Math: k-blocks 0 to 7 of each k-tile. Above each, the "
        "load of the next k-block's fragments, which is done early. Above that, one copy in each k-tile, issued in its "
        "first k-block: the next k-tile goes to the other buffer. Before the last k-block stand the wait and the "
        "barrier; the load after them takes k-block 0 of the next k-tile from the other buffer."
    )


@style.styled
def threads_4x16() -> style.Drawing:
    """Which results a warp and a thread have when a warp is a row of 32 lanes."""
    figure = style.new_figure(2.7)
    axes = style.axes(figure)
    x, y = 5, 2  # one thread
    style.box(axes, 0, 0, 128, 128, facecolor="none", linewidth=0.6)
    for column in range(y, 128, 8):
        style.box(axes, column - 0.5, 0, 2, 128, facecolor=style.SKY, edgecolor="none", linewidth=0.6)
        rows = [x + 32 * i + 0.5 for i in range(4)]
        axes.plot([column + 0.5] * 4, rows, "s", color=style.VERMILLION, markersize=3)
    for i in range(4):
        axes.text(-3, x + 32 * i, f"row {x + 32 * i}", ha="right", va="center", fontsize=8)
    for column in range(2, 128, 24):
        axes.text(column, 132, column, ha="center", va="top", fontsize=8)
    axes.text(64, 143, "column", ha="center", va="top", fontsize=8)
    lines = {
        14: "the tile of C, 128 x 128", 34: "bars: the results of warp 2", 46: "squares: those of lane 5, 4 x 16",
        72: "for one k-block a warp loads", 84: "A: 4 times 32 neighbouring floats",
        96: "B: 16 times one float for all lanes",
    }  # fmt: skip
    for height, line in lines.items():
        axes.text(150, height, line, va="center", fontsize=9.5)
    axes.set(xlim=(-40, 330), ylim=(158, -4), aspect="equal")
    axes.axis("off")
    return figure, (
        "The tile of C, 128 x 128. Warp 2 has the results of columns 2, 10, 18 and so on to 122, all rows. Its lane 5 "
        "has rows 5, 37, 69 and 101 of these sixteen columns: 64 results. For one k-block a warp loads A as 4 times 32 "
        "neighbouring floats, and B as 16 times one float for all lanes."
    )


@style.styled
def counts(kernels: Mapping[str, InCycles]) -> style.Drawing:
    """Cycles of an SM that one k-block of a warp takes: of its FMA units, its schedulers, its shared memory."""
    figure = style.new_figure(0.9 + 1.05 * len(kernels))
    axes = style.axes(figure)
    words, apart = [], 3.5
    for row, (name, one) in enumerate(kernels.items()):
        units = {
            "FMA units": (one.fma_cycles, "math"),
            "starts": (one.start_cycles, "start"),
            "shared memory": (one.shared_cycles, "load"),
        }
        for place, (unit, (cycles, kind)) in enumerate(units.items()):
            at = apart * row + place
            style.box(axes, 0, at - 0.4, cycles, 0.8, **LOOKS[kind], linewidth=0.6)
            axes.text(cycles + 0.3, at, f"{cycles:g}", va="center")
            axes.text(-0.3, at, unit, ha="right", va="center", fontsize=8)
        limit = " and ".join(unit for unit, (cycles, _) in units.items() if cycles == one.limit)
        axes.text(-4.2, apart * row + 1, name, ha="right", va="center", weight="bold")
        axes.text(one.limit + 2, apart * row + 1, f"the limit:\n{limit}", va="center")
        bars = ", ".join(f"{unit} {cycles:g}" for unit, (cycles, _) in units.items())
        words.append(f"{name}: {bars}; the limit: {limit}")
    axes.set(
        xlim=(-10, 31), ylim=(apart * len(kernels) - 0.7, -0.9), title="SM cycles for one k-block of one warp"
    )
    axes.axis("off")
    return figure, f"SM cycles for one k-block of one warp. {'. '.join(words)}."


def _bar(axes, kind: str, left: float, row: float, length: float, label: str, size: float = 8) -> None:
    style.box(axes, left, row - 0.36, length, 0.72, **LOOKS[kind], linewidth=0.6)
    ground = style.on(style.FACE) if "hatch" in LOOKS[kind] else None
    ink = style.INK if kind == "math" else style.TEXT
    style.label(axes, left + length / 2, row, label, size, color=ink, bbox=ground)


def _barrier(axes, at: float, top: float, bottom: float, text: str, height: float) -> None:
    axes.plot([at, at], [top, bottom], color=style.VERMILLION, linewidth=2)
    axes.text(at, height, text, ha="center", va="bottom", fontsize=7.5)
