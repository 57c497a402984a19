"""The timeline that the simulator makes of one block by its machine code: what its warps issue, as the phases that the
kernel marks."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from ptxsim import BlockCycles, Issue

from ..check.job import Job
from ..measure import model, records
from .events import Entry, Event, KeptPart, Part, Phase, in_order, shares, to_rows
from .regions import Regions

SHOWN = 4  # k-tiles of a part


def entry(job: Job) -> Entry:
    """The entry of a timeline as the simulator's clock sees one block of this problem.

    Raises Untraceable for a kernel that it cannot follow.
    """
    block = model.block_by_machine_code(job)
    events = _events(block, job.kernel.code)
    parts: dict[Part, KeptPart] = {}
    for name, (begin, end) in _times_of_parts(events).items():
        shown = [event.moved(-begin) for event in events if event.end > begin and event.begin < end]
        length = max(event.end for event in shown)
        length = min(round(end - begin), length) if end < math.inf else length
        spans = _cut(block.spans, begin, begin + length)
        parts[name] = {"rows": to_rows(in_order(shown)), "length": length, "spans": spans}
    steady = [Event(*row) for row in parts["steady"]["rows"]]
    about = records.about(job) | {
        "gpu": block.gpu.name,
        "date": model.trust(block),
        "resident": block.resident,
        "turn": round(block.mean_turn),
        "turn_drawn": round(block.turn),
        "shares": shares(steady, parts["steady"]["length"]),
    }
    return cast(Entry, {**about, "parts": parts})


def _times_of_parts(events: list[Event]) -> dict[Part, tuple[float, float]]:
    """Where each part begins and ends: where the first warp comes to the math of a k-tile, since copies run ahead."""
    work = [event for event in events if event.phase == "math"] or events
    begins = {
        k: min(event.begin for event in work if event.k_tile == k) for k in {event.k_tile for event in work}
    }
    last = max(begins)
    for k in range(last):  # math that is too short for a mark begins with that before it
        begins.setdefault(k, begins.get(k - 1, min(begins.values())))
    # of each tile the last k-tile
    behind = sorted({event.k_tile for event in events if event.phase == "epilogue"})
    tile = behind[0] + 1 if len(behind) > 1 else 0
    middle = tile + tile // 4 if tile else max((last + 1) // 2 - 1, 0)
    parts: dict[Part, tuple[float, float]] = {
        "start": (min(event.begin for event in events), begins.get(SHOWN, math.inf)),
        "steady": (begins[middle], begins.get(middle + SHOWN, math.inf)),
        "end": (begins[max(last - SHOWN + 2, 0)], math.inf),
    }
    if tile:
        behind_seam = [event.begin for event in work if event.k_tile == tile + SHOWN // 2]
        parts["seam"] = begins[tile - SHOWN // 2], max(behind_seam, default=math.inf)
    return parts


def _cut(spans: Mapping[str, Iterable[tuple[float, float]]], begin: float, end: float) -> dict:
    """The uses of units between two times, of those that are used there; time counts from the first of them."""
    found: dict[str, list[list[int]]] = {}
    for unit, uses in spans.items():
        for first, last in uses:
            if last > begin and first < end:
                use = [round(max(first, begin) - begin), round(min(last, end) - begin)]
                found.setdefault(unit, []).append(use)
    return found


@dataclass
class _Stretch:
    """Instructions of a warp, one behind the other, in one phase; None: in none that the kernel marks."""

    phase: Phase | None
    issues: list[Issue]

    def event(self, warp: int) -> Event:
        """Of the k-tile of its middle: where its first instructions belong may be unsure."""
        k_tile = max(self.issues[len(self.issues) // 2].k_tile, 0)
        return Event(warp, self.phase or "", k_tile, round(self.issues[0].begin), round(self.issues[-1].end))


def _events(block: BlockCycles, source: str) -> list[Event]:
    """The phases of all warps, but those that took no time."""
    regions = Regions.of(source)
    phase_at = {one.address: regions.at(one.line, one.call_line) for one in block.instructions}
    found = [
        stretch.event(warp)
        for warp, issues in enumerate(block.warps)
        for stretch in _stretches(issues, phase_at)
        if stretch.phase
    ]
    return [event for event in found if event.end > event.begin]


def _stretches(issues: Iterable[Issue], phase_at: dict[int, Phase | None]) -> list[_Stretch]:
    """What is neither math nor memory nor waiting belongs to what a warp is in the middle of; behind a wait, to what
    comes next."""
    stretches = [_Stretch(None, [])]
    between: list[Issue] = []
    for issue in issues:
        last = stretches[-1].phase
        if not issue.use and last in ("wait", "barrier"):
            between.append(issue)
            continue
        phase = _phase(issue, phase_at[issue.address], last)
        if phase != last or between:
            stretches.append(_Stretch(phase, between))
            between = []
        stretches[-1].issues.append(issue)
    return stretches


def _phase(issue: Issue, marked: Phase | None, last: Phase | None) -> Phase | None:
    """`marked`: of the instruction's line, which says little of math: the compiler moves that, and mixes up its lines.
    `last`: what the warp was in the middle of."""
    if issue.use == "math":
        return marked if marked in ("epilogue", "softmax", "values") else "math"
    if marked and issue.use:
        return marked
    if issue.use == "shared" and last:
        return "math"  # it loads what is multiplied
    return None if issue.use in ("wait", "barrier", "store") else last
