"""What the tests and hints of several lessons share."""

from __future__ import annotations

from ...gemm import CheckFailed, Gemm
from ...simulator import Report


def demand(right: object, message: str) -> None:
    """Raise `message` as the finding, unless it is right."""
    if not right:
        raise CheckFailed(message)


def demand_no_hazard(report: Report) -> None:
    """Raise its hazards as the finding, if it has any."""
    if not report.ok:
        raise CheckFailed(str(report), report.hazards)


def checked_gemm(
    answer: object, tile: tuple[int, int, int], threads: int, shared_mem: int = 0, dtype: str = "float32"
) -> None:
    """The answer is a kernel for this launch, or a kernel and the launch that the learner chose for it."""
    right = {"tile": tile, "threads": threads, "shared_mem": shared_mem}
    kernel, launch = answer if isinstance(answer, tuple) else (answer, right)
    demand({"shared_mem": 0, **launch, "tile": tuple(launch["tile"])} == right, f"the launch is {launch}.")
    Gemm(*(4 * size for size in tile), dtype).check(kernel, **launch)


FOR_ALL = {"barrier-divergence|deadlock": "all threads must meet at a barrier: move it out of the if."}
COMPLETE = {
    "read-after-write": "a barrier must stand between writing the tile and reading it.",
    "uninitialised-read": "a part of the tile is never written: count what the copy moves.",
}
ALL_READ = {"write-after-read": "a fast warp overwrites the k-tile that a slow warp still multiplies."}
