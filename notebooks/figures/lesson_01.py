"""The figures of lesson 01: how often a number is used where it is, a warp's tile, the ladder of kernels."""

from collections.abc import Mapping
from functools import partial

from course_lib.measure.rows import marks, names
from cupy_or_sim import style
from ptxsim.gpus import GPUS

_box = partial(style.box, linewidth=0.6)
K = 4096
SHOWN, BLOCK, THREAD = 256, 128, 8
"""Rows and columns of C that are drawn, of a block, of a thread."""
FMAS = 4
"""FMA instructions that an SM starts in a cycle; and a wavefront of shared memory."""


@style.styled
def reuse():
    """C three times: one thread alone, a block that fetches into shared memory, a thread of it with registers."""
    figure = style.new_figure(4.2)
    left, middle, right = figure.subplots(1, 3)
    alone, shared = (_from_global(axes, size) for axes, size in ((left, 1), (middle, BLOCK)))
    registers = _from_shared(right)
    title = "Striped: fetched, of A at the left and of B.T above. Hatched: the results for which it is used"
    figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    return figure, (
        "Three squares, each a piece of C with a strip of A at its left and a strip of B.T above it. "
        f"One thread, one element: {alone} One block, {BLOCK} x {BLOCK} elements, in k-tiles: {shared} "
        f"One thread of that block, {THREAD} x {THREAD} elements, for one k: {registers}"
    )  # fmt: skip


def _from_global(axes, size: int) -> str:
    """`size` x `size` elements of C with their strips, in a piece of C to scale; what that fetches, in words."""
    strip, first = 48, SHOWN - BLOCK if size > 1 else SHOWN // 2
    _box(axes, 0, 0, SHOWN, SHOWN, fill=False)
    axes.text(6, 6, f"{SHOWN} x {SHOWN} of C", fontsize=7, va="top")
    dot = max(size, 4)  # one element of 256 would be too thin to be seen
    for step in range(3):
        _box(axes, -16 - strip * (step + 1), first, strip - 4, dot, facecolor=style.SKY, hatch="---")
        _box(axes, first, -16 - strip * (step + 1), dot, strip - 4, facecolor=style.GREEN, hatch="|||")
    _box(axes, first, first, dot, dot, facecolor=style.ORANGE, hatch="////")
    fetched, used = 2 * size * K, size * size * K
    if size == 1:
        title, into = "Each thread for itself", "from global memory"
    else:
        title, into = f"A block together, {size} x {size}", "from global to shared memory"
    return _labelled(
        axes, title, into, f"{fetched:,} numbers fetched", used, 2 * used // fetched, 1.25 * SHOWN
    )


def _from_shared(axes) -> str:
    """A thread's results in its block's tile, and what it loads for one k."""
    _box(axes, 0, 0, BLOCK, BLOCK, fill=False)
    axes.text(3, 3, f"the block's {BLOCK} x {BLOCK}", fontsize=7, va="top")
    first, side = BLOCK // 2, BLOCK // 16
    _box(axes, -2.5 * side, first, side, THREAD, facecolor=style.SKY, hatch="---")
    _box(axes, first, -2.5 * side, THREAD, side, facecolor=style.GREEN, hatch="|||")
    _box(axes, first, first, THREAD, THREAD, facecolor=style.ORANGE, hatch="////")
    return _labelled(
        axes, f"A thread of the block, {THREAD} x {THREAD}", "from shared memory to registers",
        f"{2 * THREAD} numbers loaded for one k", THREAD * THREAD, THREAD, 1.25 * BLOCK,
    )  # fmt: skip


def _labelled(axes, title: str, into: str, fetched: str, used: int, times: int, edge: float) -> str:
    each = "once" if times == 1 else f"{times} times"
    low = edge - 0.62 * edge * 1.25
    axes.set(xlim=(-low * 1.5, edge * 0.82), ylim=(edge * 0.82, -low * 1.5), aspect="equal")
    axes.axis("off")
    axes.set_title(f"{title},\n{into}", fontsize=9)
    words = f"{fetched}\n{used:,} multiply-adds:\neach number is used"
    axes.text(0.5, -0.02, words, transform=axes.transAxes, ha="center", va="top", fontsize=8)
    axes.text(0.5, -0.25, each, transform=axes.transAxes, ha="center", va="top", fontsize=12, weight="bold")
    return f"{fetched}, {used:,} multiply-adds, so each number is used {each}, {into}."


@style.styled
def warp_tile():
    """Which lane of a warp has which results in the kernel with 8 x 8 of them in a thread."""
    figure = style.new_figure(3.4)
    axes = style.axes(figure)
    for lane in range(32):
        look = {"facecolor": style.SKY, "alpha": 0.3} if lane else {"facecolor": style.ORANGE, "hatch": "//"}
        ground = None if lane else style.on(style.FACE, 1)
        for m in (lane % 8 * 4, lane % 8 * 4 + 32):
            for n in (lane // 8 * 4, lane // 8 * 4 + 16):
                _box(axes, m, n, 4, 4, **look)
                style.label(axes, m + 2, n + 2, lane, 7, bbox=ground)
    axes.set(xlim=(0, 64), ylim=(32, 0), xticks=range(0, 65, 16), yticks=range(0, 33, 8), aspect="equal")
    axes.set(xlabel="row m of the warp's tile", ylabel="column n of it")
    axes.set_title("A warp computes 64 x 32 elements. Lane 0 has the four hatched groups of 4 x 4.")
    return figure, (
        "The tile of a warp, 64 rows by 32 columns, in squares of 4 x 4 elements, each with the number of its lane. "
        "Eight lanes follow each other along m, four along n; the pattern of 32 x 16 repeats twice in both directions, "
        "so each lane has four squares."
    )


@style.styled
def ladder(results, ratios: Mapping[str, float]):
    """The measured rows of `results` (of `benchmark`), and what the count allows: `ratios`, by label, are FMAs for
    each wavefront; an SM can do FMAS. Rows without a ratio have bars only, and so have all on a GPU whose ceiling is
    not known."""
    rows = [row for row in results.rows if row.tflops]
    figure = style.new_figure(1.2 + 0.42 * len(rows))
    axes = style.axes(figure)
    if not rows:
        axes.axis("off")
        axes.set_title(f"{results.title}: nothing is measured")
        return figure, f"{results.title}: nothing is measured."
    known = next((gpu for gpu in GPUS.values() if rows[0].gpu in (gpu.name, gpu.driver_name)), None)
    peak, _ = known.ceilings.math.get(results.kind.partition(",")[0], (0, "")) if known else (0, "")
    edge = max(peak, *(row.tflops for row in rows))
    origin = "; ".join(f"{mark} {where}".strip() for where, mark in marks(rows).items())
    said = []
    for place, (name, row) in enumerate(zip(names(rows), rows)):
        count = ratios.get(row.label)
        look = {"color": style.GRID, "hatch": "///"} if row.gain is None and place else {"color": style.SKY}
        axes.barh(place, row.tflops, 0.62, edgecolor=style.TEXT, linewidth=0.5, **look)
        words, at = str(row), row.tflops
        if count and peak:
            at = min(count / FMAS, 1) * peak
            axes.plot([at, at], [place - 0.42, place + 0.42], color=style.VERMILLION, linewidth=2.5)
            words += f"; possible {at:.1f}"
        said.append(f"{name} {words}")
        beyond = max(at, row.tflops)
        left = 0 if beyond > 0.45 * edge else beyond  # in the bar, or behind it where it is short
        ground = style.on(style.FACE, 1.2)
        axes.text(left + 0.012 * edge, place, words, va="center", fontsize=8, bbox=ground)
    axes.set(yticks=range(len(rows)), yticklabels=names(rows), ylim=(len(rows) - 0.4, -0.6))
    axes.set(
        xlim=(0, 1.02 * edge), xlabel="TFLOP/s" + f", of {peak} that the arithmetic units can do" * bool(peak)
    )
    axes.set_title(
        f"{results.title}\n{origin}\nBar: reached. Upright line: possible, by FMAs for each wavefront".replace(
            "; ", "\n"
        )
    )
    return (figure, f"Speeds in TFLOP/s, and what is possible, {results.title}, {origin}: {'; '.join(said)}.")
