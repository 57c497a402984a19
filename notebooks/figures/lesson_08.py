"""The figures of lesson 08."""

from collections.abc import Iterable, Mapping

from course_lib.timelines.events import Event
from course_lib.timelines.timeline import Timeline
from cupy_or_sim import style


@style.styled
def one_tile(name: str, stretches: Mapping[str, int], k_tiles: int, math: int = 1024):
    """A block's time for one tile, to scale: the math of all k-tiles in the middle, and what lies around it."""
    figure = style.new_figure(1.8)
    ax = style.axes(figure)
    colours = {"first copy": style.SKY, "k-tiles": style.GREEN, "C": style.PURPLE}
    total, begin = sum(stretches.values()), 0
    for what, cycles in stretches.items():
        if what == "k-tiles":
            text, above, hatch, ink = f"{k_tiles} turns of {cycles // k_tiles:,}", 0, "", style.INK
        else:
            text, above, ink = f"{what}\n{cycles:,} cycles", 38, style.TEXT
            hatch = "///" if what == "first copy" else "\\\\\\"
        look = {"color": colours[what], "edgecolor": style.TEXT, "linewidth": 0.6, "hatch": hatch}
        ax.barh(0, cycles, 0.5, begin, **look)
        look = {"color": ink, "fontsize": 8, "ha": "center" if begin else "left", "va": "center"}
        ax.annotate(text, (begin + cycles / 2, 0), (0, above), textcoords="offset points", **look)
        begin += cycles
    share = k_tiles * math / total
    ax.set(xlim=(0, total), ylim=(-0.35, 0.95), yticks=[])
    ax.set_xlabel(f"SM clocks of a block; its tensor cores work in {share:.0%}")
    ax.spines["left"].set_visible(False)
    each = {what: f"{what} {cycles:,}" for what, cycles in stretches.items()}
    each["k-tiles"] = f"{k_tiles} k-tiles of {stretches['k-tiles'] / k_tiles:,.0f}"
    said = ", ".join(each.values())
    return figure, (
        f"One tile of {name}, to scale, in SM clocks: {said}. Math alone needs {k_tiles} x {math:,}, "
        f"which is {100 * share:.0f} % of them."
    )


@style.styled
def cluster():
    """Two blocks, a slot of each, and its barriers: where bytes land, and who arrives where."""
    figure = style.new_figure(3.7)
    ax = style.axes(figure)
    touching = {"linewidth": 1.4, "shrinkA": 0, "shrinkB": 0}

    def box(x, y, width, height, text, colour):
        style.box(ax, x, y, width, height, facecolor=colour, linewidth=0.8)
        ink = style.TEXT if colour == style.FACE else style.INK
        style.label(ax, x + width / 2, y + height / 2, text, 7.5, color=ink)

    for block, x in ((0, 0.0), (1, 9.0)):
        box(x, 1.6, 2.0, 1.1, f"A, rows of\nblock {block}: 16 KB", style.ORANGE)
        box(x + 2.1, 1.6, 2.0, 1.1, "producer 0's\nB: 16 KB", style.SKY)
        box(x + 4.2, 1.6, 2.0, 1.1, "producer 1's\nB: 16 KB", style.SKY)
        ax.plot([x, x + 6.2], [2.78, 2.78], color=style.TEXT, linewidth=1.4)
        ax.text(x + 0.5, 3.05, f"all bytes of a slot of block {block}", fontsize=8, va="center")
        style.arrow(ax, (x + 0.3, 2.78), (x + 0.3, 3.3), style.TEXT, **touching)
        box(x, 3.3, 2.9, 0.9, "full: 48 KB", style.FACE)
        box(x + 3.3, 3.3, 2.9, 0.9, "empty: 4 arrivals", style.FACE)
        box(x, 0.1, 2.6, 0.7, f"producer {block}", style.FACE)
        for consumer in 0, 1:
            box(x + 0.3 + 3.0 * consumer, 5.2, 2.6, 0.8, f"consumer {consumer} of {block}", style.GREEN)
            for other in 0.0, 9.0:
                begin, end = (x + 1.6 + 3.0 * consumer, 5.2), (other + 4.75, 4.2)
                style.arrow(ax, begin, end, style.GREEN, **touching | {"linewidth": 0.9})
    for x, to in ((1.3, (3.1, 12.1)), (10.3, (5.2, 14.2))):
        for at in to:
            style.arrow(ax, (x, 0.8), (at, 1.6), style.BLUE, **touching)
    for x in 0.0, 9.0:
        style.arrow(ax, (x + 0.6, 0.8), (x + 0.6, 1.6), style.ORANGE, **touching)
    ax.set(xlim=(-0.2, 15.4), ylim=(6.2, -0.1))
    ax.axis("off")
    return figure, (
        "Two blocks of a cluster with one slot each. Producer 0 loads block 0's rows of A and one half "
        "of B, which lands in both blocks; producer 1 loads block 1's rows of A and the other half of B, "
        "for both. The full barrier of each block counts the 48 KB that land there. Each of the four "
        "consumers arrives at the empty barriers of both blocks: four arrivals at each."
    )


MATH, STORES, TO_SHARED = 8.0, 1.6, 0.8
"""Lengths of the sketch of two epilogues. The first two are as 64 x 1,024 cycles to a pause of `cluster`; the third is
not to scale, because how short it is is the reader's to predict: its edges are dashed."""


@style.styled
def epilogues(pause: str = "a pause", shorter: str = "short"):
    """Two tiles, stored by the threads and by the copy engine. A sketch; `pause`, `shorter`: what is written at the
    tensor cores' rest."""
    figure = style.new_figure(3.5)
    looks = {
        "math": (style.GREEN, ""),
        "stores": (style.PURPLE, "\\\\\\"),
        "write": (style.PURPLE, ""),
        "copy": (style.PURPLE, "///"),
    }
    behind = MATH + TO_SHARED
    panels = {
        "cluster: the threads write C, and the tensor cores wait": (
            STORES,
            pause,
            [(1, begin, STORES, "to C", "stores") for begin in (MATH, 2 * MATH + STORES)],
        ),
        f"complete: the copy engine writes C behind the next tile's math ({shorter}: not to scale)": (
            TO_SHARED,
            shorter,
            [
                (1, MATH, TO_SHARED, "", "write"),
                (2, behind, STORES, "tile 0", "copy"),
                (1, behind + MATH, TO_SHARED, "", "write"),
                (2, 2 * behind, STORES, "tile 1", "copy"),
            ],
        ),
    }
    for ax, (title, (rest, said, bars)) in zip(figure.subplots(2, 1, sharex=True), panels.items()):
        math = [(0, 0, MATH, "math of tile 0", "math"), (0, MATH + rest, MATH, "math of tile 1", "math")]
        for row, begin, length, label, kind in [*math, *bars]:
            colour, hatch = looks[kind]
            edge = {"linestyle": "--", "linewidth": 1.0} if kind == "write" else {"linewidth": 0.5}
            style.box(ax, begin, row + 0.1, length, 0.8, facecolor=colour, hatch=hatch, **edge)
            if label:
                ground = style.GREEN if kind == "math" else style.FACE
                style.label(ax, begin + length / 2, row + 0.52, label, ground=ground)
        style.label(ax, MATH + rest / 2, 0.52, said.replace(" ", "\n"))
        ax.set(xlim=(0, 2 * MATH + 2 * STORES + 0.1), ylim=(3, 0), xticks=[])
        ax.set_yticks([0.5, 1.5, 2.5], ["tensor cores", "consumers' threads", "copy engine: C"])
        ax.set_title(title, fontsize=9)
    look = {"arrowstyle": "->", "color": style.TEXT}
    end, text_at = (MATH + TO_SHARED / 2, 1.9), (MATH - 4.3, 2.55)
    ax.annotate("sums → shared memory", end, text_at, fontsize=8, arrowprops=look)
    ax.set_xlabel("time →      (math and the first pause to scale)", fontsize=8)
    return figure, (
        f"Two schedules of two tiles. In cluster the tensor cores rest after each tile ({pause}) until the "
        "consumers' threads have stored it to C. In complete the threads only write their sums into shared "
        f"memory ({shorter}, not drawn to scale); then the math of tile 1 begins, and the copy engine writes tile 0 to "
        "C meanwhile."
    )


@style.styled
def way_out():
    """The way of a tile's two halves from registers through one buffer to C: who does what, and what it waits for. A
    sketch, not to scale."""
    figure = style.new_figure(3.2)
    ax = style.axes(figure)
    alone, threads, engine = 0, 1, 2
    looks = {
        "wait": (style.ORANGE, "xx"),
        "out": (style.PURPLE, ""),
        "write": (style.PURPLE, "///"),
        "math": (style.GREEN, ""),
    }

    def bar(row, begin, end, text, kind):
        colour, hatch = looks[kind]
        style.box(ax, begin, row + 0.12, end - begin, 0.76, facecolor=colour, hatch=hatch, linewidth=0.5)
        style.label(ax, (begin + end) / 2, row + 0.5, text, 7, ground=style.FACE if hatch else colour)

    for half, begin in enumerate((0.0, 10.5)):
        bar(alone, begin, begin + 3.2, "wait_stores_\nread()", "wait")
        bar(threads, begin + 3.4, begin + 5.9, f"stmatrix:\nhalf {half}", "out")
        bar(threads, begin + 6.0, begin + 8.0, "fence_\nasync()", "out")
        bar(alone, begin + 8.2, begin + 10.4, "store_box,\ncommit", "out")
        bar(engine, begin + 9.4, begin + 13.2, f"reads half {half}", "out")
        bar(engine, begin + 13.2, begin + 16.0, "writes C", "write")
        for barrier in (begin + 3.3, begin + 8.1):
            ax.plot([barrier, barrier], [0.02, 1.98], color=style.TEXT, linewidth=1.6)
            ax.text(barrier, -0.08, "barrier", fontsize=8, ha="center", va="bottom")
    bar(threads, 21.0, 28.0, "math of the next tile", "math")
    style.arrow(ax, (13.2, 2.12), (13.55, 0.88), shrinkA=0, shrinkB=0)
    ax.set(xlim=(0, 28), ylim=(3, -0.45), xticks=[])
    ax.set_yticks([0.5, 1.5, 2.5], ["thread 0", "all 128 threads", "copy engine"])
    ax.set_xlabel("time →      (a sketch, not to scale)", fontsize=8)
    return figure, (
        "The way out of one warpgroup, a sketch. For each half: thread 0 waits until the copy engine has read the "
        "buffer; barrier; all 128 threads write by stmatrix, and fence_async; barrier; thread 0 starts the stores and "
        "commits. The copy engine reads half 0, which ends thread 0's second wait, and then writes it to C. It reads "
        "and writes half 1 while the threads are at the math of the next tile."
    )


PRODUCTS, OUT = "products", "C"
MARKED = {"math": PRODUCTS, "epilogue": OUT}
"""What a consumer is at, by the phases of a timeline."""
Stretch = tuple[str, float, float]
"""(what a consumer is at, begin, end)"""


@style.styled
def in_turn(together: Timeline, turns: Timeline):
    """Two consumers that multiply together, where two tiles meet; and two in turn, where the first one's tile ends;
    below them the tensor cores. Models, both on one scale."""
    seam = together.parts["seam"]
    panels = {f"together: {together.title}": seam, f"in turn: {turns.title}": turns.parts["end"]}
    figure, said = style.new_figure(3.9), []
    for ax, (title, part) in zip(figure.subplots(2, 1, sharex=True), panels.items()):
        told = []
        for row, mine in enumerate(_consumers(part.events)):
            shown = [(what, *_inside(begin, end, seam.length)) for what, begin, end in mine]
            for what, begin, end in shown:
                colour = style.GREEN if what == PRODUCTS else style.PURPLE
                style.box(ax, begin, row + 0.1, end - begin, 0.8, facecolor=colour, linewidth=0.5)
                if end - begin > 0.08 * seam.length:
                    style.label(ax, (begin + end) / 2, row + 0.52, what, ground=colour)
            told.append(f"consumer {row} " + _told(each for each in shown if each[2] > each[1]))
        works = [_inside(begin, end, seam.length) for begin, end in part.spans["tensor cores"]]
        for begin, end in works:
            style.box(ax, begin, 2.25, end - begin, 0.5, facecolor=style.TEXT, linewidth=0)
        told.append("tensor cores " + _told(("at work", *each) for each in works if each[1] > each[0]))
        ax.set(xlim=(0, seam.length), ylim=(3, 0))
        ax.set_yticks([0.5, 1.5, 2.5], ["consumer 0", "consumer 1", "tensor cores"])
        ax.set_title(f"{title}, model of an {turns.gpu}", fontsize=9)
        said.append(f"{title}: {'; '.join(told)}")
    ax.set_xlabel("SM clocks", fontsize=8)
    return figure, f"What two consumers do, in SM clocks; models of an {turns.gpu}. {'. '.join(said)}."


def _inside(begin: float, end: float, length: float) -> tuple[float, float]:
    return min(max(begin, 0), length), min(end, length)


def _told(stretches: Iterable[Stretch]) -> str:
    return ", ".join(f"{what} {begin:,.0f} to {end:,.0f}" for what, begin, end in stretches)


def _consumers(events: Iterable[Event]) -> list[list[Stretch]]:
    """Phases of warps as the stretches of two consumers, each by the first of its warps that is there. Products end
    where their results begin to leave."""
    found: dict[int, dict[int, list[Stretch]]] = {0: {}, 1: {}}
    for event in sorted(events, key=lambda event: event.begin):
        what, begin, end = MARKED.get(event.phase), event.begin, event.end
        if event.warp < 4 or what is None:
            continue
        mine = found[event.warp // 4 - 1].setdefault(event.warp, [])
        if mine and (mine[-1][0] == what or what == OUT):
            mine[-1] = *mine[-1][:2], end if mine[-1][0] == what else begin
        if not mine or mine[-1][0] != what:
            mine.append((what, begin, end))
    return [warps[min(warps)] for warps in found.values()]
