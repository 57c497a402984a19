"""One block of a kernel with its TRACE macros on, and what the clocks that it wrote mean.

Tracing costs time, and a GPU full of traced blocks would show another kernel than the one that was timed. So the
kernel runs as it is, and one traced block more runs among its blocks: on a stream of higher priority, it takes
the first place that becomes free. It computes the tile in the middle of C once again, into a C of its own.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from itertools import groupby

import numpy as np

from ptxsim.clock.played import ARITHMETIC, TENSOR_CORES, Segment

from ..gpu import device, timing
from ..launch import Launch
from . import model, records
from .events import PHASES, Event, Phase, in_order, to_rows

WARPS, K_TILES = 32, 16

# A phase with nothing in it still takes the time of a clock read: this kernel measures how long that is.
_EMPTY_PHASES = """#include <course/timeline.cuh>
extern "C" __global__ void empty_phases(int k_tiles TRACE_ARG)
{
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
        TRACE_BEGIN(math, k_tile);
        TRACE_END(math, k_tile);
    }
}"""


def measure(kernel, gemm, launch: Launch) -> dict:
    """The entry of a timeline: the tenth try counts, with a warm L2 cache and risen clocks."""
    cp = device.cp
    buffer = cp.zeros((WARPS, len(PHASES), K_TILES, 2), dtype=np.int64)
    empty = cp.RawKernel(_EMPTY_PHASES, "empty_phases", options=(*device.OPTIONS, "-DCOURSE_TRACE"))
    empty((1,), (32,), (np.int32(K_TILES), buffer))
    clocks = cp.asnumpy(buffer)[0, PHASES.index("math")]
    read_cost = int(np.median(clocks[:, 1] - clocks[:, 0]))

    _, run = gemm.prepare(kernel, gemm.inputs, launch)
    traced = cp.RawKernel(kernel.code, kernel.name, options=(*kernel.options, "-DCOURSE_TRACE"))
    if launch.blocks:  # they fill the GPU, and only together they do the work
        _, run_traced = gemm.prepare(traced, gemm.inputs, launch, (buffer,))
    else:
        _, run_traced = gemm.prepare_block(traced, gemm.inputs, launch, (buffer,))
    crowd = cp.cuda.Stream(non_blocking=True)
    single = cp.cuda.Stream(non_blocking=True, priority=-1)
    for _ in range(10):
        buffer.fill(0)
        cp.cuda.Device().synchronize()
        with crowd:
            run()
            run()
        with single:
            run_traced()
        cp.cuda.Device().synchronize()
    events = to_rows(events_of(cp.asnumpy(buffer), read_cost))
    return {"gpu": timing.name(), "read_cost": read_cost, "date": timing.today(), "events": events}


def modelled(kernel, gemm, launch: Launch) -> dict:
    """The entry of a timeline as the simulator's clock sees one block of this problem on an H100."""
    estimate = model.modelled(kernel, gemm, launch)
    warps = sorted({segment.warp for segment in estimate.segments})
    of_warps = [[segment for segment in estimate.segments if segment.warp == warp] for warp in warps]
    known = any(segment.k_tile >= 0 for segment in estimate.segments)
    events = _with_k_tiles_known(of_warps) if known else _with_k_tiles_guessed(of_warps)
    first = min(event.begin for event in events)
    events = [replace(event, begin=event.begin - first, end=event.end - first) for event in events]
    about = records.about(kernel, gemm, launch)
    entry = about | {"gpu": estimate.gpu.name, "read_cost": 0, "date": ""}
    spans = {name: [[round(b - first), round(e - first)] for b, e in found]
             for name, found in _resources(kernel, estimate.spans).items()}  # fmt: skip
    return entry | {"events": to_rows(in_order(events)), "spans": spans}


def _resources(kernel, spans: dict) -> dict:
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


def events_of(buffer: np.ndarray, read_cost: int) -> list[Event]:
    """Events in a trace buffer, int64 [32 warps][5 phases][16 k-tiles][begin, end], by their begin.

    Zeros were never written. Cycles become relative to the first event; each length loses one clock read.
    """
    written = np.argwhere((buffer[..., 0] != 0) & (buffer[..., 1] != 0))
    first = min((buffer[tuple(place)][0] for place in written), default=0)
    events = []
    for warp, phase, k_tile in written.tolist():
        begin, end = (buffer[warp, phase, k_tile] - first).tolist()
        events.append(Event(warp, PHASES[phase], k_tile, begin, max(begin, end - read_cost)))
    return in_order(events)
