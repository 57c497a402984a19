"""What Nsight Compute counts while a kernel runs: the hardware's own numbers, recorded by `make record`."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from cupy_or_sim import style, timing
from cupy_or_sim.given import check_labelled

from ..check.job import Job
from ..check.problem import Problem
from ..measure import charts, ncu, records, tables


@dataclass(frozen=True)
class Profile:
    """Metrics of several kernels on one problem: `values[label][metric]`; a kernel without a record has none."""

    title: str
    metrics: tuple[str, ...]
    values: dict[str, dict[str, float]]
    origin: str

    def __getitem__(self, label_and_metric: tuple[str, str]) -> float | None:
        """`profile["2 slots", "tensor cores busy, %"]`; None without a record. Raises KeyError for other names."""
        label, metric = label_and_metric
        if metric not in ncu.METRICS:
            raise KeyError(f"there is no metric {metric!r}; metrics: {'; '.join(ncu.METRICS)}")
        return self.values[label].get(metric)

    def __repr__(self) -> str:
        return tables.as_text([self.title, self.origin], self._table())

    def _repr_html_(self) -> str:
        return tables.as_html([self.title, self.origin], self._table())

    def _table(self) -> list[list[str]]:
        rows = ([f"{each.get(metric, '-')}" for each in self.values.values()] for metric in self.metrics)
        return [["", *self.values], *([metric, *row] for metric, row in zip(self.metrics, rows))]

    def plot(self) -> None:
        """Draw the metrics that are percentages as bars."""
        shown = [metric for metric in self.metrics if metric.endswith("%")]
        known = {label: values for label, values in self.values.items() if values}
        if shown and known:
            style.show(*charts.percentages(f"{self.title}\n{self.origin}", shown, known))
        else:
            print(f"{self.title}: nothing to draw. {self.origin}.")


def profile(gemm: Problem, kernels: Mapping[str, tuple], *metrics: str) -> Profile:
    """What Nsight Compute counted of each kernel, `{label: (kernel, launch)}` as for `benchmark`, on this problem.

    `metrics` are names out of `course_lib.measure.ncu.METRICS`; without them all. Profiling needs rights that many
    machines do not give, so the numbers are always those of the record, which `make record` makes with `ncu`.
    """
    check_labelled(kernels)
    if unknown := [metric for metric in metrics if metric not in ncu.METRICS]:
        raise ValueError(f"there is no metric {unknown[0]!r}; metrics: {'; '.join(ncu.METRICS)}")
    jobs = {label: Job(kernel, gemm, launch) for label, (kernel, launch) in kernels.items()}
    keys = {label: records.kernel_key(job) for label, job in jobs.items()}
    if os.environ.get("COURSE_RECORD"):
        counted = ncu.collect(gemm, dict(kernels))
        about = {label: records.about(job) for label, job in jobs.items()}
        found = {
            label: {"gpu": timing.name(), "date": timing.today(), **about[label], "metrics": counted[label]}
            for label in keys
        }
        records.remember("profiles", {keys[label]: entry for label, entry in found.items()})
    else:
        found = {label: records.find("profiles", key) or {} for label, key in keys.items()}
    origin = next(
        (f"recorded by Nsight Compute on {e['gpu']}, {e['date']}" for e in found.values() if e),
        "no record of these kernels as they stand now",
    )
    values = {label: entry.get("metrics", {}) for label, entry in found.items()}
    return Profile(gemm.title, metrics or tuple(ncu.METRICS), values, origin)
