"""The roofline: speed over arithmetic intensity, under the ceilings of arithmetic and memory."""

import numpy as np

from cupy_or_sim import style

from .charts import ceiling, ceilings
from .rows import Measured, Speed, has_speed, origins

MARKS = "osD^vPX*"
COLOURS = style.VERMILLION, style.GREEN
GAP = 0.055  # from one label to the next, of the height of the picture


@style.styled
def roofline(several: list[Measured]) -> style.Drawing:
    """The measured rows of one or more problems, and the picture's description in words.

    Each problem has a roof, by its type; one alone also a dotted line, where A, B and C would each be moved once."""
    from matplotlib.ticker import LogLocator

    shown = {each: [row for row in each.rows if has_speed(row) and row.intensity] for each in several}
    rows = [row for of_one in shown.values() for row in of_one]
    figure = style.new_figure(4.2 if len(several) == 1 else 5.2)
    axes = style.axes(figure)
    least = min((row.intensity for row in rows), default=64.0)
    first, most = (0.2 if least < 8 else least / 8), max(each.most_intensity for each in several)
    gpu = next(row.gpu for each in several for row in each.rows if row.tflops)
    roofs = {each: ceiling(gpu, each.kind) for each in several}
    highest = max([roof for roof, _ in roofs.values()] + [row.tflops for row in rows])
    lowest = min((row.tflops for row in rows), default=highest / 7) / 3
    axes.set(xscale="log", xlabel="FLOP per byte that the blocks read (L2 serves a part)")
    axes.set(yscale="log", ylabel="TFLOP/s", xlim=(first, 4 * most), ylim=(lowest, 1.35 * highest))
    highest_roof = max((roof for roof, _ in roofs.values()), default=0)
    limits = _draw_slopes(axes, gpu, highest_roof)
    for each, (roof, source) in roofs.items():
        if len(several) == 1:
            axes.plot([most] * 2, [lowest, roof or highest], color=style.TEXT, linestyle=":")
            words = f"each byte moved once: {most:,.0f} FLOP/byte"
            axes.text(most * 1.1, lowest * 1.15, words, rotation=90, va="bottom")
        if source:
            knee = roof / max(ceilings(gpu).memory.values())
            axes.plot([knee, 4 * most], [roof] * 2, color=style.BLUE)
            words = f"{roof} TFLOP/s ({source if roof == highest_roof else each.kind})"  # labels cross a lower one
            axes.text(3.8 * most, roof * 1.04, words, ha="right", va="bottom", fontsize=8)
            limits += f"{roof} TFLOP/s ({each.kind}), "
    for of_one, colour in zip(shown.values(), COLOURS):
        if len(several) > 1:  # the way from one kernel to the next
            places = [row.intensity for row in of_one], [row.tflops for row in of_one]
            axes.plot(*places, color=colour, linewidth=0.8, zorder=1)
        for number, row in enumerate(of_one):
            axes.plot(row.intensity, row.tflops, MARKS[number % 8], color=colour, markeredgecolor=style.TEXT)
    slowest = min(ceilings(gpu).memory.values(), default=highest)
    knees = [1.15 * roof / slowest for roof, _ in roofs.values()]
    behind = max(knees + [1.4 * row.intensity for row in rows])
    for each, of_one in shown.items():
        _write_labels(axes, of_one, behind, roofs[each][0] or highest)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
    axes.yaxis.set_minor_formatter("{x:g}")
    axes.grid(True)
    title = " and ".join(each.title for each in several)
    origin = origins(row for each in several for row in each.rows)
    axes.set_title(f"{title}\n{origin}".replace("; ", "\n"))
    points = "; ".join(f"{row.label} {row.tflops:.1f} at {row.intensity:g} FLOP/byte" for row in rows)
    known = (
        f"Ceilings: {limits.removesuffix(', ')}" if limits else "The ceilings of this GPU are not known here"
    )
    return figure, f"Roofline in TFLOP/s, {title}, {origin}: {points}. {known}."


def _draw_slopes(axes: style.Axes, gpu: str, highest: float) -> str:
    """Draw what memory delivers, up to the highest roof, and say it in words."""
    first, last = axes.get_xlim()
    words = ""
    for (name, rate), line in zip(ceilings(gpu).memory.items() if highest else (), ("-", "--")):
        x = np.geomspace(first, min(highest / rate, last), 2)
        axes.plot(x, rate * x, line, color=style.BLUE)
        low, high = axes.get_ylim()
        begin = max(first, low / rate) * 1.2
        slope = np.degrees(np.arctan(rate * 1.16))  # in data units, as transform_rotates_text wants it
        turned = {"rotation": slope, "rotation_mode": "anchor", "transform_rotates_text": True}
        axes.text(begin, begin * rate * (high / low) ** 0.025, f"{name} {rate} TB/s (measured)", **turned)
        words += f"{name} {rate} TB/s, "
    return words


def _write_labels(axes: style.Axes, rows: list[Speed], x: float, roof: float) -> None:
    """In one column at `x`, below the roof, each with a line to its mark."""
    low, high = np.log(axes.get_ylim())
    ordered = sorted(rows, key=lambda row: row.tflops)
    heights = spread([(np.log(row.tflops) - low) / (high - low) for row in ordered], GAP)
    top = (np.log(roof) - low) / (high - low)
    heights = [min(height, top - GAP * (len(rows) - number - 0.2)) for number, height in enumerate(heights)]
    for row, height in zip(ordered, heights):
        axes.annotate(
            f"{row.label}: {row.tflops:.1f}", (row.intensity, row.tflops), (x, np.exp(low + height * (high - low))),
            va="center", fontsize=8, bbox=style.BESIDE["bbox"],
            arrowprops={"arrowstyle": "-", "linewidth": 0.5, "color": style.TEXT, "relpos": (0, 0.5), "shrinkB": 3},
        )  # fmt: skip


def spread(wanted: list[float], gap: float) -> list[float]:
    """Places near the wanted ones, which ascend, with at least `gap` from one to the next.

    Neighbours that are too close become one group around their mean, until no two groups are too close."""
    groups = [[place] for place in wanted]

    def ends(group: list[float]) -> tuple[float, float]:
        middle, half = sum(group) / len(group), gap * (len(group) - 1) / 2
        return middle - half, middle + half

    at = 0
    while at + 1 < len(groups):
        if ends(groups[at + 1])[0] - ends(groups[at])[1] < gap:
            groups[at] += groups.pop(at + 1)
            at = max(at - 1, 0)
        else:
            at += 1
    return [ends(group)[0] + number * gap for group in groups for number in range(len(group))]
