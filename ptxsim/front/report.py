"""What a launch in the simulator found: the report that a learner reads."""

import html
import re
from dataclasses import dataclass, field
from pathlib import Path

from ..compiler.nvrtc import find_header, header_inside
from ..gpus import Gpu
from ..ground.foreign import printable
from ..ground.interrupts import MessageOnly
from ..observe.counters import CounterTable
from ..observe.events import Event
from ..races.hazards import FATAL, Hazard, Note
from .kernel import Kernel, meant_for
from .occupancy import LaunchResources, launch_resources

CONTEXT = 3  # lines of source shown around a finding


class HazardError(MessageOnly, RuntimeError):
    """A kernel launched through the stand-in for CuPy has a hazard. `kind` is that of the most serious one."""

    def __init__(self, report: "Report") -> None:
        super().__init__(str(report))
        self.report = report
        self.kind = report.hazards[0].kind


@dataclass(frozen=True)
class Report:
    """Findings of one launch. `ok`: there are none. `counters`: see counters.py. `output`: what was printed. `notes`:
    words about what is no fault, and need not go well elsewhere."""

    kernel: Kernel = field(repr=False)
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    hazards: tuple[Hazard, ...]
    counters: CounterTable = field(repr=False)
    events: list[list[Event]] = field(repr=False)
    output: str = field(default="", repr=False)
    shared_mem: int = field(default=0, repr=False)
    notes: tuple[Note, ...] = field(default=(), repr=False)

    @property
    def ok(self) -> bool:
        return not self.hazards

    @property
    def stopped(self) -> bool:
        """Whether a finding ended the launch before the kernel did."""
        return any(h.kind in FATAL for h in self.hazards)

    @property
    def resources(self) -> LaunchResources:
        """Registers, spills, shared memory and occupancy on an H100, or a B200 where it is compiled for that."""
        return self.resources_on(meant_for(self.kernel))

    def resources_on(self, gpu: str | Gpu) -> LaunchResources:
        """The same on another GPU, by its name or architecture: "A100", "sm_86". Compiles the kernel for it."""
        threads = self.block[0] * self.block[1] * self.block[2]
        return launch_resources(gpu, self.kernel, threads, self.shared_mem)

    def brief(self) -> str:
        """The kinds of hazards in one line, the most serious first: what holds for every text of the compiler."""
        return ", ".join(dict.fromkeys(hazard.kind for hazard in self.hazards)) or "no hazard"

    def __repr__(self) -> str:
        kinds = ", ".join(f"{h.kind} at {f'line {h.line}' if h.line else h.place}" for h in self.hazards)
        return f"Report({self.kernel.name}: {kinds or 'no hazard'})"

    def __str__(self) -> str:
        notes = [f"note: {note}" for note in self.notes]
        if self.ok:
            return "\n".join([f"{self.kernel.name}: no hazard found", *notes])
        lines = [f"{self.kernel.name}: {len(self.hazards)} hazard{'s' * (len(self.hazards) > 1)} found"]
        for hazard in self.hazards:
            lines += [str(hazard), *self.quote(hazard)]
        if self.stopped:
            lines.append("The launch stopped there.")
        return "\n".join(lines + notes)

    def quote(self, hazard: Hazard) -> list[str]:
        """The lines of the source that a finding is about."""
        source, wanted = self.kernel.source.splitlines(), [hazard.call_line, hazard.line]
        if hazard.header and not hazard.line:
            name, _, number = hazard.header.rpartition(":")
            source, wanted = _lines_of_header(self.kernel, name), [int(number)]
        return [
            f"    {line:4d} | {printable(source[line - 1].strip())}"
            for line in wanted
            if line and line <= len(source)
        ]

    def _repr_html_(self) -> str:
        """The source around each finding, with a mark in the margin that needs no colour to be seen."""
        if self.ok:
            return f"<p>✓ {'<br>'.join(html.escape(line) for line in str(self).splitlines())}</p>"
        marked = {line for h in self.hazards for line in (h.line, h.call_line) if line}
        source = self.kernel.source.splitlines()
        rows = [_row(f"<b>{html.escape(str(self).splitlines()[0])}</b>")]
        last = 0
        for number, text in enumerate(source, 1):
            if not any(abs(number - line) <= CONTEXT for line in marked):
                continue
            if last and number != last + 1:
                rows.append(_row("      ⋮"))
            last = number
            code = html.escape(text)
            if number in marked:
                kinds = dict.fromkeys(h.kind for h in self.hazards if number in (h.line, h.call_line))
                link = line_link(self.kernel.name, number, str(number), ", ".join(kinds))
                rows.append(_row(f"▶ {' ' * (4 - len(str(number)))}{link}  <b>{code}</b>", hang=8))
            else:
                rows.append(_row(f"  {number:4d}  {code}", hang=8))
            rows += [_finding(hazard, indent=8) for hazard in self.hazards if hazard.line == number]
        for hazard in self.hazards:
            if not hazard.line:
                rows += [*(_row(html.escape(line), hang=8) for line in self.quote(hazard)), _finding(hazard)]
        rows += [_row("The launch stopped there.")] * self.stopped
        rows += [_row(html.escape(f"note: {note}")) for note in self.notes]
        style = "white-space:pre-wrap;border-left:3px solid #D55E00;padding-left:.6em;line-height:1.35;"
        style += "font-family:monospace;word-break:normal;overflow-wrap:break-word"
        return f'<pre style="{style}">{"".join(rows)}</pre>'


def line_link(kernel: str, line: int, shown: str, found: str) -> str:
    """HTML: `shown` as the link `#cuda-line/KERNEL/LINE`, with what was `found` there as its title. KERNEL is the bare
    name, `gemm` of `gemm<float, 4>`; LINE counts the lines of its source from 1.

    It is for an editor that shows the source and knows such links: it puts the cursor there, and marks the line if the
    link has a title. A `<b>` beside the link holds the line's text. Anywhere else a click does nothing.
    """
    bare = re.findall(r"\w+", kernel.partition("<")[0])[-1]
    return f'<a href="#cuda-line/{bare}/{line}" title="{html.escape(found)}">{html.escape(shown)}</a>'


def header_of(kernel: Kernel, name: str) -> Path | None:
    """Where the compiler found a header of this name; None if it is not there now."""
    found = _named(kernel, name)
    return find_header(found, kernel.options) if found else None


def _lines_of_header(kernel: Kernel, name: str) -> list[str]:
    """The text of a header of this name, from where the compiler finds it; [] if it is not there, or in no folder of
    headers: `#line 1 "/any/file"` in a text of somebody else shows nothing of that file."""
    found = _named(kernel, name)
    path = header_inside(found, kernel.options) if found else None
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines() if path else []
    except OSError:
        return []


def _named(kernel: Kernel, name: str) -> str:
    """A header as the PTX names it, with its folder."""
    found = re.search(rf'\.file\s+\d+\s+"([^"]*\b{re.escape(name)})"', kernel.ptx)
    return found[1] if found else ""


def _row(text: str, indent: int = 0, hang: int = 2) -> str:
    """One line of the page, so many characters from the left; what does not fit goes on `hang` further right."""
    style = f"display:block;padding-left:{indent + hang}ch;text-indent:-{hang}ch"
    return f'<span style="{style}">{text}\n</span>'


def _finding(hazard: Hazard, indent: int = 0) -> str:
    return _row(f"<i>⚠ {html.escape(str(hazard))}</i>", indent)
