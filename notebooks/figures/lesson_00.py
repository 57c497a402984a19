"""Figures of lesson 00."""

from cupy_or_sim import style
from ptxsim.gpus import WARP


@style.styled
def stray_threads(elements: int = 100, threads: int = 128):
    """A block of more threads than there are elements, and nothing that holds the others back: a row for each warp."""
    warps = threads // WARP
    figure = style.new_figure(0.55 + 0.34 * warps)
    axes = style.axes(figure)
    for thread in range(threads):
        stray = thread >= elements
        look: dict = {"facecolor": style.VERMILLION, "hatch": "/////"} if stray else {"facecolor": style.SKY}
        style.box(axes, thread % WARP, thread // WARP, **look)
        if not stray:
            style.label(axes, thread % WARP + 0.5, thread // WARP + 0.55, "✓", 7, color=style.INK)
    for warp in range(warps):
        axes.text(-0.5, warp + 0.5, f"threads {WARP * warp} to {WARP * warp + WARP - 1}", fontsize=7.5,
                  ha="right", va="center")  # fmt: skip
    strays = threads - elements
    axes.text(WARP + 0.7, 0.6 * warps / 2, f"✓ {elements} threads:\ny[i] is right", fontsize=8.5, va="center")
    lines = f"hatched: {strays} threads wrote, too.", "That memory is not ours.", "The report: out-of-bounds,"
    text = "\n".join((*lines, f"thread {elements} of block 0"))
    style.label(axes, WARP + 0.7, 0.72 * warps, text, 8.5, ha="left")
    axes.set(xlim=(-7.2, WARP + 12.5), ylim=(warps + 0.15, -0.15))
    axes.axis("off")
    return figure, (
        f"{threads} threads in {warps} rows of {WARP}. {elements} of them are ticked: y[i] is right. The last "
        f"{strays} are hatched: they wrote too, and that memory is not ours. The report: out-of-bounds, thread "
        f"{elements} of block 0."
    )


@style.styled
def grid(blocks: int = 3, threads: int = 64):
    """A grid: its blocks and their warps, and the elements that they work on."""
    figure = style.new_figure(2.1)
    axes = style.axes(figure)
    words = []
    for block in range(blocks):
        left = 34 * block
        for warp in range(threads // WARP):
            colour, hatch = ((style.SKY, ""), (style.ORANGE, "///"))[warp % 2]
            low = 1.2 - warp
            style.box(axes, left, low, 32, 0.8, facecolor=colour, hatch=hatch, linewidth=0.6)
            text = f"warp {warp}: threads {WARP * warp} to {WARP * warp + WARP - 1}"
            style.label(axes, left + 16, low + 0.4, text, color=style.INK, bbox=style.on(colour, 1))
        elements = f"elements {threads * block} to {threads * (block + 1) - 1}"
        axes.text(left + 16, 2.25, f"blockIdx.x = {block}", ha="center", fontsize=9)
        axes.text(left + 16, -0.25, elements, ha="center", fontsize=8.5)
        words.append(f"block {block} works on {elements}")
    axes.set(xlim=(-1, 34 * blocks), ylim=(-0.6, 2.7))
    axes.set_title(f"{blocks} blocks of {threads} threads: element i = blockIdx.x * blockDim.x + threadIdx.x")
    axes.axis("off")
    return figure, (
        f"{blocks} blocks of {threads} threads side by side, each with {threads // WARP} warps of {WARP} threads. "
        f"Element i = blockIdx.x * blockDim.x + threadIdx.x: {', '.join(words)}."
    )
