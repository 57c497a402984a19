"""Where the tensor cores rest in a kernel of lessons 07 and 08, in cycles of the clock that its warps read."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import mean

from course_lib.timelines.timeline import Timeline


def tile_of(trace: Timeline, k_tiles: int) -> dict[str, int]:
    """The stretches of a block that makes one tile: until the first math, all turns, the way of C; {} without a
    record."""
    if not trace.parts:
        return {}
    first = min(event.begin for event in trace.parts["start"].events if event.phase == "math")
    stores = [event for event in trace.parts["end"].events if event.phase == "epilogue"]
    begin = mean(event.begin for event in stores)
    return {
        "first copy": first,
        "k-tiles": k_tiles * (trace.turn or 0),
        "C": round(max(event.end for event in stores) - begin),
    }


def pause(trace: Timeline) -> int | None:
    """From the end of a tile's math to the first math of the next tile: of the consumers that are marked, the mean.
    None without a record of a seam."""
    if "seam" not in trace.parts:
        return None
    found = []
    for done in (event for event in trace.parts["seam"].events if event.phase == "epilogue"):
        after = [
            event.begin
            for event in trace.parts["seam"].events
            if event.warp == done.warp and event.phase == "math" and event.k_tile > done.k_tile
        ]
        found += [min(after) - done.begin] if after else []
    return round(mean(found)) if found else None


def rest(trace: Timeline) -> int | None:
    """How long the tensor cores' row is empty at the seam of two tiles, the longest time; None without a row or a
    seam."""
    part = trace.parts.get("seam")
    rows = [spans for name, spans in part.spans.items() if name.startswith("tensor cores")] if part else []
    gaps = [begin - end for spans in rows for (_, end), (begin, _) in pairwise(spans)]
    return max(gaps, default=None)


def at_seam(trace: Timeline, warps: Sequence[int] = (6, 9)) -> str:
    """In words, the way out at the seam of one warp of each consumer, of those that a timeline draws; how far apart
    they begin; and how long the tensor cores rest, where that is known."""
    if "seam" not in trace.parts:
        return f"{trace.title}: no record of a seam"
    stores = {event.warp: event for event in trace.parts["seam"].events if event.phase == "epilogue"}
    drawn = [stores[warp] for warp in warps]
    ways = ", ".join(f"{event.end - event.begin:,} in warp {event.warp}" for event in drawn)
    begins, unused = [event.begin for event in drawn], rest(trace)
    return f"{trace.title}, {trace.source}: ways out {ways}; begun {max(begins) - min(begins):,} apart" + (
        f"; tensor cores rest {unused:,}" if unused else ""
    )
