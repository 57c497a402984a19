"""Where every cycle went: of each source line, how long a warp stood there and for what.

On a GPU Nsight Compute samples it now. Elsewhere it sampled it on a GPU, or the simulator plays the kernel's machine
code on one SM of an H100, or of the GPU here if it is calibrated (ptxsim/docs/clock.md): that is a model.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

import ptxsim
from cupy_or_sim import limits, timing
from cupy_or_sim.kernel import Kernel
from cupy_or_sim.launch import Launch
from cupy_or_sim.simulate import compiled

from ..check.job import Job
from ..check.problem import Problem
from ..measure import model as clock
from ..measure import records, samples

LEAST = 0.005
"""Of a kernel's time: lines with less are left out of text and drawing."""
WIDTH = 40
"""Letters of the longest bar in the text."""
LOOKS = {
    "issues": ("#", "#2a9d4a"),
    "fixed time": ("t", "#a8d5a2"),
    "branch": ("b", "#d8e8c0"),
    "shared memory": ("s", "#e9a23b"),
    "memory queue full": ("q", "#f4d58d"),
    "global memory": ("g", "#c1403d"),
    "copies": ("c", "#e07a6f"),
    "barrier": ("|", "#6a4c93"),
    "pipe busy": ("p", "#3b6ea8"),
    "register banks": ("r", "#8fb8de"),
    "another warp first": (".", "#cfd4da"),
    "other result": ("o", "#9c8f80"),
    samples.OTHER: ("x", "#b9a894"),
}
"""Of each reason, in the order in which a bar has them: a letter and a colour."""
REPEATS = 20
"""Launches whose median is the time of a kernel that is sampled."""


@dataclass(frozen=True)
class Bubbles:
    """The time of one launch, as a warp spends it: `lines[line][reason]`, shares of the whole, 0 for what has no line.
    They sum to 1. The reasons are those of `ptxsim.REASONS` and `samples.OTHER`.

    `origin`: whether this is a model, or measured, where and when, and how long the launch takes. `launch`: what else
    the model says; None of a measurement. `note`: why it was not measured now, where a GPU is.
    """

    kernel: ptxsim.Kernel
    title: str
    origin: str
    lines: ptxsim.Shares
    launch: ptxsim.LaunchCycles | None = None
    note: str = ""

    @property
    def reasons(self) -> dict[str, float]:
        """By reason, the share of the whole time; the largest first."""
        return _summed(self.lines.values())

    def at(self, line: int | str) -> dict[str, float]:
        """By reason, the share of the whole time that a warp spends at a source line, given by its number or by a part
        of its text. Raises ValueError."""
        numbers = {line} if isinstance(line, int) else self._lines_with(line)
        return _summed(self.lines.get(number, {}) for number in numbers)

    def _lines_with(self, text: str) -> set[int]:
        found = {at for at, line in enumerate(self.kernel.source.splitlines(), 1) if text in line}
        if not found:
            raise ValueError(f"no line of {self.kernel.name} contains {text!r}")
        return found

    def _shown(self) -> list[tuple[int, float, dict[str, float]]]:
        """Lines that take long enough: number, share of the time, shares by reason."""
        shares = ((line, sum(found.values()), found) for line, found in sorted(self.lines.items()))
        return [one for one in shares if one[1] >= LEAST]

    def _text(self, line: int) -> str:
        source = self.kernel.source.splitlines()
        return source[line - 1].strip() if 0 < line <= len(source) else "(no line of this kernel)"

    def __repr__(self) -> str:
        rows = self._shown()
        longest = max(share for _, share, _ in rows)
        lines = self._head
        for line, share, found in rows:
            bar = "".join(
                LOOKS[reason][0] * round(found.get(reason, 0.0) / longest * WIDTH) for reason in LOOKS
            )
            lines.append(f"{line or '':>4} {share:6.1%}  {bar:{WIDTH + 2}} {self._text(line)[:60]}")
        lines.append(
            "  ".join(f"{LOOKS[reason][0]} {reason} {part:.0%}" for reason, part in self._reasons_shown())
        )
        return "\n".join(lines)

    @property
    def _head(self) -> list[str]:
        return [self.title, self.origin, *filter(None, [self.note])]

    def _reasons_shown(self) -> list[tuple[str, float]]:
        return [(reason, part) for reason, part in self.reasons.items() if part >= LEAST]

    def _repr_html_(self) -> str:
        return _drawing(self)


def _summed(several: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """By reason; the largest first."""
    total: dict[str, float] = {}
    for found in several:
        for reason, share in found.items():
            total[reason] = total.get(reason, 0.0) + share
    return dict(sorted(total.items(), key=lambda one: -one[1]))


def bubbles(
    kernel: Kernel, gemm: Problem | ptxsim.LaunchCycles, launch: Launch | None = None, model: bool = False
) -> Bubbles:
    """Where the time of this launch goes, by source line and reason: sampled now by Nsight Compute on a GPU, recorded
    or else modelled elsewhere. `model`: modelled, on every machine. Of a kernel that is no matrix product, instead of
    `gemm` and `launch`: what `ptxsim.launch_cycles` says of it.

    A line's time is what a warp spends from its instruction before until it issues one of this line; the mean of all
    warps. "issues" is work, all else is waiting: for the result of shared memory, of copies and so on; for the pipe
    that another instruction has; because another warp goes first. A wait for copies or at a barrier is that of the
    line which says so. The model raises Untraceable for a kernel whose addresses or branches depend on data, or which
    has an instruction that it does not know.
    """
    if isinstance(gemm, ptxsim.LaunchCycles) or launch is None:
        if not isinstance(gemm, ptxsim.LaunchCycles):
            raise ValueError("bubbles(kernel, gemm, launch), or bubbles(kernel, ptxsim.launch_cycles(...))")
        return _of_model(compiled(kernel), gemm, compiled(kernel).name)
    job = Job.given(kernel, gemm, launch)
    if model:
        return _modelled(job)
    note = ""
    if limits.runs_here(kernel, launch):
        try:
            return _measured(job)
        except RuntimeError as why:
            note = f"not measured now: {why}"
    kept = records.find("samples", records.kernel_key(job))
    found = _sampled(job, kept, f"recorded on {kept['gpu']}, {kept['date']}") if kept else _modelled(job)
    return replace(found, note=note)


def _measured(job: Job) -> Bubbles:
    """Raises RuntimeError where ncu is missing, may not count, or saw other machine code."""
    entry = samples.entry(job, samples.sampled(job), limits.this_gpu().arch)
    _, run = job.gemm.prepare(job.kernel, job.gemm.inputs, job.launch)
    ms = float(np.median(timing.burst(run, REPEATS))) / 1000
    entry |= {"date": timing.today(), "ms": round(ms, 4)}
    records.remember("samples", {records.kernel_key(job): records.about(job) | entry})
    return _sampled(job, entry, f"measured now on {timing.name()}, {entry['date']}")


def _sampled(job: Job, entry: Mapping, origin: str) -> Bubbles:
    """A record's entry, in the lines of today's text."""
    one = compiled(job.kernel)
    said = f"{origin}: {entry['ms']:.3g} ms; {entry['samples']:,} samples of Nsight Compute"
    return Bubbles(one, f"{one.name}, {job.gemm}", said, samples.lines_of(entry, one.source))


def _modelled(job: Job) -> Bubbles:
    one = compiled(job.kernel)
    return _of_model(one, clock.by_machine_code(job), f"{one.name}, {job.gemm}")


def _of_model(one: ptxsim.Kernel, launch: ptxsim.LaunchCycles, title: str) -> Bubbles:
    origin = f" ({launch.origin})" if launch.origin else ""
    said = (
        f"modelled on machine code, {launch.gpu.name}{origin} at {launch.clock_mhz:,.0f} MHz: {launch.ms:.3g} ms; "
        f"{launch.resident} block{'s' * (launch.resident != 1)} on an SM, "
        f"{launch.cycles_per_k_tile:,.0f} cycles a k-tile"
    )
    return Bubbles(one, title, said, launch.by_line(), launch)


# --------------------------------------------------------------------------- the drawing

_STYLE = (
    "display:grid;grid-template-columns:3.5em minmax(10em,1fr) minmax(20em,2fr);gap:1px 1em;"
    "font-family:monospace;font-size:.85em;line-height:1.35;text-align:left"
)


LETTER = 0.03
"""Of the longest bar: a part as long as this has its reason's letter in it, for who tells no colours apart."""


def _box(reason: str) -> str:
    colour = LOOKS[reason][1]
    bright = sum(int(colour[at : at + 2], 16) for at in (1, 3, 5)) > 3 * 140
    return (
        f"display:inline-block;background:{colour};color:{'#000' if bright else '#fff'};font-family:monospace;"
        "text-align:center;overflow:hidden;vertical-align:bottom"
    )


def _drawing(found: Bubbles) -> str:
    """Of each line its share of the time, as a bar of its reasons, beside the source."""
    rows = found._shown()
    longest = max(share for _, share, _ in rows)
    cells = []
    for line, share, of_line in rows:
        parts = [(reason, of_line[reason]) for reason in LOOKS if of_line.get(reason, 0.0) > 0]
        said = ", ".join(
            f"{reason} {part:.1%}" for reason, part in sorted(parts, key=lambda one: -one[1]) if part >= 0.001
        )
        bar = "".join(
            f"<span style='{_box(reason)};height:1.2em;width:{100 * part / longest:.2f}%'>"
            f"{LOOKS[reason][0] if part / longest > LETTER else '&nbsp;'}</span>"
            for reason, part in parts
        )
        text = f"{line or '':>3}  {found._text(line)}"
        cells.append(
            f"<div>{share:.1%}</div><div title='{html.escape(said)}' role='img' aria-label='{html.escape(said)}' "
            f"style='white-space:nowrap;overflow:hidden'>{bar}</div>"
            f"<div style='white-space:pre;overflow:hidden;text-overflow:ellipsis'>{html.escape(text)}</div>"
        )
    keys = " ".join(
        f"<span style='white-space:nowrap'><span style='{_box(reason)};width:1.2em'>{LOOKS[reason][0]}</span> "
        f"{reason} {part:.0%}</span>"
        for reason, part in found._reasons_shown()
    )
    head = f"<div>{'<br>'.join(map(html.escape, found._head))}</div>"
    return f"{head}<div style='{_STYLE}'>{''.join(cells)}</div><div>{keys}</div>"
