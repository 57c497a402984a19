"""Rows of the tensor cores and of the stores below a recorded timeline: marks of warps do not show when they work, the
model does."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from course_lib.check.problem import Problem
from course_lib.timelines.events import Shown
from course_lib.timelines.timeline import Timeline, timeline
from cupy_or_sim.kernel import Kernel
from cupy_or_sim.launch import Launch

UNIT, STORES = "tensor cores", "stores"
ROW, STORES_ROW = f"{UNIT}, model", f"{STORES}, model"
GROUP = 4
"""Warps of a warpgroup: a `wgmma` begins when the last of them has come."""
Key = tuple[str, int]
"""A phase and a k-tile."""


def with_tensor_cores(
    shown: Timeline, kernel: Kernel, gemm: Problem, launch: Launch, stores: bool = False
) -> Timeline:
    """The timeline of a kernel with a row more: when the tensor cores work by the model, laid on its k-tiles; and with
    `stores` another one, when results are on their way to global memory."""
    if not shown.parts:
        return shown
    model = timeline(kernel, gemm, launch, model=True)
    units = (UNIT, STORES) if stores else (UNIT,)
    parts = {
        part: replace(each, spans=laid(each, model.parts[part], units)) if part in model.parts else each
        for part, each in shown.parts.items()
    }
    below = f"{', '.join(units)}: model of an {model.gpu}, laid on these k-tiles"
    return replace(shown, parts=parts, below=below)


def laid(recorded: Shown, model: Shown, units: Sequence[str] = (UNIT,)) -> dict[str, list[list[int]]]:
    """{row: when its unit works}, in cycles of the record: as long as in the model behind the begin of a k-tile's math,
    or of the last epilogue, and not beyond the next such begin. What reaches the edge of the model's part goes on."""
    mine, its = _begins(recorded), _begins(model)
    pairs = sorted((its[key], mine[key]) for key in mine.keys() & its.keys())
    if not pairs:
        return {}
    there = [time for time, _ in pairs]

    def here(time: int) -> int:
        if time in (0, model.length):
            return recorded.length if time else 0
        at = max(bisect_right(there, time) - 1, 0)
        later = [begin for _, begin in pairs[at + 1 : at + 2]]
        return min(max(pairs[at][1] + time - there[at], 0), *later, recorded.length)

    return {
        f"{unit}, model": [[here(begin), here(end)] for begin, end in model.spans[unit]]
        for unit in units
        if unit in model.spans
    }


def _begins(shown: Shown) -> dict[Key, int]:
    """When the first warpgroup begins the math of each k-tile, and the last one its epilogue, behind the begin of this
    part. In the steady state k-tiles count from the first one there, since a model shows others."""
    of_groups: dict[Key, dict[int, int]] = {}
    for event in shown.events:
        if event.phase in ("math", "epilogue") and event.begin >= 0:
            groups = of_groups.setdefault((event.phase, event.k_tile), {})
            group = event.warp // GROUP
            groups[group] = max(event.begin, groups.get(group, 0))
    found = {key: _MEANT[key[0]](groups.values()) for key, groups in of_groups.items()}
    if not found or any(phase == "epilogue" for phase, _ in found):
        return found
    first = min(k_tile for _, k_tile in found)
    return {(phase, k_tile - first): begin for (phase, k_tile), begin in found.items()}


_MEANT = {"math": min, "epilogue": max}
