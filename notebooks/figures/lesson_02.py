"""The figures of lesson 02: producer and consumer."""

from collections.abc import Mapping, Sequence

from course_lib.measure.results import Results
from course_lib.timelines.timeline import Timeline
from cupy_or_sim import style

COPY, MATH = (style.SKY, "///"), (style.GREEN, "")
TURNS = 3
QUESTIONS = (
    "who says that it has landed?",
    "where does it wait, while the old one is still read?",
    "who may fill its place again?",
)
"""Of loads that run behind math: at the end of one, all along the next, and at the begin of the one behind it."""


def _bar(axes, row: float, begin: float, length: float, look: tuple[str, str], text: str = "") -> None:
    colour, hatch = look
    axes.barh(row, length, 0.62, begin, color=colour, hatch=hatch, edgecolor=style.TEXT, linewidth=0.6)
    style.label(axes, begin + length / 2, row, text, color=style.INK, bbox=style.on(colour, 1))


@style.styled
def turn(in_turn: Timeline) -> style.Drawing:
    """A few turns of a loop that copies and multiplies in turn, as its timeline has them, and the same math with each
    copy behind the math before it."""
    math = in_turn.cycles("math")
    if not in_turn.turn or not math:
        return style.nothing(f"{in_turn.title}: {in_turn.origin}" + ("; no math" if in_turn.turn else ""))
    load = in_turn.turn - math
    whole, least = load + math, max(load, math)
    figure = style.new_figure(3.1)
    axes = style.axes(figure)
    for each in range(TURNS):
        _bar(axes, 0, each * whole, load, COPY, f"load {each}: {load:,}")
        _bar(axes, 0, each * whole + load, math, MATH, f"math {each}: {math:,}")
        idle = {"va": "baseline", "style": "italic"}
        style.label(axes, each * whole + load / 2, -0.5, "nobody multiplies", 7.5, **idle)
        _bar(axes, 1.6, load + each * least, math, MATH, f"math {each}: {math:,}")
        _bar(axes, 2.3, max(each - 1, 0) * least + (load if each else 0), load, COPY, f"load {each}")
    _bar(axes, 2.3, 0, load, COPY, "load 0")
    end, ahead = TURNS * whole, load + (TURNS - 1) * least + math
    axes.annotate("", (ahead, 1.15), (end, 0.42), arrowprops={"arrowstyle": "->", "color": style.VERMILLION})
    here, far = f"{end / ahead:.2f} times as fast", f"in a long loop {whole / least:.2f} times"
    style.label(axes, 0.8 * end, 1.4, f"{here},\n{far}", ha="left")
    # of load 0 the end, of load 1 the middle, of load 2 the begin
    places = (load, load + 0.5 * load, load + least)
    for number, (at, question) in enumerate(zip(places, QUESTIONS), 1):
        ring = {"boxstyle": "circle", "facecolor": style.FACE, "edgecolor": style.TEXT, "pad": 0.2}
        style.label(axes, at, 2.72, number, bbox=ring)
        axes.text(0.45 * end, 3.0 + 0.34 * (number - 1), f"{number}  {question}", fontsize=8.5, va="center")
    for row, words in (0, "in turn"), (1.95, "the next one\non its way"):
        axes.text(-0.012 * end, row, words, ha="right", va="center", fontsize=9)
    axes.set(xlim=(-0.13 * end, 1.01 * end), ylim=(3.95, -0.75), yticks=[], xlabel="cycles")
    axes.set_xticks([tick for tick in range(0, round(end) + 1, 1000)])
    axes.spines["left"].set_visible(False)
    axes.set_title(f"A block alone on an SM. Above: {in_turn.origin}.\nBelow: computed from it")
    return figure, (
        f"In turn, {in_turn.origin}: for {load:,} of {whole:,} cycles a k-tile is loaded and nobody multiplies, then "
        f"{math:,} cycles of math, {TURNS} times over. Below, computed from it, the next one on its way: each load but "
        f"the first runs behind the math before it, and the math has no gap: {here}, {far}. Three questions, at the "
        f"end of load 0, along load 1 and at the begin of load 2: {'; '.join(QUESTIONS)}"
    )


STEPS = (  # producer, FULL, (slot, kind), EMPTY, consumer
    ("writes piece 0", 32, ("being filled", COPY), 0, "waits at FULL"),
    ("arrives at FULL, goes on", 64, ("piece 0", MATH), 0, "goes on"),
    ("waits at EMPTY", 0, ("piece 0", MATH), 32, "reads piece 0"),
    ("goes on", 0, ("has been read", None), 64, "arrives at EMPTY, goes on"),
    ("writes piece 1", 32, ("being filled", COPY), 0, "waits at FULL"),
)


@style.styled
def hand_over() -> style.Drawing:
    """A slot that goes from one producer warp to one consumer warp and back, step by step."""
    figure = style.new_figure(2.7)
    axes = style.axes(figure)
    titles = {0.1: "producer warp", 4.6: "FULL", 7.2: "slot", 9.9: "EMPTY", 12.5: "consumer warp"}
    for left, title in titles.items():
        axes.text(left, -0.75, title, fontsize=9, weight="bold")
    for step, (producer, full, (slot, look), empty, consumer) in enumerate(STEPS):
        axes.text(-0.5, step, step + 1, ha="right", va="center", fontsize=9)
        _box(axes, 0.1, step, 4.1, producer)
        _came(axes, 4.6, step, full)
        _box(axes, 7.2, step, 2.3, slot, look)
        _came(axes, 9.9, step, empty)
        _box(axes, 12.5, step, 4.1, consumer)
    axes.set(xlim=(-1.2, 16.8), ylim=(4.6, -1.2))
    axes.axis("off")
    return figure, (
        "The hand-over in five steps. 1: the producer writes piece 0, the consumer waits at FULL, where 32 of 64 "
        "threads have come. 2: the producer arrives at FULL: 64 have come, it opens, both go on. 3: the consumer "
        "reads piece 0, the producer waits at EMPTY, where 32 have come. 4: the consumer arrives at EMPTY: 64, it "
        "opens, both go on. 5: as step 1, with piece 1."
    )


def _box(axes, x: float, y: float, width: float, text: str, look: tuple[str, str] | None = None) -> None:
    colour, hatch = look or ("none", "")
    style.box(axes, x, y - 0.38, width, 0.76, facecolor=colour, hatch=hatch, linewidth=0.7)
    filled: dict = {"color": style.INK, "bbox": style.on(colour, 1)} if look else {}
    style.label(axes, x + width / 2, y, text, **filled)


def _came(axes, x: float, y: float, came: int) -> None:
    """How many of the 64 threads have come to a barrier: a half for each warp."""
    for half in range(2):
        here = came > 32 * half
        look = {"facecolor": style.ORANGE, "hatch": "..."} if here else {"facecolor": "none"}
        style.box(axes, x + 0.5 * half, y - 0.2, 0.5, 0.4, linewidth=0.7, **look)
    opens = came == 64
    text, weight = f"{came}{': opens' * opens}", "bold" if opens else "normal"
    axes.text(x + 1.12, y, text, va="center", fontsize=8, weight=weight)


def _beside(alone: Results, together: Results) -> dict[float, list[str]]:
    """cuBLAS's TFLOP/s in each run -> the bars of that run, in words; the run of most bars first."""
    found: dict[float, list[str]] = {}
    for results, name in (alone, "alone"), (together, "as many as fit"):
        for row in results.kernels:
            if row.tflops and row.of_peer:
                found.setdefault(round(row.tflops / row.of_peer, 1), []).append(f"{row.label}, {name}")
    return dict(sorted(found.items(), key=lambda one: -len(one[1])))


def _cublas(beside: Mapping[float, Sequence[str]]) -> str:
    (most, _), *others = beside.items()
    runs = "; ".join(f"{speed:.1f} in the run of: {'; '.join(bars)}" for speed, bars in others)
    return f"cuBLAS {most:.1f}" + f" ({runs})" * bool(runs)


ALONE = {"color": style.SKY, "hatch": "///", "edgecolor": style.TEXT, "linewidth": 0.5}
TOGETHER = {"color": style.ORANGE, "hatch": "", "edgecolor": style.TEXT, "linewidth": 0.5}


@style.styled
def company(alone: Results, together: Results, base: str) -> style.Drawing:
    """Two bars for each kernel: one block alone on an SM, and as many as fit. `base` is what gains are counted from."""
    rows = [
        (row, other)
        for row, other in zip(alone.rows, together.rows)
        if row.tflops and other.tflops and other.gpu == row.gpu
    ]
    if len(rows) < len(alone.rows):
        return style.nothing(f"{alone.title}: not every kernel has a record on one GPU")
    kernels = [pair for pair in rows if not pair[0].is_peer]
    beside = _beside(alone, together)
    figure = style.new_figure(1.5 + 0.55 * len(kernels))
    axes = style.axes(figure)
    words, most = [], max(each.tflops or 0 for pair in rows for each in pair)
    for place, pair in enumerate(kernels):
        said = []
        for row, results, shift, look, name in (
            (pair[0], alone, -0.2, ALONE, "alone"),
            (pair[1], together, 0.2, TOGETHER, "as many as fit"),
        ):
            axes.barh(place + shift, row.tflops, 0.38, **look)
            gain = "" if row.label == base else f", {results.gain(row.label, base):.2f} x {base}"
            speed = f"{row.tflops:.1f}{gain}"
            # In a column, where cuBLAS's line crosses no label.
            axes.annotate(speed, (most, place + shift), (6, 0), va="center", fontsize=8, **style.BESIDE)
            said.append(f"{name} {speed}")
        words.append(f"{pair[0].label} {'; '.join(said)}")
    # one line: another run's cuBLAS is named beside it, and would be drawn over it
    most_bars = next(iter(beside))
    axes.vlines(most_bars, -0.65, len(kernels) + 0.3, style.VERMILLION, "--", zorder=0)
    cublas = _cublas(beside)
    axes.text(most_bars, -0.72, cublas, fontsize=8, ha="center", va="bottom")
    names = {"alone on an SM": ALONE, "as many blocks as fit": TOGETHER}
    for place, (name, look) in enumerate(names.items()):
        at, below = 0.3 * most * place, len(kernels) - 0.05
        axes.barh(below, 0.03 * most, 0.3, at, **look)
        axes.text(at + 0.04 * most, below, name, va="center", fontsize=8)
    labels = [pair[0].label for pair in kernels]
    axes.set(yticks=range(len(kernels)), yticklabels=labels, xlabel="TFLOP/s")
    axes.set(xlim=(0, 1.32 * most), ylim=(len(kernels) + 0.3, -1.15))
    axes.set_xticks(range(0, round(most) + 1, 10))
    axes.set_title(f"{alone.title}, {kernels[0][0].origin}")
    return figure, (
        f"Speeds in TFLOP/s, {alone.title}, {kernels[0][0].origin}, one block alone on an SM and as many as "
        f"fit: {'. '.join(words)}. {cublas}."
    )
