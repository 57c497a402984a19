"""Which multiprocessor (SM) worked on what, and when: noted by a kernel's blocks on a GPU, replayed elsewhere, or made
by a model."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cupy_or_sim import keys, limits, style, timing

from ..measure import records
from . import span_chart

Rows = Iterable[Sequence[float]]
"""(SM, begin, end) of each piece of work."""


@dataclass(frozen=True)
class Spans:
    """Rows of (SM, begin, end) in microseconds, from the first begin on: {label: rows}. Empty without a record."""

    title: str
    origin: str
    rows: dict[str, np.ndarray]

    def __repr__(self) -> str:
        words = (f"{label}: {self.us(label):.1f} us, {self.busy(label):.0%} busy" for label in self.rows)
        return "\n".join([f"{self.title}: {self.origin}", *words])

    def us(self, label: str) -> float | None:
        """From the first begin to the last end; None where there is no record."""
        return float(self.rows[label][:, 2].max()) if self.rows else None

    def busy(self, label: str, sms: int = 132) -> float | None:
        """The share of this time in which an SM has work, over all of them; None where there is no record."""
        if not self.rows:
            return None
        worked = 0.0
        until: dict[float, float] = {}
        for sm, begin, end in self.rows[label].tolist():  # by SM and begin
            worked += max(end - max(begin, until.get(sm, begin)), 0)
            until[sm] = max(end, until.get(sm, end))
        return worked / (sms * max(until.values()))

    def only(self, *labels: str) -> "Spans":
        """Some of the panels; nothing where there is no record."""
        return replace(self, rows={label: self.rows[label] for label in labels if self.rows})

    def beside(self, other: "Spans") -> "Spans":
        """The panels of both on one scale; a label also says whether it is measured, recorded or modelled."""
        rows = {
            f"{label}, {one.origin.split()[0]}": rows
            for one in (self, other)
            for label, rows in one.rows.items()
        }
        return replace(self, origin=f"{self.origin}; {other.origin}", rows=rows)

    def ends(self, label: str) -> str:
        """When its pieces end, those that an SM makes first, second ..., in words."""
        return f"{label}: {span_chart.ends(self.rows[label])} us" if self.rows else f"{label}: no record"

    def plot(self) -> None:
        """Draw a panel for each label: time from left to right, a line for each SM."""
        if self.rows:
            style.show(*span_chart.drawing(self))
        else:
            print(f"{self.title}: {self.origin}.")


def spans(title: str, make: Callable[[], Mapping[str, Rows]], source: str | None = None) -> Spans:
    """What `make()` returns, {label: rows of (SM, begin, end) in microseconds}.

    With the CUDA `source` whose kernels note their spans, `make` runs on a GPU only; elsewhere the record with this
    title and this source is shown. Without it `make` is a model, and runs on every machine.
    """
    if source is None:
        return Spans(title, "model", _from_zero(make()))
    key = keys.source_key(title, source)
    if noted := limits.made(make):
        rows = _from_zero(noted)
        entry = {
            "title": title,
            "date": timing.today(),
            "spans": {k: v.round(2).tolist() for k, v in rows.items()},
        }
        records.remember("calls", {key: entry})
        return Spans(title, f"noted now on {timing.name()}", rows)
    kept = records.find("calls", key)
    if not kept:
        return Spans(title, "no record: its source was edited, or never measured", {})
    rows = {label: np.array(each) for label, each in kept["spans"].items()}
    return Spans(title, f"recorded on {kept['gpu']}, {kept['date']}", rows)


def _from_zero(noted: Mapping[str, Rows]) -> dict[str, np.ndarray]:
    """The rows as arrays, by SM and begin; time counts from the first begin of each label."""
    found = {}
    for label, rows in noted.items():
        array = np.array(sorted(map(tuple, rows)), np.float64)
        array[:, 1:] -= array[:, 1].min()
        found[label] = array
    return found
