"""What `benchmark` returns: speeds of several kernels on one problem, as a table and as pictures."""

from __future__ import annotations

import html
from dataclasses import dataclass

from ..draw import style
from . import charts, roofline_chart
from .rows import HEADER, Row


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
