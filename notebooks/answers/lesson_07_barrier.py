"""The exercises of lesson 07 about mbarrier and wgmma."""

from typing import Any

import numpy as np

from course_lib.check.gemm import Gemm
from cupy_or_sim.launch import Launch
from cupy_or_sim.simulate import simulate
from ptxsim import Report
from ptxsim.observe.events import BulkCopy, Load, MbarrierWait, WgmmaWait

from .common import (
    MOST_STEPS,
    demand,
    demand_all_landed,
    demand_kernel,
    demand_no_hazard,
    fail,
    untried_grids,
)
from .lesson_07_ring import demand_none_behind_the_last
from .untried import Untried, untried

PIECE, THREADS = 512, 128
MANY_COPIES = 4 * MOST_STEPS
"""Of a launch in which each thread copies its own 16 bytes, as in lessons 02 to 05: right, and more than one copy."""
PIECES = 3
"""Of a kernel's parameters (x, y, out, pieces)."""
FEW_PIECES = 1, 2, 5
"""Of the launches that each answer gets."""
AT_WORK = {"unwaited-wgmma", "write-after-read"}
"""What is found where a wgmma has not been waited for."""
HASTY = Launch((64, 256, 64), 128, 320 * 128 + 64)


def _difference(answer: Any) -> None:
    """A kernel whose copy engine brings pieces of two arrays, right for any number of pieces."""
    demand_kernel(answer)
    random = np.random.default_rng(0)
    for pieces in *FEW_PIECES, *untried(answer, 1, FEW_PIECES, PIECES):
        x, y = random.integers(-99, 100, (2, pieces * PIECE)).astype(np.float32)
        out = np.full(pieces * PIECE, np.nan, np.float32)
        args = x, y, out, np.int32(pieces)
        report = simulate(answer, (1,), (THREADS,), args, max_steps=MANY_COPIES)
        demand_no_hazard(report)
        right = x - y.reshape(-1, PIECE)[:, ::-1].ravel()
        wrong = np.flatnonzero(~np.isclose(out, right)) // PIECE
        if len(wrong):
            few = pieces in FEW_PIECES
            seen = "" if few else f"right with {FEW_PIECES[-1]} pieces, and not with {pieces}: "
            text = f"{seen}piece {wrong[0]} of {pieces} is wrong, and there is no hazard."
            fail(text, "wrong-numbers" if few else "many-pieces")
        _demand_the_engine(report, x.nbytes + y.nbytes)
        demand_all_landed(report)
        _demand_both_at_once(report, pieces)


def _demand_the_engine(report: Report, size: int) -> None:
    """Everything comes by the copy engine, and no thread reads global memory."""
    events = [event for mine in report.events for event in mine]
    brought = sum(event.bytes for event in events if isinstance(event, BulkCopy))
    text = f"the numbers are right, but the copy engine brings {brought:,} of {size:,} bytes."
    demand(brought >= size, text, "not-by-copies")
    if any(isinstance(event, Load) for event in events):
        fail("the numbers are right, but threads load from x or y themselves.", "not-by-copies")


def _demand_both_at_once(report: Report, pieces: int) -> None:
    """Whoever waits has started both copies of a piece, or neither."""
    for mine in report.events:
        of_a_piece = sum(event.bytes for event in mine if isinstance(event, BulkCopy)) / pieces
        started = 0.0
        for event in mine:
            if isinstance(event, BulkCopy):
                started += event.bytes
            elif isinstance(event, MbarrierWait) and of_a_piece and started % of_a_piece:
                fail(
                    "the numbers are right, but the second copy starts when the first one has come.",
                    "two-trips",
                )


def _hasty(answer: Any) -> None:
    """A kernel that multiplies one tile right, of one k-tile and of several; and several tiles."""
    demand_kernel(answer)
    (tile_m, tile_n, tile_k), apart = HASTY.tile, Untried(answer)
    for k_tiles in 1, 5, *apart.k_tiles(tile_k, (1, 5)):
        gemm = Gemm(tile_m, tile_n, tile_k * k_tiles, "float16")
        (A, B, C, *_), report = gemm.simulated(answer, gemm.integers(seed=0), HASTY, MOST_STEPS)
        _demand_wait_in_each_turn(report, k_tiles)
        demand_no_hazard(report)
        last = next((k for k in (gemm.K, 64, 16) if np.array_equal(C, _of_the_last(k, A, B))), 0)
        if last not in (0, gemm.K):
            fail(f"of {gemm.K} columns only the last {last} are in the sums.", "only-last-columns")
        text = f"with {k_tiles} k-tile{'s' * (k_tiles > 1)} the product is wrong, and there is no hazard."
        # a wrong step of the descriptors shows with one k-tile
        demand(last, text, "wrong-numbers" if k_tiles == 1 else "many-k-tiles")
        demand_none_behind_the_last(report, k_tiles)
    for down, right in (2, 2), *untried_grids(apart, HASTY.tile, (2, 2)):
        gemm = Gemm(down * tile_m, right * tile_n, tile_k, "float16")
        steps = MOST_STEPS * down * right
        (A, B, C, *_), report = gemm.simulated(answer, gemm.integers(seed=0), HASTY, steps)
        demand_no_hazard(report)
        text = f"right with one block, and with {down} x {right} of them the product is wrong."
        demand(np.array_equal(C, _of_the_last(tile_k, A, B)), text, "many-blocks")


def _demand_wait_in_each_turn(report: Report, k_tiles: int) -> None:
    """Where wgmma are still at work and nothing else is found, each turn waits for them at least, in time or not."""
    if not {hazard.kind for hazard in report.hazards} <= AT_WORK:
        return
    waits = min(sum(isinstance(event, WgmmaWait) for event in mine) for mine in report.events)
    turns = f"{k_tiles} turn{'s' * (k_tiles > 1)}"
    text = f"{report.brief()}: in {turns} a warp waits {waits} time{'s' * (waits != 1)} for its wgmma."
    demand(report.ok or waits >= k_tiles, text, "no-wait-in-a-turn")


def _of_the_last(columns: int, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The product of so many last columns."""
    return (A[:, -columns:].astype("f4") @ B[:, -columns:].astype("f4").T).astype(np.float16)


EXERCISES = {"07.1": _difference, "07.2": _hasty}
