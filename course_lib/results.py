"""What `benchmark` returns: speeds of several kernels on one problem, as a table and as pictures."""

from __future__ import annotations

import html
from dataclasses import dataclass

from . import style
from .backend import charts, roofline_chart
from .backend.gpu import CUBLAS

HEADER = (
    "kernel", "TFLOP/s", "gain", "of cuBLAS", "median us", "10-90 %", "registers", "FLOP/clk/SM",
    "sustained TFLOP/s", "origin"
)  # fmt: skip


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
    sm_clock_mhz: int | None = None  # while launches like the timed ones run
    flop_per_clock: int | None = None  # of one SM, at that clock
    sustained: float | None = (
        None  # TFLOP/s of two seconds of launches; with what the chip drew and at what clock
    )
    sustained_mhz: int | None = None
    watts: int | None = None
    limits: str = ""  # why the driver held the clock down meanwhile
    of_cublas: float | None = None  # fraction of cuBLAS in the same run
    intensity: float | None = None  # FLOP per byte that the blocks read from global memory
    gain: float | None = None  # speed over the row `over`; None for the first row and for cuBLAS
    over: str = ""

    def __str__(self) -> str:
        gain = f", {self.gain:.2f} x {self.over}" if self.gain else ""
        fraction = f", {self.of_cublas:.0%} of cuBLAS" if self.of_cublas and self.label != CUBLAS else ""
        return f"{self.tflops:.1f}{gain}{fraction}"

    def cells(self) -> tuple[str, ...]:
        """The row of the printed table, as `HEADER` names it."""
        if not self.tflops:
            return self.label, *"-" * (len(HEADER) - 2), self.origin
        return (
            self.label,
            f"{self.tflops:.1f}",
            f"{self.gain:.2f} x {self.over}" if self.gain else "-",
            f"{self.of_cublas:.0%}" if self.of_cublas else "-",
            f"{self.median_us:,.0f}",
            f"{self.p10_us:,.0f}-{self.p90_us:,.0f}",
            str(self.registers or "-"),
            str(self.flop_per_clock or "-"),
            f"{self.sustained:.0f} at {self.sustained_mhz} MHz, {self.watts} W" if self.sustained else "-",
            self.origin,
        )


@dataclass(frozen=True)
class Results:
    """Speeds of several kernels on one problem, cuBLAS last (a model knows nothing of cuBLAS)."""

    title: str
    kind: str  # dtype and layout
    rows: tuple[Row, ...]
    most_intensity: float  # FLOP per byte, if A, B and C are each moved once

    def __repr__(self) -> str:
        table = self._table()
        widths = [max(map(len, column)) for column in zip(*table)]
        lines = ("  ".join(map(str.ljust, line, widths)).rstrip() for line in table)
        return "\n".join([self.title, *lines])

    def _repr_html_(self) -> str:
        def line(cells: tuple[str, ...], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        header, *rows = self._table()
        lines = line(header, "th") + "".join(line(row, "td") for row in rows)
        return f"<table><caption>{html.escape(self.title)}</caption>{lines}</table>"

    def _table(self) -> list[tuple[str, ...]]:
        """Header and rows, without the columns in which no row has anything."""
        columns = zip(HEADER, *(row.cells() for row in self.rows))
        kept = [column for column in columns if column[0] in HEADER[:2] or {*column[1:]} != {"-"}]
        return [*zip(*kept)]

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

    def roofline(self, *others: Results) -> None:
        """Draw speed over arithmetic intensity, under the ceilings of arithmetic and memory; with `others`, results on
        other problems, in one picture."""
        self._show(lambda: self.roofline_figure(*others))

    def _show(self, draw) -> None:
        if self._known:
            style.show(*draw())
        else:
            print(f"{self.title}: nothing to draw. {self.rows[0].origin}.")

    def figure(self):
        """The bars, and their description in words."""
        return charts.bars(self.title, self.kind, self._known)

    def roofline_figure(self, *others: Results):
        """The roofline, and its description in words."""
        return roofline_chart.roofline([self, *others])
