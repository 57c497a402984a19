"""How fast kernels are: measured now on a GPU, replayed from `assets/measurements/` elsewhere."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from . import device, style
from .backend import gpu, records

CUBLAS = "cuBLAS"
DEFAULT_LAUNCH = {"tile": (64, 64, 16), "threads": 256, "shared_mem": 0}


@dataclass(frozen=True)
class Ceilings:
    """What one GPU can do at most in fp32."""

    tflops: float
    source: str  # where `tflops` comes from
    memory: dict[str, float]  # TB/s, measured


CEILINGS = {
    "NVIDIA H100 80GB HBM3": Ceilings(
        66.9, "fp32: 132 SMs x 256 FLOP per clock x 1.98 GHz", {"DRAM": 2.85, "L2": 6.84}
    ),
}


@dataclass(frozen=True)
class Row:
    """One kernel. Times in microseconds; None where there is no measurement."""

    label: str
    origin: str = "no record: the kernel was edited, or never measured"
    gpu: str = ""
    tflops: float | None = None
    median_us: float | None = None
    p10_us: float | None = None
    p90_us: float | None = None
    repeats: int | None = None
    registers: int | None = None
    of_cublas: float | None = None  # fraction of cuBLAS in the same run
    intensity: float | None = None  # FLOP per byte that the blocks read from global memory
    gain: float | None = None  # speed over the row before; None for the first row and for cuBLAS

    def __str__(self) -> str:
        gain = f", {self.gain:.2f} x previous" if self.gain else ""
        fraction = f", {self.of_cublas:.0%} of cuBLAS" if self.label != CUBLAS else ""
        return f"{self.tflops:.1f}{gain}{fraction}"

    def cells(self) -> tuple[str, ...]:
        """The row of the printed table, as `HEADER` names it."""

        def text(value: float | None, form: str, unit: str = "") -> str:
            return "-" if value is None else format(value, form) + unit

        spread = f"{self.p10_us:,.0f}-{self.p90_us:,.0f}" if self.tflops else "-"
        speed = (text(self.tflops, ".1f"), text(self.gain, ".2f", "x"), text(self.of_cublas, ".0%"))
        return (
            self.label,
            *speed,
            text(self.median_us, ",.0f"),
            spread,
            text(self.registers, "d"),
            self.origin,
        )


HEADER = ("kernel", "TFLOP/s", "gain", "of cuBLAS", "median us", "10-90 %", "registers", "origin")


@dataclass(frozen=True)
class Results:
    """Speeds of several kernels on one problem, cuBLAS last."""

    title: str
    rows: tuple[Row, ...]
    least_bytes: int  # A, B and C, each moved once
    flops: int

    def __repr__(self) -> str:
        table = [HEADER, *(row.cells() for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*table)]
        lines = ("  ".join(map(str.ljust, line, widths)).rstrip() for line in table)
        return "\n".join([self.title, *lines])

    def _repr_html_(self) -> str:
        def line(cells: tuple[str, ...], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        rows = "".join(line(row.cells(), "td") for row in self.rows)
        return f"<table><caption>{html.escape(self.title)}</caption>{line(HEADER, 'th')}{rows}</table>"

    @property
    def _known(self) -> list[Row]:
        return [row for row in self.rows if row.tflops]

    def plot(self) -> None:
        """Draw the speeds as bars, with the GPU's ceiling."""
        self._show(self.figure)

    def roofline(self) -> None:
        """Draw speed over arithmetic intensity, under the ceilings of arithmetic and memory."""
        self._show(self.roofline_figure)

    def _show(self, draw) -> None:
        if self._known:
            style.show(*draw())
        else:
            print(f"{self.title}: nothing to draw. {self.rows[0].origin}.")

    @style.styled
    def figure(self):
        """The bars, and their description in words."""
        known = self._known
        ceiling = CEILINGS.get(known[0].gpu)
        fastest = max(row.tflops for row in known)
        figure = style.new_figure(1.3 + 0.42 * len(known))
        axes = style.axes(figure)
        for place, row in enumerate(known):
            spread = (
                np.array([[1 - row.median_us / row.p90_us], [row.median_us / row.p10_us - 1]]) * row.tflops
            )
            look = {"color": style.GRID, "hatch": "///"} if row.label == CUBLAS else {"color": style.SKY}
            axes.barh(place, row.tflops, 0.65, xerr=spread, edgecolor=style.TEXT, linewidth=0.5, **look)
            axes.annotate(
                str(row),
                (row.tflops, place),
                (9, 0),
                textcoords="offset points",
                va="center",
                bbox={"facecolor": style.FACE, "edgecolor": "none", "pad": 1},
            )
        if ceiling:
            axes.axvline(ceiling.tflops, color=style.VERMILLION, linestyle="--", zorder=0)
            words = f"ceiling {ceiling.tflops} TFLOP/s \n({ceiling.source}) "
            axes.text(ceiling.tflops, -0.55, words, ha="right", va="bottom", fontsize=8)
        axes.set(yticks=range(len(known)), yticklabels=[row.label for row in known], xlabel="TFLOP/s")
        axes.set_xlim(0, 1.4 * max(fastest, ceiling.tflops if ceiling else 0))
        axes.set_ylim(len(known) - 0.4, -1.4 if ceiling else -0.6)
        axes.set_title(f"{self.title}\n{known[0].origin}")
        words = "; ".join(f"{row.label} {row}" for row in known)
        return figure, f"Speeds in TFLOP/s, {self.title}, {known[0].origin}: {words}."

    @style.styled
    def roofline_figure(self):
        """The roofline, and its description in words."""
        rows = [row for row in self._known if row.intensity]
        most = self.flops / self.least_bytes
        figure = style.new_figure(4.2)
        axes = style.axes(figure)
        limits = _draw_ceilings(axes, CEILINGS.get(self._known[0].gpu), most)
        axes.axvline(most, color=style.TEXT, linestyle=":")
        words = f"each byte moved once: {most:,.0f} FLOP/byte"
        axes.text(most * 0.93, 0.06, words, rotation=90, ha="right", transform=axes.get_xaxis_transform())
        for row, marker in zip(rows, "osD^vPX*" * len(rows)):
            axes.plot(row.intensity, row.tflops, marker, color=style.VERMILLION, markeredgecolor=style.TEXT)
            others = [other for other in rows[: rows.index(row)] if other.intensity == row.intensity]
            crowded = any(0.85 < other.tflops / row.tflops < 1.18 for other in others)
            place = {"xytext": (-7, -3), "ha": "right"} if crowded else {"xytext": (7, -3)}
            back = {"facecolor": style.FACE, "edgecolor": "none", "pad": 1}
            axes.annotate(
                row.label, (row.intensity, row.tflops), textcoords="offset points", bbox=back, **place
            )
        axes.set(xscale="log", xlabel="FLOP per byte that the blocks read (L2 serves a part)")
        axes.set(yscale="log", ylabel="TFLOP/s")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter("{x:g}")
        axes.grid(True)
        axes.set_title(f"{self.title}\n{self._known[0].origin}")
        points = "; ".join(f"{row.label} {row.tflops:.1f} at {row.intensity:g} FLOP/byte" for row in rows)
        return figure, f"Roofline in TFLOP/s, {self.title}, {self._known[0].origin}: {points}. {limits}"


def _draw_ceilings(axes, ceiling: Ceilings | None, most: float) -> str:
    """Draw the ceilings, from 0.2 FLOP/byte to beyond `most`, and say them in words."""
    if ceiling is None:
        return "The ceilings of this GPU are not known here."
    x = np.geomspace(0.2, 4 * most, 200)
    for (name, rate), line in zip(ceiling.memory.items(), ("-", "--")):
        axes.plot(x, np.minimum(rate * x, ceiling.tflops), line, color=style.BLUE)
        slope = np.degrees(np.arctan(rate * 1.16))  # in data units, as transform_rotates_text wants it
        turned = {"rotation": slope, "rotation_mode": "anchor", "transform_rotates_text": True}
        axes.text(0.25, 0.29 * rate, f"{name} {rate} TB/s (measured)", **turned)
    axes.text(x[-1], ceiling.tflops * 1.1, f"{ceiling.tflops} TFLOP/s ({ceiling.source})", ha="right")
    memory = ", ".join(f"{name} {rate} TB/s" for name, rate in ceiling.memory.items())
    return f"Ceilings: {ceiling.tflops} TFLOP/s, {memory}."


def benchmark(gemm, kernels: Mapping[str, tuple]) -> Results:
    """Compare kernels with each other and with cuBLAS on one problem.

    `kernels` is {label: (kernel, {"tile": (64, 64, 16), "threads": 256, "shared_mem": 0})}, in the order of
    the lesson. On a GPU every kernel is timed now; elsewhere the records of exactly these kernels are shown.
    """
    if not kernels or CUBLAS in kernels:
        raise ValueError(
            f"give at least one kernel, none with the label {CUBLAS!r}: that row is added by itself"
        )
    launches = {label: (kernel, DEFAULT_LAUNCH | launch) for label, (kernel, launch) in kernels.items()}
    keys = {label: records.kernel_key(kernel, gemm, **launch) for label, (kernel, launch) in launches.items()}
    keys[CUBLAS] = records.cublas_key(gemm)
    if device.backend() == "cupy":
        verb, entries = "measured now", _measure(gemm, launches)
        records.remember("speeds", {keys[label]: entry for label, entry in entries.items()})
        entries = {label: {"gpu": gpu.name(), **entry} for label, entry in entries.items()}
    else:
        verb, entries = "recorded", {label: records.find("speeds", key) for label, key in keys.items()}
    itemsize = np.dtype(gemm.dtype).itemsize
    rows, before = [], None
    for label, entry in entries.items():
        if entry is None:
            rows.append(Row(label))
            continue
        tile = launches[label][1]["tile"] if label in launches else None
        gain = entry["tflops"] / before if before and tile else None
        rows.append(_row(label, entry, verb, itemsize, tile, gain))
        before = entry["tflops"]
    M, N, K = gemm.M, gemm.N, gemm.K
    title = f"C = A @ B.T, {M} x {N} x {K} {gemm.dtype}"
    return Results(title, tuple(rows), itemsize * (M * K + N * K + M * N), 2 * M * N * K)


def _row(label: str, entry: dict, verb: str, itemsize: int, tile: tuple | None, gain: float | None) -> Row:
    """One row. Blocks of tile_m x tile_n read M N K (1/tile_m + 1/tile_n) numbers for 2 M N K FLOP."""
    return Row(
        label,
        f"{verb} on {entry['gpu']}, {entry['date']}",
        **{name: entry[name] for name in ("gpu", "tflops", "median_us", "p10_us", "p90_us", "repeats")},
        registers=entry.get("registers"),
        of_cublas=entry["tflops"] / entry["cublas_tflops"],
        intensity=2 / (itemsize * (1 / tile[0] + 1 / tile[1])) if tile else None,
        gain=gain,
    )


def _measure(gemm, launches: dict) -> dict[str, dict]:
    """Time every kernel, and cuBLAS before and after them; one entry for the record each."""
    flops = 2 * gemm.M * gemm.N * gemm.K
    repeats = 60 if flops < 2e10 else 20  # short launches vary more
    cublas = gpu.cublas(gemm)
    before = gpu.time_launches(cublas, repeats)
    entries = {}
    for label, (kernel, launch) in launches.items():
        times = gpu.time_launches(gpu.launcher(kernel, gemm, **launch), repeats)
        about = {"label": label, **records.about(kernel, gemm, **launch), "registers": kernel.num_regs}
        entries[label] = about | _entry(times, flops)
    after = gpu.time_launches(cublas, repeats)
    drift = {"before_us": round(np.median(before), 2), "after_us": round(np.median(after), 2)}
    about = {"label": CUBLAS, **records.problem(gemm), **drift}
    entries[CUBLAS] = about | _entry(np.append(before, after), flops)
    return {label: {**entry, "cublas_tflops": entries[CUBLAS]["tflops"]} for label, entry in entries.items()}


def _entry(times: np.ndarray, flops: int) -> dict:
    """The record of one row: times in microseconds, the clock as it is right after the launches."""
    p10, median, p90 = np.percentile(times, (10, 50, 90)).round(2).tolist()
    speed = {"tflops": round(flops / median / 1e6, 2), "median_us": median, "p10_us": p10, "p90_us": p90}
    return {**speed, "repeats": len(times), "sm_clock_mhz": gpu.sm_clock_mhz(), "date": gpu.today()}
