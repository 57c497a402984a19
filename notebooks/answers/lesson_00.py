"""The exercises of lesson 00."""

import numpy as np

from cupy_or_sim.simulate import simulate
from ptxsim import Report
from ptxsim.observe.events import Store

from .common import FOR_ALL, demand, demand_kernel, demand_no_hazard, demand_whole_sectors, fail

MOST_STEPS = 100_000
"""Of a launch here, which takes some hundreds: an endless loop ends after a second."""


def _outer(kernel: object) -> None:
    demand_kernel(kernel)
    for blocks in (2, 3), (3, 2):  # of 32 rows, of 8 columns
        M, N = 32 * blocks[0], 8 * blocks[1]
        x, y = np.arange(1, M + 1, dtype=np.float32), np.arange(1, N + 1, dtype=np.float32)
        C, expected = np.full((M, N), np.nan, np.float32, order="F"), np.outer(x, y)
        report = simulate(kernel, blocks, (256,), (x, y, C, np.int32(M), np.int32(N)), max_steps=MOST_STEPS)
        demand_no_hazard(report)
        demand(not np.array_equal(C.ravel("F"), expected.ravel("C")), "C is stored row by row.", "row-by-row")
        wrong = f"{(expected != C).sum()} of {C.size} elements are wrong or missing"
        demand(not np.isnan(C[:, 1:8]).all() or np.isnan(C[:, 0]).any(), f"{wrong}.", "one-column")
        missing = np.isnan(C)
        demand(not missing.any() or ((expected != C) & ~missing).any(), f"{wrong}.", "missing")
        demand(np.array_equal(C, expected), f"{wrong}, with M = {M} and N = {N}.", "wrong")
        demand_whole_sectors(report)
        _demand_shares(report, 1, "of the first block")


def _difference(kernel: object) -> None:
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


def _any_launch(kernel: object) -> None:
    """saxpy, whatever the number of threads; each element by one thread, neighbours by neighbours, shared by all."""
    demand_kernel(kernel)
    for blocks, threads, n in (2, 96, 1000), (1, 32, 1000), (8, 256, 1000), (3, 64, 130):
        total = _saxpy(kernel, blocks, threads, n).counters.total
        if total.global_sectors > total.global_sectors_ideal + total.global_requests:
            # more than a start inside a sector costs
            demand_whole_sectors(_saxpy(kernel, blocks, threads, n))
    blocks, threads, turns = 2, 64, 8  # what block 0 does not do, block 1 must have done
    report = _saxpy(kernel, blocks, threads, blocks * threads * turns)
    _demand_shares(report, turns, f"of block 0, with {blocks} x {threads} threads,")


def _demand_shares(report: Report, turns: int, of: str) -> None:
    """Each warp of the first block writes its part of the result, `turns` times, a quarter more or less; once more
    where its lanes part."""
    for warp, events in enumerate(report.events):
        mine = sum(isinstance(event, Store) for event in events)
        text = f"the numbers are right, but warp {warp} {of} writes {mine} times, and not {turns}."
        demand(turns - turns // 4 <= mine <= turns + max(turns // 4, 1), text, "other-share")


def _saxpy(kernel: object, blocks: int, threads: int, n: int) -> Report:
    x = np.arange(n, dtype=np.float32)
    old = x[::-1] % 7
    y, expected = old.copy(), 2 * x + old
    args = np.float32(2), x, y, np.int32(n)
    report = simulate(kernel, (blocks,), (threads,), args, max_steps=MOST_STEPS)
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


EXERCISES = {
    "00.1": (_outer, {
        "row-by-row": "column-major means one column after the other. How far apart are two neighbours of a row?",
        "wasted-sectors": "the 32 lanes of a warp must take 32 neighbouring rows: what differs from lane to lane?",
        "one-column": "of each 8 columns only the first is written. The block has one dimension, so threadIdx.y is 0 "
            "in every thread: what else tells its warps apart?",
        "out-of-bounds": "an index leaves x, y or C. Two questions: do the row and the column of a thread stay in its "
            "block's 32 rows and 8 columns? And which of the two is multiplied by the length of a column of C?",
        "missing": "some elements are not written, so others are written by several threads. Which two threads have "
            "the same row and the same column, and what tells them apart?",
        "other-share": "each of the 256 threads takes one element.",
        "": "a block takes 32 rows (one for each lane) and 8 columns (one for each warp). "
            "How many elements has a column of C, for any M?"}),
    "00.3": (_difference, FOR_ALL | {
        "read-after-write": "which thread wrote what this one reads, and what makes sure that it did so before?",
        "from-global": "x is read once, and y written once. The neighbour is in the tile already: what must "
            "happen before you may read it there?",
        "other-share": "each thread computes the difference of its own element.",
        "": "y[0] is x[0]; every other y[t] is x[t] minus its left neighbour."}),
    "00.2": (_any_launch, {
        "out-of-bounds": "the last turn has fewer elements than threads: the loop ends at n.",
        "block-conflict|read-after-write|write-after-read|write-after-write":
            "two threads work on one element. With 2 blocks of 96 threads: which elements does thread 0 of block 1 "
            "take, and who else takes one of them?",
        "last-turn-missing": "what is left over when the threads have made all full turns is never computed. "
            "How many turns do 1000 elements take with 192 threads?",
        "missing": "some elements keep their old y: no thread takes them. With 2 blocks of 96 threads, which ones does "
            "thread 0 of block 1 take in each turn? Sizes come from the launch.",
        "other-value": "an element is not what it should be: it becomes a * x[i] + y[i], with the old y, once.",
        "wasted-sectors": "neighbouring threads must take neighbouring elements in each turn.",
        "other-share": "all threads of all blocks share the work: with twice as many, each does half as much.",
        "": "take 2 blocks of 96 threads, and write down the elements of thread 0 of block 1 in two turns."}),
}  # fmt: skip
