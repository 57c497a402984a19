"""How fast kernels are: measured now on a GPU, replayed from `assets/measurements/` elsewhere, or modelled."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from . import device, style
from .backend import charts, gpu, records
from .backend import model as clock

DEFAULT_LAUNCH = {"tile": (64, 64, 16), "threads": 256, "shared_mem": 0}
HEADER = ("kernel", "TFLOP/s", "gain", "of cuBLAS", "median us", "10-90 %", "registers", "origin")


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
    gain: float | None = None  # speed over the row `over`; None for the first row and for cuBLAS
    over: str = ""

    def __str__(self) -> str:
        gain = f", {self.gain:.2f} x {self.over}" if self.gain else ""
        fraction = f", {self.of_cublas:.0%} of cuBLAS" if self.of_cublas and self.label != gpu.CUBLAS else ""
        return f"{self.tflops:.1f}{gain}{fraction}"

    def cells(self) -> tuple[str, ...]:
        """The row of the printed table, as `HEADER` names it."""
        if not self.tflops:
            return self.label, *"------", self.origin
        gain = f"{self.gain:.2f} x {self.over}" if self.gain else "-"
        times = f"{self.median_us:,.0f}", f"{self.p10_us:,.0f}-{self.p90_us:,.0f}"
        speed = f"{self.tflops:.1f}", gain, f"{self.of_cublas:.0%}" if self.of_cublas else "-"
        return self.label, *speed, *times, str(self.registers or "-"), self.origin


@dataclass(frozen=True)
class Results:
    """Speeds of several kernels on one problem, cuBLAS last (a model knows nothing of cuBLAS)."""

    title: str
    kind: str  # dtype and layout
    rows: tuple[Row, ...]
    most_intensity: float  # FLOP per byte, if A, B and C are each moved once

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

    def gain(self, a: str, b: str) -> float | None:
        """How many times as fast kernel `a` is as kernel `b`, both by label; None where one has no record."""
        speeds = {row.label: row.tflops for row in self.rows}
        for label in (a, b):
            if label not in speeds:
                raise ValueError(f"there is no row {label!r}; rows: {', '.join(speeds)}")
        return speeds[a] / speeds[b] if speeds[a] and speeds[b] else None

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

    def figure(self):
        """The bars, and their description in words."""
        return charts.bars(self.title, self.kind, self._known)

    def roofline_figure(self):
        """The roofline, and its description in words."""
        return charts.roofline(self.title, self.kind, self._known, self.most_intensity)


def benchmark(gemm, kernels: Mapping[str, tuple], model: bool = False, base: str | None = None) -> Results:
    """Compare kernels with each other and with cuBLAS on one problem.

    `kernels` is {label: (kernel, {"tile": (64, 64, 16), "threads": 256, "shared_mem": 0})}, in the order of
    the lesson. On a GPU every kernel is timed now; elsewhere the records of exactly these kernels are shown.
    `model`: what the simulator's clock says of the kernels on an H100, on every machine, without cuBLAS.
    `base`: the label that gains are counted from; without it each row's gain is over the row before.
    """
    if base is not None and base not in kernels:
        raise ValueError(f"base={base!r} is none of the kernels: {', '.join(kernels)}")
    if not kernels or gpu.CUBLAS in kernels:
        raise ValueError(
            f"give at least one kernel, none with the label {gpu.CUBLAS!r}: that row comes by itself"
        )
    launches = {label: (kernel, DEFAULT_LAUNCH | launch) for label, (kernel, launch) in kernels.items()}
    if model:
        entries = {label: _modelled(gemm, kernel, launch) for label, (kernel, launch) in launches.items()}
    elif device.backend() == "cupy":
        entries = _measured(gemm, launches)
    else:
        entries = _recorded(gemm, launches)
    itemsize = np.dtype(gemm.dtype).itemsize
    rows: list[Row] = []
    for label, entry in entries.items():
        tile = launches[label][1]["tile"] if label in launches else None
        measured = [row for row in rows if row.tflops and base in (None, row.label)]
        before = measured[-1] if tile and measured else Row("")
        rows.append(_row(label, entry, tile, before, itemsize) if entry else Row(label))
    M, N, K = gemm.M, gemm.N, gemm.K
    intensity = 2 * M * N * K / (itemsize * (M * K + N * K + M * N))
    title = f"C = A @ B.T, {M} x {N} x {K} {gemm.dtype}"
    return Results(title, f"{gemm.dtype}, {gemm.layout}", tuple(rows), intensity)


def progress(*results: Results) -> None:
    """Draw how far the kernels of several lessons came: each as a fraction of cuBLAS on its own problem."""
    shown = [(each.title, [row for row in each.rows if row.of_cublas]) for each in results]
    if any(rows for _, rows in shown):
        style.show(*charts.progress([(title, rows) for title, rows in shown if rows]))
    else:
        print(f"Progress: nothing to draw. {results[0].rows[0].origin}.")


def _keys(gemm, launches: dict[str, tuple]) -> dict[str, str]:
    keys = {label: records.kernel_key(kernel, gemm, **launch) for label, (kernel, launch) in launches.items()}
    return keys | {gpu.CUBLAS: records.cublas_key(gemm)}


def _measured(gemm, launches: dict[str, tuple]) -> dict[str, dict]:
    """An entry for each kernel and for cuBLAS, measured now; in record mode they are kept."""
    keys, entries = _keys(gemm, launches), gpu.measure(gemm, launches)
    about = {label: records.about(kernel, gemm, **launch) for label, (kernel, launch) in launches.items()}
    about[gpu.CUBLAS] = records.problem(gemm)
    records.remember("speeds", {keys[k]: {"label": k, **about[k], **entries[k]} for k in keys})
    return {label: entry | {"origin": "measured now on"} for label, entry in entries.items()}


def _recorded(gemm, launches: dict[str, tuple]) -> dict[str, dict | None]:
    """An entry for each kernel and for cuBLAS, as recorded; None where there is no record."""
    found = {label: records.find("speeds", key) for label, key in _keys(gemm, launches).items()}
    return {label: entry and entry | {"origin": "recorded on"} for label, entry in found.items()}


def _modelled(gemm, kernel, launch: dict) -> dict:
    """An entry from the clock's model."""
    estimate = clock.modelled(kernel, gemm, **launch)
    us = 1000 * estimate.ms
    speed = {"tflops": 2 * gemm.M * gemm.N * gemm.K / us / 1e6, "median_us": us, "p10_us": us, "p90_us": us}
    return {"gpu": estimate.gpu.name, "origin": "model of an", **speed}


def _row(label: str, entry: dict, tile: tuple | None, before: Row, itemsize: int) -> Row:
    """One row. Blocks of tile_m x tile_n read M N K (1/tile_m + 1/tile_n) numbers for 2 M N K FLOP."""
    cublas, date = entry.get("cublas_tflops"), entry.get("date", "not a measurement")
    return Row(
        label,
        f"{entry['origin']} {entry['gpu']}, {date}",
        **{name: entry[name] for name in ("gpu", "tflops", "median_us", "p10_us", "p90_us")},
        repeats=entry.get("repeats"),
        registers=entry.get("registers"),
        of_cublas=entry["tflops"] / cublas if cublas else None,
        intensity=2 / (itemsize * (1 / tile[0] + 1 / tile[1])) if tile else None,
        gain=entry["tflops"] / before.tflops if before.tflops else None,
        over=before.label,
    )
