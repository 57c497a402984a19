"""What `benchmark` returns: speeds of several kernels on one problem, as a table and as pictures."""

from collections.abc import Callable
from dataclasses import dataclass

from cupy_or_sim import style

from . import charts, roofline_chart, tables
from .rows import ALWAYS_SHOWN, HEADER, Row, Speed, has_speed, marks, names


@dataclass(frozen=True)
class Results:
    """Speeds of several kernels on one problem; last, their peer in each run that they are of (a model knows nothing of
    it)."""

    title: str
    kind: str  # dtype and layout
    rows: tuple[Row, ...]
    most_intensity: float  # FLOP per byte, if A, B and C are each moved once

    def __repr__(self) -> str:
        return tables.as_text(self._heading(), self._table())

    def _repr_html_(self) -> str:
        return tables.as_html(self._heading(), self._table())

    def _heading(self) -> list[str]:
        """The title and where the numbers come from; a line for each mark of rows that come from elsewhere."""
        return [self.title, *(f"{mark} {origin}".strip() for origin, mark in marks(self.rows).items())]

    def _table(self) -> list[tuple[str, ...]]:
        """Header and rows, without the columns in which no row has anything."""
        rows = [(name, *row.cells()[1:]) for name, row in zip(names(self.rows), self.rows)]
        columns = [
            column for column in zip(HEADER, *rows) if column[0] in ALWAYS_SHOWN or {*column[1:]} != {"-"}
        ]
        called = {"gain": self._gain_over(), "of peer": f"of {self.rows[-1].peer}"}
        return [*zip(*((called.get(name, name), *cells) for name, *cells in columns))]

    def _gain_over(self) -> str:
        """The name of the column of gains: "times" what they are counted from."""
        bases = {row.over for row in self.rows if row.gain}
        if len(bases) == 1:
            return f"times {bases.pop()}"
        return (
            "times the row above" if all(row.tflops for row in self.rows) else "times the measured row above"
        )

    @property
    def kernels(self) -> tuple[Row, ...]:
        """The rows without those of the peer."""
        return tuple(row for row in self.rows if not row.is_peer)

    @property
    def _known(self) -> list[Speed]:
        return [row for row in self.rows if has_speed(row)]

    def gain(self, a: str, b: str) -> float | None:
        """How many times as fast kernel `a` is as kernel `b`, both by label; None where one has no record, or another
        GPU's. The peer is that of the kernel's own run."""
        rows = {row.label: row for row in self.rows}
        for label in (a, b):
            if label not in rows:
                raise ValueError(f"there is no row {label!r}; rows: {', '.join(rows)}")
        fast, slow = rows[a], rows[b]
        if fast.is_peer != slow.is_peer:
            share = (slow if fast.is_peer else fast).of_peer
            return share and (1 / share if fast.is_peer else share)
        return fast.tflops / slow.tflops if fast.tflops and slow.tflops and fast.gpu == slow.gpu else None

    def plot(self) -> None:
        """Draw the speeds as bars, with the GPU's ceiling."""
        self._show(self.figure)

    def roofline(self, *others: "Results") -> None:
        """Draw speed over arithmetic intensity, under the ceilings of arithmetic and memory; with `others`, results on
        other problems, in one picture."""
        self._show(lambda: self.roofline_figure(*others))

    def _show(self, draw: Callable[[], style.Drawing]) -> None:
        if self._known:
            style.show(*draw())
        else:
            print(f"{self.title}: nothing to draw. {self.rows[0].origin}.")

    def figure(self) -> style.Drawing:
        """The bars, and their description in words."""
        return charts.bars(self.title, self.kind, self._known)

    def roofline_figure(self, *others: "Results") -> style.Drawing:
        """The roofline, and its description in words."""
        return roofline_chart.roofline([self, *others])
