"""The figures of lesson 09."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cupy_or_sim import style

if TYPE_CHECKING:
    from matplotlib.patches import Rectangle


@style.styled
def divided():
    """A program, divided by nvcc: the host's part runs as it is, and its calls of CUDA go to the simulator."""
    figure = style.new_figure(2.6)
    axes = style.axes(figure)
    boxes = {
        (0, 0.2, 21, 3.7): (style.FACE, ""),
        (1.2, 2.3, 18.6, 1.0): (style.SKY, "kernels"),
        (1.2, 0.5, 18.6, 1.2): (style.ORANGE, "main, streams,\nits own check"),
        (36, 2.3, 24, 1.0): (style.SKY, "the simulator\nruns the PTX of each launch"),
        (36, 0.5, 24, 1.2): (style.ORANGE, "a process of this machine\nruns all else as it is"),
    }
    for (x, y, width, height), (colour, words) in boxes.items():
        axes.add_patch(_box(x, y, width, height, facecolor=colour))
        axes.text(
            x + width / 2, y + height / 2, words, ha="center", va="center", fontsize=8.5, color=style.INK
        )
    axes.text(10.5, 3.6, "softmax.cu", ha="center", va="center", fontsize=9, family="monospace")
    arrow = {"arrowstyle": "-|>", "color": style.TEXT, "linewidth": 1.4}
    for y, compiler in ((2.8, "nvcc"), (1.1, "nvcc, g++")):
        axes.annotate("", (35.6, y), (20.2, y), arrowprops=arrow)
        axes.text(28, y + 0.12, compiler, ha="center", fontsize=8.5)
    axes.annotate("", (48, 2.28), (48, 1.72), arrowprops={**arrow, "arrowstyle": "<|-|>"})
    axes.text(49.2, 2.0, "each call of CUDA", va="center", fontsize=7.5)
    for y, words in ((2.8, "the report, of\nlaunches and calls"), (1.1, "PASS, or FAIL")):
        axes.annotate("", (69, y), (60.4, y), arrowprops=arrow)
        axes.text(69.8, y, words, va="center", fontsize=9)
    axes.set(xlim=(-0.5, 84), ylim=(0, 4.1))
    axes.axis("off")
    return figure, (
        "softmax.cu, divided in two. Its kernels go through nvcc to the simulator, which runs the PTX of each launch "
        "and gives the report, of launches and of calls. Its main, its streams and its own check go through nvcc and "
        "g++ to a process of this machine, which runs them as they are and prints PASS or FAIL. Between the two: each "
        "call of CUDA."
    )


@style.styled
def streams():
    """Two matrices in two streams: with nothing between these, and with an event behind each copy."""
    figure = style.new_figure(2.7)
    axes = style.axes(figure)
    copies = [(0, 10, "C0"), (10, 10, "C1")]
    for bottom, words, first in (
        (5.2, "as it was: K0 may begin too soon", 6),
        (0.6, "with an event behind each copy", 10),
    ):
        axes.text(0, bottom + 3.15, words, fontsize=9, weight="bold")
        _row(axes, bottom + 1.6, "copies", copies, style.SKY)
        math = [(first, 13, "K0"), (first + 13, 5, "R0"), (first + 18, 13, "K1"), (first + 31, 5, "R1")]
        _row(axes, bottom, "math", math, style.ORANGE)
    axes.add_patch(_box(6, 5.2, 4, hatch="////", facecolor="none"))
    axes.text(24, 7.4, "hatched: K0 reads what C0 has not brought yet", va="center", fontsize=8)
    arrow = {"arrowstyle": "-|>", "color": style.TEXT, "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0}
    for behind, begins in ((10, 10.4), (20, 28.2)):
        axes.annotate("", (begins, 1.8), (behind, 2.2), arrowprops=arrow)
    axes.text(
        24, 2.8, "arrows: the event is recorded here, and there math waits for it", va="center", fontsize=8
    )
    axes.set(xlim=(-6, 62), ylim=(0.3, 9.2))
    axes.axis("off")
    return figure, (
        "Two streams, drawn twice: in copies C0 and then C1, in math K0, R0, K1, R1. As it was, K0 may begin too soon, "
        "and reads what C0 has not brought yet. With an event behind each copy, for which math waits, K0 begins behind "
        "C0, and K1 behind C1; C1 is copied beside K0. The lengths are drawn, not measured."
    )


def _row(axes: style.Axes, y: float, name: str, pieces: list[tuple[int, int, str]], colour: str) -> None:
    axes.text(-0.8, y + 0.6, name, ha="right", va="center", fontsize=8.5, family="monospace")
    for x, width, label in pieces:
        axes.add_patch(_box(x, y, width, facecolor=colour))
        axes.text(x + width / 2, y + 0.6, label, ha="center", va="center", fontsize=8.5, color=style.INK)


def _box(x: float, y: float, width: float, height: float = 1.2, **look: Any) -> Rectangle:
    from matplotlib.patches import Rectangle

    return Rectangle((x, y), width, height, edgecolor=style.TEXT, linewidth=0.8, **look)
