"""The figure of lesson 09."""

from __future__ import annotations

from cupy_or_sim import style


@style.styled
def divided():
    """A program, divided by nvcc: the host's part runs as it is, and its calls of CUDA go to the simulator."""
    from matplotlib.patches import Rectangle

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
        axes.add_patch(
            Rectangle((x, y), width, height, facecolor=colour, edgecolor=style.TEXT, linewidth=0.8)
        )
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
