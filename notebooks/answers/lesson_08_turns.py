"""The exercise of what goes deeper from lesson 08: two consumers in turn, with one buffer of results."""

import re
from typing import Any

from course_lib.check.gemm import Gemm
from course_lib.check.mistakes import product, where_wrong
from course_lib.check.verdict import CheckFailed
from cupy_or_sim.launch import Launch

from .common import demand, demand_kernel
from .lesson_07_ring import MOST_STEPS, SLOT

LAUNCH = Launch((128, 256, 64), 384, 5 * SLOT + 2 * 8192 + 128, 2)
"""A pair of blocks; in shared memory five slots, one buffer of C, and barriers."""
TILES = ((3, 1, 2), (1, 1, 1), (2, 2, 6), (5, 1, 1))
"""Along M, N and K: odd and even numbers of tiles, and k-tiles that are less and more than the slots."""
ORDER = ("barrier-count", "deadlock", "read-after-write", "write-after-read", "write-after-write")
"""What is told first, where one mistake makes several findings."""


def _run(kernel, tiles: tuple[int, int, int], order: int | None) -> None:
    """Raise what is wrong with a product of so many tiles. `order`: of the warps, by its seed."""
    M, N, K = (size * count for size, count in zip(LAUNCH.tile, tiles, strict=True))
    gemm = Gemm(M, N, K, "float16")
    args, report = gemm.simulated(kernel, gemm.integers(seed=0), LAUNCH, MOST_STEPS, order)
    if not report.ok:
        found = sorted(report.hazards, key=lambda h: ORDER.index(h.kind) if h.kind in ORDER else len(ORDER))
        raise CheckFailed(str(found[0]), tuple(found))
    wrong = where_wrong(args[2], product(*args[:2]).astype(gemm.dtype), limit=0.0)
    demand(not wrong, wrong, "wrong-numbers")


def _one_buffer(answer: Any) -> None:
    """A right product in the memory that five slots and one buffer take."""
    demand_kernel(answer)
    count = len(re.findall(r"\bSLOTS\s*=\s*5\b", answer.code))
    demand(count == 1, "leave `SLOTS = 5` in its line.", "other-slots")
    for tiles, order in zip(TILES, (None, 1, 2, 3), strict=True):
        _run(answer, tiles, order)


EXERCISES = {
    "08.4": _one_buffer,
}
