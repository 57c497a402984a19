"""A row of a table of speeds: one kernel, or its peer (a library on the same problem, as cuBLAS)."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeGuard

HEADER = (
    "kernel", "TFLOP/s", "gain", "of peer", "median us", "10-90 %", "registers", "sustained TFLOP/s",
)  # fmt: skip
ALWAYS_SHOWN = ("kernel", "TFLOP/s")
"""Columns that a table has also where no row has anything in them."""


_OF_A_RUN = re.compile(r", run \d+$")


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
    sm_clock_mhz: int | None = None  # of launches like the timed ones, right behind them
    flop_per_clock: int | None = None  # of one SM, at that clock
    sustained: float | None = (
        None  # TFLOP/s of two seconds of launches; with what the chip drew and at what clock
    )
    sustained_mhz: int | None = None
    watts: int | None = None
    limits: str = ""  # why the driver held the clock down meanwhile
    peer: str = ""  # the name of the library beside it
    of_peer: float | None = None  # fraction of its speed in the same run
    intensity: float | None = None  # FLOP per byte that the blocks read from global memory
    gain: float | None = None  # speed over the row `over`; None for the first row and for the peer
    over: str = ""

    def __str__(self) -> str:
        gain = f", {self.gain:.2f} x {self.over}" if self.gain else ""
        fraction = f", {self.of_peer:.0%} of {self.peer}" if self.of_peer and not self.is_peer else ""
        return f"{self.tflops:.1f}{gain}{fraction}"

    @property
    def is_peer(self) -> bool:
        return self.label == self.peer

    def cells(self) -> tuple[str, ...]:
        """The row of the printed table, as `HEADER` names it."""
        if not self.tflops:
            return self.label, *"-" * (len(HEADER) - 1)
        return (
            self.label,
            f"{self.tflops:.1f}",
            f"{self.gain:.2f}" if self.gain else "-",
            f"{self.of_peer:.0%}" if self.of_peer else "-",
            f"{self.median_us:,.0f}",
            f"{self.p10_us:,.0f}-{self.p90_us:,.0f}" if self.p10_us and self.p90_us else "-",
            str(self.registers or "-"),
            f"{self.sustained:.0f} at {self.sustained_mhz} MHz, {self.watts} W" if self.sustained else "-",
        )


class Speed(Protocol):
    """A row of which there is a measurement, or a model: it has these numbers."""

    label: str
    origin: str
    gpu: str
    peer: str
    tflops: float
    median_us: float
    p10_us: float | None
    p90_us: float | None
    of_peer: float
    intensity: float

    @property
    def is_peer(self) -> bool: ...


def has_speed(row: Row) -> TypeGuard[Speed]:
    return bool(row.tflops)


def origins(rows: Iterable[Row | Speed]) -> str:
    """Where the numbers of these rows come from; more than one place where a GPU could not run them all. Not which of
    several runs: a share is of the peer in its own."""
    return "; ".join(dict.fromkeys(_OF_A_RUN.sub("", row.origin) for row in rows if row.tflops))


def marks(rows: Sequence[Row | Speed]) -> dict[str, str]:
    """{origin: its mark behind the names of its rows}: "" for that of the first row with a speed, then stars."""
    known_first = sorted(rows, key=lambda row: not row.tflops)
    return {
        origin: "*" * number for number, origin in enumerate(dict.fromkeys(r.origin for r in known_first))
    }


def names(rows: Sequence[Row | Speed]) -> list[str]:
    """Their labels, each with the mark of where it comes from."""
    marked = marks(rows)
    return [f"{row.label} {marked[row.origin]}".strip() for row in rows]


class Measured(Protocol):
    """Rows of one problem, as pictures take them."""

    title: str
    kind: str  # dtype and layout
    rows: tuple[Row, ...]
    most_intensity: float  # FLOP per byte, if A, B and C are each moved once
