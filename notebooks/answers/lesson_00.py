"""The exercises of lesson 00."""

from typing import Any

import numpy as np

from course_lib.check.verdict import CheckFailed
from cupy_or_sim.simulate import simulate
from ptxsim import Report
from ptxsim.observe.events import Store

from .common import demand, demand_kernel, demand_no_hazard, demand_whole_sectors, fail, untried_grids
from .needless import needless_barrier
from .untried import Untried

MOST_STEPS = 100_000
"""Of a launch here, which takes some hundreds: an endless loop ends after a second."""
MOST_BARRIERS = 2
"""Of a thread in 00.3, which needs one; one more does no harm."""
N = 3
"""Of a kernel's parameters (a, x, y, n) in 00.2."""
MOST_TURNS, MANY = 400, 20_000
"""Of 00.2: turns of 512 threads that are tried, and elements from which on a launch may take more steps."""
FEW = 1024
"""The most elements of the first launches of 00.2, which take 8 turns."""


def _outer(kernel: Any) -> None:
    demand_kernel(kernel)
    few = (2, 3), (3, 2)  # blocks of 32 rows, of 8 columns
    for blocks in *few, *untried_grids(Untried(kernel), (32, 8), (3, 3)):
        M, N = 32 * blocks[0], 8 * blocks[1]
        x, y = np.arange(1, M + 1, dtype=np.float32), np.arange(1, N + 1, dtype=np.float32)
        C, expected = np.full((M, N), np.nan, np.float32, order="F"), np.outer(x, y)
        report = simulate(kernel, blocks, (256,), (x, y, C, np.int32(M), np.int32(N)), max_steps=MOST_STEPS)
        if blocks not in few:
            text = f"right with 2 x 3 blocks, and not with {blocks[0]} x {blocks[1]} of them."
            demand(report.ok and np.array_equal(C, expected), text, "many-blocks")
            continue
        demand_no_hazard(report)
        demand(not np.array_equal(C.ravel("F"), expected.ravel("C")), "C is stored row by row.", "row-by-row")
        wrong = f"{(expected != C).sum()} of {C.size} elements are wrong or missing"
        demand(not np.isnan(C[:, 1:8]).all() or np.isnan(C[:, 0]).any(), f"{wrong}.", "one-column")
        missing = np.isnan(C)
        demand(not missing.any() or ((expected != C) & ~missing).any(), f"{wrong}.", "missing")
        demand(np.array_equal(C, expected), f"{wrong}, with M = {M} and N = {N}.", "wrong")
        demand_whole_sectors(report)
        _demand_shares(report, 1, "of the first block")


def _difference(kernel: Any) -> str | None:
    """Differences through the tile, and a clean report. A needless barrier is told."""
    return needless_barrier(kernel, _subtracted(kernel).events, 1, _subtracted)


def _subtracted(kernel: Any) -> Report:
    demand_kernel(kernel)
    x, y = np.arange(256, dtype=np.float32) ** 2, np.full(256, np.nan, np.float32)
    report = simulate(kernel, (1,), (256,), (x, y), max_steps=MOST_STEPS)
    demand_no_hazard(report)
    expected = np.diff(x, prepend=np.float32(0))
    demand(np.array_equal(y, expected), f"{(expected != y).sum()} of {y.size} elements are wrong or missing.")
    moved, enough = report.counters.total.global_sectors, (x.size + y.size) // 8
    if moved > enough + 2:  # one thread may look at x[0] again
        fail(
            f"the numbers are right, but {moved} sectors of x and y move; {enough} are enough.", "from-global"
        )
    _demand_shares(report, 1, "of the block")
    comes = report.counters.total.barriers / len(report.events)  # of a warp
    text = f"the numbers are right, but a thread comes to {comes:.0f} barriers; one is enough."
    demand(comes <= MOST_BARRIERS, text, "many-barriers")
    return report


def _any_launch(kernel: Any) -> None:
    """saxpy, whatever the number of threads; each element by one thread, neighbours by neighbours, shared by all."""
    demand_kernel(kernel)
    for blocks, threads, n in (2, 96, 1000), (4, 64, 130), (3, 64, 130):
        total = _saxpy(kernel, blocks, threads, n).counters.total
        if total.global_sectors > total.global_sectors_ideal + total.global_requests:
            # more than a start inside a sector costs
            demand_whole_sectors(_saxpy(kernel, blocks, threads, n))
    blocks, threads, turns = 2, 64, FEW // 128  # what block 0 does not do, block 1 must have done
    report = _saxpy(kernel, blocks, threads, blocks * threads * turns)
    _demand_shares(report, turns, f"of block 0, with {blocks} x {threads} threads,")
    try:
        for blocks, threads in (3, 100), (2, 20):
            _saxpy(kernel, blocks, threads, 300)
    except CheckFailed as error:
        fail(
            f"right with whole warps, and wrong with {blocks} x {threads} threads: {error}", "part-of-a-warp"
        )
    for blocks, threads in (2, 1024), (40, 32):
        try:
            _saxpy(kernel, blocks, threads, FEW)
        except CheckFailed as error:
            text = f"right with fewer, and wrong with {blocks} blocks of {threads} threads: {error}"
            fail(text, "many-threads")
    _demand_any_n(kernel)


def _demand_any_n(kernel: Any) -> None:
    """saxpy of more elements: in far more turns, and beyond each constant that n or a counter is compared with."""
    more = Untried(kernel, threads=512).blocks({N: 1 / 512}, 8, MOST_TURNS)
    for blocks, threads, n in (1, 32, 4100), *((1, 512, 512 * turns) for turns in more):
        try:
            _saxpy(kernel, blocks, threads, n)
        except CheckFailed as error:
            if error.hazards:
                raise
            fail(f"right with up to {FEW} elements, and not with {n}: {error}", "many-elements")


def _demand_shares(report: Report, turns: int, of: str) -> None:
    """Each warp of the first block writes its part of the result, `turns` times, a quarter more or less; once more
    where its lanes part."""
    for warp, events in enumerate(report.events):
        mine = sum(isinstance(event, Store) for event in events)
        text = f"the numbers are right, but warp {warp} {of} writes {mine} times, and not {turns}."
        demand(turns - turns // 4 <= mine <= turns + max(turns // 4, 1), text, "other-share")


def _saxpy(kernel: Any, blocks: int, threads: int, n: int) -> Report:
    x = np.arange(n, dtype=np.float32)
    old = x[::-1] % 7
    y, expected = old.copy(), 2 * x + old
    args = np.float32(2), x, y, np.int32(n)
    report = simulate(kernel, (blocks,), (threads,), args, max_steps=MOST_STEPS * (1 + n // MANY))
    demand_no_hazard(report)
    wrong = y != expected
    text = f"{wrong.sum()} of {n} elements are wrong or missing in {blocks} x {threads} threads."
    demand(not wrong.any(), text, _what_is_wrong(wrong, y == old, blocks * threads))
    return report


def _what_is_wrong(wrong: np.ndarray, old: np.ndarray, threads: int) -> str:
    """In a word that the hints know: where a result is `wrong`, and where it is still the `old` y."""
    if (wrong & ~old).any():
        return "other-value"
    full_turns = len(wrong) // threads * threads
    return "last-turn-missing" if wrong[full_turns:].any() and not wrong[:full_turns].any() else "missing"


EXERCISES = {"00.1": _outer, "00.3": _difference, "00.2": _any_launch}
