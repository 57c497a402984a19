"""The timeline that the simulator's clock makes of one block: its segments as the phases of the lessons."""

import math
from bisect import bisect_right
from dataclasses import replace
from itertools import groupby
from typing import cast

from cupy_or_sim.kernel import Kernel
from ptxsim.clock import ARITHMETIC, TENSOR_CORES, Segment

from ..check.job import Job
from . import model, records
from .events import Entry, Event, KeptPart, Part, Phase, in_order, to_rows

SHOWN = 4  # k-tiles of a part


def entry(job: Job) -> Entry:
    """The entry of a timeline as the simulator's clock sees one block of this problem on an H100."""
    estimate = model.by_ptx(job)
    warps = sorted({segment.warp for segment in estimate.segments})
    of_warps = [[segment for segment in estimate.segments if segment.warp == warp] for warp in warps]
    known = any(segment.k_tile >= 0 for segment in estimate.segments)
    events = _with_k_tiles_known(of_warps) if known else _with_k_tiles_guessed(of_warps)
    spans = _resources(job.kernel, estimate.spans)
    about = records.about(job) | {"gpu": estimate.gpu.name, "date": model.BY_PTX}
    parts: dict[Part, KeptPart] = {}
    for name, (begin, end) in _times_of_parts(events).items():
        shown = [event.moved(-begin) for event in events if event.end > begin and event.begin < end]
        length = (
            min(round(end - begin), max(event.end for event in shown))
            if end < math.inf
            else max(e.end for e in shown)
        )
        parts[name] = {
            "rows": to_rows(in_order(shown)),
            "length": length,
            "spans": _cut(spans, begin, begin + length),
        }
    return cast(Entry, {**about, "parts": parts})


def _times_of_parts(events: list[Event]) -> dict[Part, tuple[float, float]]:
    """Where each part begins and ends: where the first warp comes to the math of a k-tile, since copies run ahead."""
    work = [event for event in events if event.phase == "math"] or events
    begins = {
        k: min(event.begin for event in work if event.k_tile == k) for k in {event.k_tile for event in work}
    }
    last = max(begins)
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


def _cut(spans: dict, begin: float, end: float) -> dict:
    """The uses of resources between two times; time counts from the first of them."""

    def inside(found: list) -> list[list[int]]:
        kept = ((max(b, begin), min(e, end)) for b, e in found if e > begin and b < end)
        return [[round(b - begin), round(e - begin)] for b, e in kept]

    return {name: inside(found) for name, found in spans.items()}


def _resources(kernel: Kernel, spans: dict) -> dict:
    """What the clock calls arithmetic are the tensor cores of a kernel with mma.sync. With wgmma they work on their
    own, beside what little arithmetic is left."""
    if TENSOR_CORES in spans:
        return {name: found for name, found in spans.items() if name != ARITHMETIC}
    return {TENSOR_CORES if name == ARITHMETIC and "mma" in kernel.code else name: found
            for name, found in spans.items()}  # fmt: skip


def _with_k_tiles_known(of_warps: list[list[Segment]]) -> list[Event]:
    """The events of warps that wait at mbarriers: their segments know the k-tile."""
    events = []
    for segments in of_warps:
        for _, of_k_tile in groupby(segments, key=lambda segment: segment.k_tile):
            events += _phases(_behind_wgmma(list(of_k_tile)))
    return events


def _behind_wgmma(segments: list[Segment]) -> list[Segment]:
    """Of a k-tile: where stores, or work on results, follow its wgmma, all that follows counts as stores."""
    last = {segment.phase: at for at, segment in enumerate(segments)}
    math = last.get("wgmma", len(segments))
    if math > max(last.get("store", 0), last.get("math", 0)):
        return segments
    return [*segments[: math + 1], *(replace(segment, phase="store") for segment in segments[math + 1 :])]


def _with_k_tiles_guessed(of_warps: list[list[Segment]]) -> list[Event]:
    """A k-tile begins with its copy; for a warp that copies nothing, with what follows the math of the last one."""
    phases = [_phases(segments) for segments in of_warps]
    copies = next((_begins(mine, "copy") for mine in phases if _begins(mine, "copy")), [])
    events = []
    for mine in phases:
        consumer = copies and not _begins(mine, "copy")
        starts = [mine[0].begin, *_begins(mine, "math", after=1)] if consumer else copies
        events += [replace(each, k_tile=max(bisect_right(starts, each.begin) - 1, 0)) for each in mine]
    return events


def _begins(events: list[Event], phase: Phase, after: int = 0) -> list[int]:
    """When the events of a phase begin, or those that come `after` them."""
    return [later.begin for event, later in zip(events, events[after:], strict=False) if event.phase == phase]


def _phases(segments: list[Segment]) -> list[Event]:
    """What a warp does in these segments: loads into registers, and the stores to shared memory behind them, are its
    copy; what comes between two stores of results belongs to its epilogue. All are of the first one's k-tile."""
    events: list[Event] = []
    last = ""
    for segment in segments:
        phase = {"load": "copy", "store": "epilogue", "wgmma": "math"}.get(segment.phase, segment.phase)
        if phase == "math" and last == "load":
            phase = "copy"
        elif phase == "math" and events and events[-1].phase == "epilogue":
            phase = "epilogue"
        if events and events[-1].phase == phase:
            events[-1] = replace(events[-1], end=round(segment.end))
        else:
            k_tile = max(segment.k_tile, 0)
            events.append(Event(segment.warp, phase, k_tile, round(segment.begin), round(segment.end)))
        last = segment.phase
    return events
