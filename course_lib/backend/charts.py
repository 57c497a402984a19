"""The pictures of `benchmark`: bars and roofline, each with its description in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import style
from ..simulator.gpus import GPUS, Ceilings
from .gpu import CUBLAS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..results import Row


def ceiling(gpu: str, kind: str) -> tuple[float, str]:
    """TFLOP/s that no kernel of this kind ("float32, NT") exceeds on the GPU, and where that comes from; (0, "") for
    a GPU that is not known here."""
    return ceilings(gpu).math.get(kind.partition(",")[0], (0, ""))


def ceilings(gpu: str) -> Ceilings:
    """Those of the GPU of this name; none where it is not known."""
    return next(
        (known.ceilings for known in GPUS.values() if gpu in (known.name, known.driver_name)), Ceilings()
    )


@style.styled
def bars(title: str, kind: str, rows: list[Row]) -> tuple[Figure, str]:
    """Bars of the measured rows under the GPU's ceiling, and their description in words."""
    origin = rows[0].origin
    highest, source = ceiling(rows[0].gpu, kind)
    figure = style.new_figure(1.3 + 0.42 * len(rows))
    axes = style.axes(figure)
    for place, row in enumerate(rows):
        below, above = 1 - row.median_us / row.p90_us, row.median_us / row.p10_us - 1
        spread = [[below * row.tflops], [above * row.tflops]]
        cublas = row.label == CUBLAS
        look = {"color": style.GRID, "hatch": "///"} if cublas else {"color": style.SKY}
        axes.barh(place, row.tflops, 0.65, xerr=spread, edgecolor=style.TEXT, linewidth=0.5, **look)
        axes.annotate(str(row), (row.tflops, place), (9, 0), va="center", **style.BESIDE)
    if source:
        axes.axvline(highest, color=style.VERMILLION, linestyle="--", zorder=0)
        words = f"ceiling {highest} TFLOP/s \n({source}) "
        axes.text(highest, -0.55, words, ha="right", va="bottom", fontsize=8)
    highest = max(highest, *(row.tflops for row in rows))
    axes.set(yticks=range(len(rows)), yticklabels=[row.label for row in rows], xlabel="TFLOP/s")
    axes.set(xlim=(0, 1.4 * highest), ylim=(len(rows) - 0.4, -1.4 if source else -0.6))
    axes.set_title(f"{title}\n{origin}".replace("; ", "\n"))
    words = "; ".join(f"{row.label} {row}" for row in rows)
    return figure, f"Speeds in TFLOP/s, {title}, {origin}: {words}."


@style.styled
def progress(groups: list[tuple[str, list[Row]]]) -> tuple[Figure, str]:
    """Bars of the fraction of cuBLAS, (title, rows) by (title, rows), and their description in words."""
    figure = style.new_figure(1.0 + 0.34 * sum(len(rows) + 1 for _, rows in groups))
    axes = style.axes(figure)
    labels: dict[float, str] = {}
    words = []
    for title, rows in groups:
        place = max(labels, default=-1) + 1
        words_above = f"{title}, {rows[0].origin}"
        axes.annotate(
            words_above, (0, place), (0, 0), va="center", fontsize=8, style="italic", **style.BESIDE
        )
        for row in rows:
            place += 1
            look = {"color": style.GRID, "hatch": "///"} if row.label == CUBLAS else {"color": style.SKY}
            axes.barh(place, row.of_cublas, 0.65, edgecolor=style.TEXT, linewidth=0.5, **look)
            speed = f"{row.of_cublas:.0%}, {row.tflops:.1f} TFLOP/s"
            beyond = max(row.of_cublas, 1) if row.of_cublas > 0.7 else row.of_cublas  # the line at 100 %
            axes.annotate(speed, (beyond, place), (6, 0), va="center", fontsize=8, **style.BESIDE)
            labels[place] = row.label
        words.append(
            f"{title}, {rows[0].origin}: " + "; ".join(f"{row.label} {row.of_cublas:.0%}" for row in rows)
        )
    axes.axvline(1, color=style.VERMILLION, linestyle="--", zorder=0)
    axes.set(yticks=list(labels), yticklabels=list(labels.values()), ylim=(place + 0.6, -0.7))
    axes.set(xlim=(0, 1.4), xlabel="speed, as a fraction of cuBLAS of the same type and layout")
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:.0%}")
    axes.set_title("How far the lessons came")
    return figure, f"Fraction of cuBLAS. {'. '.join(words)}."


@style.styled
def percentages(title: str, metrics: list[str], values: dict[str, dict[str, float]]) -> tuple[Figure, str]:
    """Bars of metrics in percent, a group for each metric and a bar for each kernel, and their description in words."""
    height = 0.8 / len(values)
    figure = style.new_figure(0.9 + 0.3 * len(metrics) * (len(values) + 0.5))
    axes = style.axes(figure)
    looks = [(style.SKY, "///"), (style.GREEN, ""), (style.ORANGE, "xxx"), (style.PURPLE, "\\\\\\")]
    for number, (label, found) in enumerate(values.items()):
        colour, hatch = looks[number % len(looks)]
        places = [group - 0.4 + (number + 0.5) * height for group in range(len(metrics))]
        known = [(place, found[metric]) for place, metric in zip(places, metrics) if metric in found]
        for place, value in known:
            axes.barh(
                place, value, 0.9 * height, color=colour, hatch=hatch, edgecolor=style.TEXT, linewidth=0.5
            )
            axes.annotate(
                f"{label}: {value:.3g} %", (value, place), (4, 0), va="center", fontsize=8, **style.BESIDE
            )
    axes.set(yticks=range(len(metrics)), yticklabels=[metric.removesuffix(", %") for metric in metrics])
    axes.set(ylim=(len(metrics) - 0.5, -0.5), xlim=(0, 125), xticks=range(0, 101, 20))
    axes.set_xlabel("% of what the hardware can do")
    axes.set_title(title)
    words = "; ".join(
        f"{metric}: "
        + ", ".join(f"{label} {found[metric]:.3g}" for label, found in values.items() if metric in found)
        for metric in metrics
    )
    return figure, f"Bars in percent of what the hardware can do. {words}. {title}."


@style.styled
def roofline(title: str, kind: str, rows: list[Row], most: float) -> tuple[Figure, str]:
    """Speed over intensity, and its description in words. `most` FLOP per byte: A, B and C each moved once."""
    origin, where = rows[0].origin, (rows[0].gpu, kind)
    rows = [row for row in rows if row.intensity]
    figure = style.new_figure(4.2)
    axes = style.axes(figure)
    least = min((row.intensity for row in rows), default=0)
    limits = _draw_ceilings(axes, where, 0.2 if least < 8 else least / 8, most)
    axes.axvline(most, color=style.TEXT, linestyle=":")
    words = f"each byte moved once: {most:,.0f} FLOP/byte"
    where = {"ha": "right", "transform": axes.get_xaxis_transform()}
    axes.text(most * 0.93, 0.06, words, rotation=90, **where)
    for number, row in enumerate(rows):
        marker = "osD^vPX*"[number % 8]
        axes.plot(row.intensity, row.tflops, marker, color=style.VERMILLION, markeredgecolor=style.TEXT)
        # A label goes to the right of its mark, or to the left when another mark or label is there already.
        taken = [other for other in rows[:number] if other.intensity == row.intensity]
        taken += [other for other in rows if 1 < other.intensity / row.intensity < 1.5]
        left = any(0.85 < other.tflops / row.tflops < 1.18 for other in taken)
        where = {"xytext": (-7, -3), "ha": "right"} if left else {"xytext": (7, -3)}
        axes.annotate(row.label, (row.intensity, row.tflops), **where, **style.BESIDE)
    axes.set(xscale="log", xlabel="FLOP per byte that the blocks read (L2 serves a part)")
    axes.set(yscale="log", ylabel="TFLOP/s")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter("{x:g}" if least >= 8 and axis is axes.yaxis else "")
    axes.grid(True)
    axes.set_title(f"{title}\n{origin}".replace("; ", "\n"))
    points = "; ".join(f"{row.label} {row.tflops:.1f} at {row.intensity:g} FLOP/byte" for row in rows)
    return figure, f"Roofline in TFLOP/s, {title}, {origin}: {points}. {limits}"


def _draw_ceilings(axes, where: tuple[str, str], first: float, most: float) -> str:
    """Draw the ceilings, from `first` FLOP per byte to beyond `most`, and say them in words."""
    highest, source = ceiling(*where)
    if not highest:
        return "The ceilings of this GPU are not known here."
    memory = ceilings(where[0]).memory
    x = np.geomspace(first, 4 * most, 200)
    for (name, rate), line in zip(memory.items(), ("-", "--")):
        axes.plot(x, np.minimum(rate * x, highest), line, color=style.BLUE)
        slope = np.degrees(np.arctan(rate * 1.16))  # in data units, as transform_rotates_text wants it
        turned = {"rotation": slope, "rotation_mode": "anchor", "transform_rotates_text": True}
        axes.text(1.25 * first, 1.45 * first * rate, f"{name} {rate} TB/s (measured)", **turned)
    axes.text(x[-1], highest * 1.1, f"{highest} TFLOP/s ({source})", ha="right")
    rates = ", ".join(f"{name} {rate} TB/s" for name, rate in memory.items())
    return f"Ceilings: {highest} TFLOP/s, {rates}."
