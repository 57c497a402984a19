"""Where every cycle went: of each source line, how long a warp stood there and for what, without a GPU.

The simulator plays the kernel's machine code on one SM of an H100 (ptxsim/docs/clock.md). It is a model.
"""

from __future__ import annotations

import html
from dataclasses import dataclass

import ptxsim
from course_lib.check.job import Job
from course_lib.check.problem import Problem
from course_lib.measure import model
from cupy_or_sim.kernel import Kernel
from cupy_or_sim.launch import Launch
from cupy_or_sim.simulate import compiled

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
}
"""Of each reason, in the order in which a bar has them: a letter and a colour."""


@dataclass(frozen=True)
class Bubbles:
    """The time of one launch, as a warp spends it: `lines[line][reason]` in cycles, 0 for what has no line. They sum to
    `cycles`, the launch's on the SM that has most to do. `reasons`: those of `ptxsim.REASONS`."""

    kernel: ptxsim.Kernel
    title: str
    launch: ptxsim.LaunchCycles
    lines: dict[int, dict[str, float]]

    @property
    def cycles(self) -> float:
        return self.launch.cycles

    @property
    def reasons(self) -> dict[str, float]:
        """By reason, the share of the whole time; the largest first."""
        total: dict[str, float] = {}
        for found in self.lines.values():
            for reason, cycles in found.items():
                total[reason] = total.get(reason, 0.0) + cycles / self.cycles
        return dict(sorted(total.items(), key=lambda one: -one[1]))

    def at(self, line: int | str) -> dict[str, float]:
        """By reason, the share of the whole time that a warp spends at a source line, given by its number or by a part
        of its text. Raises ValueError."""
        numbers = {line} if isinstance(line, int) else self._lines_with(line)
        total: dict[str, float] = {}
        for number in numbers:
            for reason, cycles in self.lines.get(number, {}).items():
                total[reason] = total.get(reason, 0.0) + cycles / self.cycles
        return dict(sorted(total.items(), key=lambda one: -one[1]))

    def _lines_with(self, text: str) -> set[int]:
        found = {at for at, line in enumerate(self.kernel.source.splitlines(), 1) if text in line}
        if not found:
            raise ValueError(f"no line of {self.kernel.name} contains {text!r}")
        return found

    def _shown(self) -> list[tuple[int, float, dict[str, float]]]:
        """Lines that take long enough: number, share of the time, cycles by reason."""
        shares = (
            (line, sum(found.values()) / self.cycles, found) for line, found in sorted(self.lines.items())
        )
        return [one for one in shares if one[1] >= LEAST]

    def _text(self, line: int) -> str:
        source = self.kernel.source.splitlines()
        return source[line - 1].strip() if 0 < line <= len(source) else "(no line of this kernel)"

    def __repr__(self) -> str:
        rows = self._shown()
        longest = max(share for _, share, _ in rows)
        lines = [self.title, self._said()]
        for line, share, found in rows:
            bar = "".join(
                LOOKS[reason][0] * round(found.get(reason, 0.0) / self.cycles / longest * WIDTH)
                for reason in LOOKS
            )
            lines.append(f"{line or '':>4} {share:6.1%}  {bar:{WIDTH + 2}} {self._text(line)[:60]}")
        lines.append(
            "  ".join(f"{LOOKS[reason][0]} {reason} {part:.0%}" for reason, part in self._reasons_shown())
        )
        return "\n".join(lines)

    def _said(self) -> str:
        one = self.launch
        return (
            f"modelled on machine code, {one.gpu.name} at {one.clock_mhz:,.0f} MHz: {one.ms:.3g} ms; "
            f"{one.resident} block{'s' * (one.resident != 1)} on an SM, {one.cycles_per_k_tile:,.0f} cycles a k-tile"
        )

    def _reasons_shown(self) -> list[tuple[str, float]]:
        return [(reason, part) for reason, part in self.reasons.items() if part >= LEAST]

    def _repr_html_(self) -> str:
        return _drawing(self)


def bubbles(kernel: Kernel, gemm: Problem, launch: Launch) -> Bubbles:
    """Where the cycles of this launch go, by source line and reason: modelled on the machine code for an H100.

    A line's time is what a warp spends from its instruction before until it issues one of this line; the mean of all
    warps. "issues" is work, all else is waiting: for the result of shared memory, of copies and so on; for the pipe
    that another instruction has; because another warp goes first. Raises Untraceable for a kernel whose addresses or
    branches depend on data, or which has an instruction that the model does not know.
    """
    one = compiled(kernel)
    modelled = model.by_machine_code(Job(kernel, gemm, launch))
    line_of = {each.address: each.line or each.call_line or 0 for each in modelled.instructions}
    lines: dict[int, dict[str, float]] = {}
    for (address, reason), cycles in modelled.spent.items():
        of_line = lines.setdefault(line_of[address], {})
        name = ptxsim.REASONS[reason]
        of_line[name] = of_line.get(name, 0.0) + cycles
    return Bubbles(one, f"{one.name}, {gemm}", modelled, lines)


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
        parts = [(reason, of_line[reason] / found.cycles) for reason in LOOKS if of_line.get(reason, 0.0) > 0]
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
    head = f"<div>{html.escape(found.title)}<br>{html.escape(found._said())}</div>"
    return f"{head}<div style='{_STYLE}'>{''.join(cells)}</div><div>{keys}</div>"
