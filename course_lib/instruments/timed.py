"""How long calls take that are more, or something else, than one GEMM kernel: timed on a GPU, replayed elsewhere; and
how long a launch would take by the simulator's clock."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cupy_or_sim import keys, limits, timing
from cupy_or_sim.kernel import Kernel
from cupy_or_sim.simulate import compiled
from ptxsim import launch_cycles

from ..measure import records, tables

REPEATS = 20


@dataclass(frozen=True)
class Timed:
    """Microseconds of each call: {label: (10 %, median, 90 %)}. Empty where there is no record."""

    title: str
    origin: str
    calls: dict[str, tuple[float, float, float]]

    def us(self, label: str) -> float | None:
        """The median of a call; None where there is no record."""
        if self.calls and label not in self.calls:
            raise ValueError(f"there is no call {label!r}; calls: {', '.join(self.calls)}")
        return self.calls[label][1] if self.calls else None

    def _table(self) -> list[tuple[str, ...]]:
        if not self.calls:
            return []
        base, (_, base_us, _) = next(iter(self.calls.items()))
        lines = [
            (label, f"{us:,.1f}", f"{low:,.1f}-{high:,.1f}", f"{us / base_us:.3f}")
            for label, (low, us, high) in self.calls.items()
        ]
        return [("", "median us", "10-90 %", f"of {base}"), *lines]

    def __repr__(self) -> str:
        return tables.as_text([f"{self.title}: {self.origin}"], self._table())

    def _repr_html_(self) -> str:
        return tables.as_html([f"{self.title}: {self.origin}"], self._table())


def modelled_us(
    kernel: Kernel, grid: Sequence[int], block: Sequence[int], args: Sequence, shared_mem: int = 0
) -> float:
    """Microseconds of a launch on an H100 by the simulator's clock, which plays the kernel's machine code: a model. The
    arguments are those of `simulate`; arrays are not looked at.

    Raises Untraceable for a kernel whose addresses or branches depend on data.
    """
    return 1000 * launch_cycles(compiled(kernel), grid, block, lambda _: args, 1, shared_mem).ms


def timed(title: str, make: Callable[[], Mapping[str, Callable[[], object]]], source: str) -> Timed:
    """Compare calls that launch kernels of `source`, a text of CUDA.

    `make()` returns {label: call}, the base first; it runs on a GPU only, so its arrays may be large. There, if all
    launches that it prepares fit, each call is timed as `benchmark` times a kernel: REPEATS launches in order and,
    against a drift of the clock, as many in the opposite order. Elsewhere the record with this title and this source is
    shown, and nothing runs.
    """
    key = keys.source_key(title, source)
    if calls := limits.made(make):
        entry = _measure(calls)
        records.remember("calls", {key: {"title": title, **entry}})
        return _shown(title, f"measured now on {timing.name()}", entry)
    kept = records.find("calls", key)
    if not kept:
        return Timed(title, "no record: its source was edited, or never measured", {})
    return _shown(title, f"recorded on {kept['gpu']}, {kept['date']}", kept)


def _measure(calls: Mapping[str, Callable[[], object]]) -> dict:
    times = {label: timing.time_launches(call, REPEATS) for label, call in calls.items()}
    for label in reversed(times):
        times[label] = np.append(times[label], timing.time_launches(calls[label], REPEATS))
    us = {label: np.percentile(each, (10, 50, 90)).round(2).tolist() for label, each in times.items()}
    return {"us": us, "repeats": 2 * REPEATS, "date": timing.today()}


def _shown(title: str, origin: str, entry: dict) -> Timed:
    return Timed(title, origin, {label: tuple(us) for label, us in entry["us"].items()})
