"""The pictures of `benchmark` and `profile` that are bars, each with its description in words."""

from cupy_or_sim import style
from ptxsim.gpus import GPUS, Ceilings

from .rows import Speed, marks, names, origins

LETTER = 0.0095  # of the width of the axes; with long names on the left


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
def bars(title: str, kind: str, rows: list[Speed]) -> style.Drawing:
    """Bars of the measured rows under the GPU's ceiling, and their description in words."""
    origin = "; ".join(f"{mark} {where}".strip() for where, mark in marks(rows).items())
    highest, source = ceiling(rows[0].gpu, kind)
    figure = style.new_figure(1.3 + 0.42 * len(rows))
    axes = style.axes(figure)
    for place, row in enumerate(rows):
        look = {"color": style.GRID, "hatch": "///"} if row.is_peer else {"color": style.SKY}
        axes.barh(place, row.tflops, 0.65, xerr=_spread(row), edgecolor=style.TEXT, linewidth=0.5, **look)
    if source:
        axes.axvline(highest, color=style.VERMILLION, linestyle="--", zorder=0)
        axes.text(highest, -0.55, f" ceiling {highest} TFLOP/s \n ({source})", va="bottom", fontsize=8)
    highest = max(highest, *(row.tflops for row in rows))
    for place, row in enumerate(rows):  # in a column behind everything that is drawn
        axes.plot([row.tflops, 1.03 * highest], [place] * 2, color=style.GRID, linewidth=0.6, zorder=0)
        axes.annotate(str(row), (1.03 * highest, place), (0, 0), va="center", **style.BESIDE)
    room = 0.04 + LETTER * max(len(str(row)) for row in rows)
    axes.set(yticks=range(len(rows)), yticklabels=names(rows), xlabel="TFLOP/s")
    axes.set(xlim=(0, highest / (1 - room)), ylim=(len(rows) - 0.4, -1.4 if source else -0.6))
    axes.set_xticks([tick for tick in axes.get_xticks() if tick <= highest])
    axes.set_title(f"{title}\n{origin}".replace("; ", "\n"))
    words = "; ".join(f"{name} {row}" for name, row in zip(names(rows), rows))
    return figure, f"Speeds in TFLOP/s, {title}, {origin}: {words}."


def _spread(row: Speed) -> list[list[float]] | None:
    """From the slow tenth of its launches to the fast one, beside the median."""
    if not (row.p10_us and row.p90_us):
        return None
    below, above = 1 - row.median_us / row.p90_us, row.median_us / row.p10_us - 1
    return [[below * row.tflops], [above * row.tflops]]


@style.styled
def fractions(groups: list[tuple[str, list[Speed]]]) -> style.Drawing:
    """Bars of the fraction of each one's peer, (title, rows) by (title, rows), and their description in words."""
    figure = style.new_figure(1.0 + 0.36 * sum(len(rows) + 1 for _, rows in groups))
    axes = style.axes(figure)
    labels: dict[float, str] = {}
    words = []
    for title, rows in groups:
        place = max(labels, default=-1) + 1
        axes.text(0.01, place, f"{title}\n{origins(rows)}", va="center", fontsize=8, style="italic")
        line = [place + 0.5, place + len(rows) + 0.5]
        axes.plot([1, 1], line, color=style.VERMILLION, linestyle="--", zorder=0)
        for row in rows:
            place += 1
            axes.barh(place, row.of_peer, 0.65, edgecolor=style.TEXT, linewidth=0.5, color=style.SKY)
            speed = f"{row.of_peer:.0%}, {row.tflops:.1f} TFLOP/s"
            # Behind the line at 100 %.
            axes.annotate(
                speed, (max(row.of_peer, 1), place), (6, 0), va="center", fontsize=8, **style.BESIDE
            )
            labels[place] = row.label
        words.append(
            f"{title}, {origins(rows)}: " + "; ".join(f"{row.label} {row.of_peer:.0%}" for row in rows)
        )
    axes.set(yticks=list(labels), yticklabels=list(labels.values()), ylim=(place + 0.6, -0.7))
    peers = " or ".join(dict.fromkeys(row.peer for _, rows in groups for row in rows))
    axes.set(xlim=(0, 1.4), xlabel=f"speed, as a fraction of {peers} of the same type and layout")
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:.0%}")
    axes.set_title("How far the lessons came")
    return figure, f"Fraction of {peers}. {'. '.join(words)}."


@style.styled
def percentages(title: str, metrics: list[str], values: dict[str, dict[str, float]]) -> style.Drawing:
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
