"""Which unit of the GPU is full while a kernel runs, by what Nsight Compute counted."""

from collections.abc import Mapping
from dataclasses import dataclass

from course_lib.check.problem import Problem
from course_lib.instruments.profile import profile
from course_lib.measure import tables

UNITS = {
    "math": ("tensor cores busy, %", "FMA units busy, %"),
    "start": ("cycles with a start, %",),
    "shared": ("shared memory busy, %",),
    "L2": ("memory throughput, %",),
}
"""The counters of a unit. The way from L2 has none of its own: the throughput of memory is that of its busiest part."""
FULL, APART = 75, 5
"""Percent: a unit that is busy for so long is full; so much above shared memory, the busiest part of memory is L2."""


@dataclass(frozen=True)
class FullUnits:
    """Percent of the time in which each unit works, by kernel: `shares[label][unit]`."""

    title: str
    origin: str
    shares: dict[str, dict[str, float]]

    def __getitem__(self, label: str) -> str | None:
        """The full unit, "waiting" where none is full; None without a record."""
        shares = self.shares[label]
        unit = max(shares, key=lambda each: shares[each], default=None)
        return unit and (unit if shares[unit] >= FULL else "waiting")

    def __repr__(self) -> str:
        rows = [("", "full", *UNITS)]
        for label, shares in self.shares.items():
            percent = (f"{share:.0f} %" if share else "-" for share in shares.values())
            rows.append((label, self[label] or "no record", *percent))
        return tables.as_text([self.title, self.origin], rows)


def full_units(gemm: Problem, kernels: Mapping[str, tuple]) -> FullUnits:
    """What is full in each kernel, `{label: (kernel, launch)}`, on this problem: as recorded by Nsight Compute."""
    counted = profile(gemm, kernels, *(metric for metrics in UNITS.values() for metric in metrics))
    return FullUnits(gemm.title, counted.origin, {label: _busy(counted.values[label]) for label in kernels})


def _busy(values: Mapping[str, float]) -> dict[str, float]:
    """Percent for each unit; nothing without a record."""
    if not values:
        return {}
    busy = {unit: max(values.get(metric) or 0 for metric in metrics) for unit, metrics in UNITS.items()}
    if busy["L2"] < busy["shared"] + APART:
        busy["L2"] = 0  # that was shared memory
    return busy
