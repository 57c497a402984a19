"""The exercise of what goes deeper from lesson 08: two consumers in turn, with one buffer of results."""

import re
from collections import Counter
from typing import Any

from course_lib.check.gemm import Gemm
from course_lib.check.mistakes import product, where_wrong
from course_lib.check.verdict import CheckFailed
from cupy_or_sim.launch import Launch
from ptxsim import Report
from ptxsim.observe.events import Arrive, Barrier

from .common import demand, demand_kernel
from .lesson_07_ring import MOST_STEPS, SLOT

LAUNCH = Launch((128, 256, 64), 384, 5 * SLOT + 2 * 8192 + 128, 2)
"""A pair of blocks; in shared memory five slots, one buffer of C, and barriers."""
TILES = ((3, 1, 2), (1, 1, 1), (2, 2, 6), (5, 1, 1))
"""Along M, N and K: odd and even numbers of tiles, and k-tiles that are less and more than the slots."""
TURN = 256
"""Threads that meet at a turn: a consumer that waits, and one that only arrives."""
GIVEN = range(5)
"""Numbers of named barriers of the kernel as it comes."""
ORDER = ("barrier-count", "deadlock", "read-after-write", "write-after-read", "write-after-write")
"""What is told first, where one mistake makes several findings."""


def _run(kernel, tiles: tuple[int, int, int], order: int | None) -> Report:
    """Raise what is wrong with a product of so many tiles, or give its report. `order`: of the warps, by its seed."""
    M, N, K = (size * count for size, count in zip(LAUNCH.tile, tiles, strict=True))
    gemm = Gemm(M, N, K, "float16")
    args, report = gemm.simulated(kernel, gemm.integers(seed=0), LAUNCH, MOST_STEPS, order)
    if not report.ok:
        found = sorted(report.hazards, key=lambda h: ORDER.index(h.kind) if h.kind in ORDER else len(ORDER))
        alone = any(each.count != TURN for each in _own_meetings(report))
        demand(not alone or found[0].kind == "barrier-count", str(found[0]), "meets-itself")
        raise CheckFailed(str(found[0]), tuple(found))
    wrong = where_wrong(args[2], product(*args[:2]).astype(gemm.dtype), limit=0.0)
    demand(not wrong, wrong, "wrong-numbers")
    return report


def _own_meetings(report: Report) -> list[Arrive | Barrier]:
    """What the warps do at named barriers that the answer adds."""
    events = (event for mine in report.events for event in mine)
    return [event for event in events if isinstance(event, Arrive | Barrier) and event.id not in GIVEN]


def _left_over(report: Report) -> bool:
    """Whether threads have arrived at such a barrier whose meeting never came about."""
    came = Counter(event.id for event in _own_meetings(report))
    counts = {event.id: event.count or 0 for event in _own_meetings(report)}
    return any(counts[each] and came[each] * 32 % counts[each] for each in came)


def _one_buffer(answer: Any) -> str | None:
    """A right product in the memory that five slots and one buffer take. A remark where an arrival is left over."""
    demand_kernel(answer)
    count = len(re.findall(r"\bSLOTS\s*=\s*5\b", answer.code))
    demand(count == 1, "leave `SLOTS = 5` in its line.", "other-slots")
    reports = [_run(answer, tiles, order) for tiles, order in zip(TILES, (None, 1, 2, 3), strict=True)]
    if not any(map(_left_over, reports)):
        return None
    return (
        "But behind the last tile 128 threads arrive for a consumer that does not come any more: whoever meets at this "
        "number next finds them there. Arrive only if a tile follows."
    )


EXERCISES = {"08.4": _one_buffer}
