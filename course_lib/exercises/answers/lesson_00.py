"""The exercises of lesson 00."""

from __future__ import annotations

import numpy as np

from ptxsim import Report
from ptxsim.observe.events import Store

from ...gpu.simulate import simulate
from .common import FOR_ALL, demand, demand_kernel, demand_no_hazard, demand_whole_sectors

MOST_STEPS = 100_000
"""Of a launch here, which takes some hundreds: an endless loop ends after a second."""


def _outer(kernel: object) -> None:
    demand_kernel(kernel)
    x, y = np.arange(1, 65, dtype=np.float32), np.arange(1, 25, dtype=np.float32)
    C, expected = np.full((64, 24), np.nan, np.float32, order="F"), np.outer(x, y)
    report = simulate(kernel, (2, 3), (256,), (x, y, C, np.int32(64), np.int32(24)), max_steps=MOST_STEPS)
    demand_no_hazard(report)
    demand(not np.array_equal(C.ravel("F"), expected.ravel("C")), "C is stored row by row.", "row-by-row")
    demand(np.array_equal(C, expected), f"{(expected != C).sum()} of {C.size} elements are wrong or missing.")
    demand_whole_sectors(report)


def _difference(kernel: object) -> None:
    demand_kernel(kernel)
    x, y = np.arange(256, dtype=np.float32) ** 2, np.full(256, np.nan, np.float32)
    report = simulate(kernel, (1,), (256,), (x, y), max_steps=MOST_STEPS)
    demand_no_hazard(report)
    expected = np.diff(x, prepend=np.float32(0))
    demand(np.array_equal(y, expected), f"{(expected != y).sum()} of {y.size} elements are wrong or missing.")


def _any_launch(kernel: object) -> None:
    """saxpy, whatever the number of threads; each element by one thread, neighbours by neighbours, shared by all."""
    demand_kernel(kernel)
    for blocks, threads, n in (2, 96, 1000), (1, 32, 1000), (8, 256, 1000), (3, 64, 130):
        total = _saxpy(kernel, blocks, threads, n).counters.total
        if total.global_sectors > total.global_sectors_ideal + total.global_requests:
            demand_whole_sectors(
                _saxpy(kernel, blocks, threads, n)
            )  # more than a start inside a sector costs
    blocks, threads, turns = 2, 64, 4
    warps = _saxpy(kernel, blocks, threads, blocks * threads * turns).events  # of block 0
    taken = [sum(isinstance(event, Store) for event in events) for events in warps]
    for warp, mine in enumerate(taken):
        demand(
            1 <= mine <= turns + turns // 2,
            f"the numbers are right, but with {blocks} x {threads} threads for {blocks * threads * turns} elements "
            f"warp {warp} of block 0 takes {mine} turns, and not {turns}.",
            "other-share",
        )


def _saxpy(kernel: object, blocks: int, threads: int, n: int) -> Report:
    x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
    args = (np.float32(2), x, y, np.int32(n))
    report = simulate(kernel, (blocks,), (threads,), args, max_steps=MOST_STEPS)
    demand_no_hazard(report)
    wrong = int((y != 2 * x + 1).sum())
    demand(not wrong, f"{wrong} of {n} elements are wrong or missing in {blocks} x {threads} threads.")
    return report


EXERCISES = {
    "00.1": (_outer, {
        "row-by-row": "column-major means one column after the other: m + n * M.",
        "wasted-sectors": "the 32 lanes of a warp must take 32 neighbouring rows: the remainder by 32.",
        "": "32 lanes are 32 rows (the remainder by 32), 8 warps are 8 columns (the quotient). "
            "Columns of C have M elements."}),
    "00.3": (_difference, FOR_ALL | {
        "read-after-write": "a barrier that all threads pass must stand between writing the tile and reading it.",
        "": "y[0] is x[0]; every other y[t] is x[t] minus its left neighbour."}),
    "00.2": (_any_launch, {
        "out-of-bounds": "the last turn has fewer elements than threads: the loop ends at n.",
        "block-conflict|read-after-write|write-after-read|write-after-write":
            "two threads work on one element. Start at the thread's number in the grid; step by the number of all.",
        "wasted-sectors": "neighbouring threads must take neighbouring elements in each turn.",
        "other-share": "all threads of all blocks share the work: with twice as many, each does half as much.",
        "": "start at the thread's number in the grid; step by the number of all threads, gridDim.x * blockDim.x; "
            "each element becomes a * x[i] + y[i]."}),
}  # fmt: skip
