"""The figures of lesson 08."""

from collections.abc import Mapping

from cupy_or_sim import style


@style.styled
def one_tile(name: str, stretches: Mapping[str, int], k_tiles: int, math: int = 1024):
    """A block's time for one tile, to scale: the math of all k-tiles in the middle, and what lies around it."""
    figure = style.new_figure(1.8)
    ax = style.axes(figure)
    colours = {"first copy": style.SKY, "k-tiles": style.GREEN, "C": style.ORANGE}
    texts = {
        "first copy": "first copy",
        "k-tiles": f"{k_tiles} turns of {stretches['k-tiles'] // k_tiles:,}",
        "C": "C",
    }
    total, begin = sum(stretches.values()), 0
    for what, cycles in stretches.items():
        ax.barh(
            0,
            cycles,
            0.5,
            begin,
            color=colours[what],
            edgecolor=style.TEXT,
            linewidth=0.6,
            hatch="" if what == "k-tiles" else "///",
        )
        inside = what == "k-tiles"
        ax.annotate(
            f"{texts[what]}\n{cycles:,} cycles" if not inside else texts[what],
            (begin + cycles / 2, 0),
            (0, 0 if inside else 38),
            textcoords="offset points",
            ha="left" if begin == 0 else "center",
            va="center",
            fontsize=8,
            color=style.INK if inside else style.TEXT,
        )
        begin += cycles
    share = k_tiles * math / total
    ax.set(
        xlim=(0, total),
        ylim=(-0.35, 0.95),
        yticks=[],
        xlabel=f"SM clocks of a block; its tensor cores work in {share:.0%}",
    )
    ax.spines["left"].set_visible(False)
    said = ", ".join(f"{what} {cycles:,}" for what, cycles in stretches.items())
    return figure, (
        f"One tile of {name}, to scale, in SM clocks: {said}. Math alone needs {k_tiles} x {math:,} = "
        f"{k_tiles * math:,}, which is {100 * share:.0f} % of them."
    )


@style.styled
def cluster():
    """Two blocks, a slot of each, and its barriers: where bytes land, and who arrives where."""
    from matplotlib.patches import Rectangle

    figure = style.new_figure(3.7)
    ax = style.axes(figure)
    arrow = {"arrowstyle": "-|>", "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0}

    def box(x, y, width, height, text, colour, **how):
        ax.add_patch(Rectangle((x, y), width, height, facecolor=colour, edgecolor=style.TEXT, linewidth=0.8))
        plain = colour == style.FACE
        ax.text(
            x + width / 2,
            y + height / 2,
            text,
            ha="center",
            va="center",
            fontsize=7.5,
            color=style.TEXT if plain else style.INK,
            **how,
        )

    for block, x in ((0, 0.0), (1, 9.0)):
        box(x, 1.6, 2.0, 1.1, f"A, rows of\nblock {block}: 16 KB", style.ORANGE)
        box(x + 2.1, 1.6, 2.0, 1.1, "producer 0's\nB: 16 KB", style.SKY)
        box(x + 4.2, 1.6, 2.0, 1.1, "producer 1's\nB: 16 KB", style.SKY)
        ax.text(x, 2.8, f"a slot of block {block}", fontsize=8, va="top")
        box(x, 3.2, 2.9, 0.9, "full: 48 KB", style.FACE)
        box(x + 3.3, 3.2, 2.9, 0.9, "empty: 4 arrivals", style.FACE)
        box(x, 0.1, 2.6, 0.7, f"producer {block}", style.FACE)
        for consumer in 0, 1:
            box(x + 0.3 + 3.0 * consumer, 5.2, 2.6, 0.8, f"consumer {consumer} of {block}", style.GREEN)
            for other in 0.0, 9.0:
                ax.annotate(
                    "",
                    (other + 4.75, 4.1),
                    (x + 1.6 + 3.0 * consumer, 5.2),
                    arrowprops=arrow | {"color": style.GREEN, "linewidth": 0.9},
                )
    for x, to in ((1.3, (3.1, 12.1)), (10.3, (5.2, 14.2))):
        for at in to:
            ax.annotate("", (at, 1.6), (x, 0.8), arrowprops=arrow | {"color": style.BLUE})
    for x in 0.0, 9.0:
        ax.annotate("", (x + 0.6, 1.6), (x + 0.6, 0.8), arrowprops=arrow | {"color": style.ORANGE})
    ax.set(xlim=(-0.2, 15.4), ylim=(6.2, -0.1))
    ax.axis("off")
    return figure, (
        "Two blocks of a cluster with one slot each. Producer 0 loads block 0's rows of A and one half "
        "of B, which lands in both blocks; producer 1 loads block 1's rows of A and the other half of B, "
        "for both. The full barrier of each block counts the 48 KB that land there. Each of the four "
        "consumers arrives at the empty barriers of both blocks: four arrivals at each."
    )


MATH, STORES, TO_SHARED = 4.0, 1.6, 0.6
"""Lengths of the sketch of two epilogues, not measured."""


@style.styled
def epilogues(pause: str = "a pause", shorter: str = "short"):
    """Two tiles, stored by the threads and by the copy engine. A sketch; `pause`, `shorter`: what is written at the
    tensor cores' rest."""
    from matplotlib.patches import Rectangle

    figure = style.new_figure(3.5)
    looks = {
        "math": (style.GREEN, ""),
        "stores": (style.VERMILLION, "xx"),
        "write": (style.ORANGE, ""),
        "copy": (style.SKY, "///"),
    }
    behind = MATH + TO_SHARED
    panels = {
        "cluster: the threads write C, and the tensor cores wait": (
            STORES,
            pause,
            [
                (1, MATH, STORES, "store to C", "stores"),
                (1, 2 * MATH + STORES, STORES, "store to C", "stores"),
            ],
        ),
        "complete: the copy engine writes C behind the next tile's math": (
            TO_SHARED,
            shorter,
            [
                (1, MATH, TO_SHARED, "", "write"),
                (2, behind, STORES, "write tile 0", "copy"),
                (1, behind + MATH, TO_SHARED, "", "write"),
                (2, 2 * behind, STORES, "write tile 1", "copy"),
            ],
        ),
    }
    for ax, (title, (rest, said, bars)) in zip(figure.subplots(2, 1, sharex=True), panels.items()):
        math = [(0, 0, MATH, "math of tile 0", "math"), (0, MATH + rest, MATH, "math of tile 1", "math")]
        for row, begin, length, label, kind in [*math, *bars]:
            colour, hatch = looks[kind]
            ax.add_patch(
                Rectangle(
                    (begin, row + 0.1),
                    length,
                    0.8,
                    facecolor=colour,
                    edgecolor=style.TEXT,
                    linewidth=0.5,
                    hatch=hatch,
                )
            )
            if label:
                ground = {
                    "facecolor": style.GREEN if kind == "math" else style.FACE,
                    "edgecolor": "none",
                    "pad": 0.8,
                }
                ax.text(
                    begin + length / 2,
                    row + 0.52,
                    label,
                    ha="center",
                    va="center",
                    fontsize=8,
                    bbox=ground,
                    color=style.INK if kind == "math" else style.TEXT,
                )
        ax.text(MATH + rest / 2, 0.52, said, ha="center", va="center", fontsize=8)
        ax.set(xlim=(0, 2 * MATH + 2 * STORES + 0.1), ylim=(3, 0), xticks=[])
        ax.set_yticks([0.5, 1.5, 2.5], ["tensor cores", "consumers' threads", "copy engine: C"])
        ax.set_title(title, fontsize=9)
    ax.annotate(
        "sums → shared memory",
        (MATH + TO_SHARED / 2, 1.9),
        (MATH - 2.6, 2.55),
        fontsize=8,
        arrowprops={"arrowstyle": "->", "color": style.TEXT},
    )
    ax.set_xlabel("time →      (not to scale)", fontsize=8)
    return figure, (
        f"Two schedules of two tiles. In cluster the tensor cores rest after each tile ({pause}) until the "
        "consumers' threads have stored it to C. In complete the threads only write their sums into shared "
        f"memory ({shorter}); then the math of tile 1 begins, and the copy engine writes tile 0 to C meanwhile."
    )
