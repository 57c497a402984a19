"""Where the tensor cores rest in a kernel of lessons 07 and 08, in cycles of the clock that its warps read."""

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
