"""The exercises of lesson 10: a softmax that goes on, and attention one product ahead."""

from typing import Any

import numpy as np

from course_lib.check import verdict
from course_lib.check.attention import Attention
from course_lib.check.attention_mistakes import ONLINE, Online
from course_lib.check.job import Job
from course_lib.check.mistakes import where_wrong
from cupy_or_sim.launch import Launch
from cupy_or_sim.simulate import simulate
from ptxsim.observe.events import Wgmma, WgmmaWait

from .common import MOST_STEPS, demand, demand_kernel, demand_no_hazard, fail

TILE, ROWS = 8, 48
"""Scores of a tile; rows: the last block has threads without one."""
TILES = (3, 1, 2, 9)
WARPS = 2
NEAR, NEAR_HALF = 1e-4, 0.02
"""By what part of the largest result float32 may be off; by how much halves up to 8."""
TOO_LARGE = 16
"""2 to the power of it is no half."""
LAUNCH = Launch((128, 128, 128), 384, 2 * 128 * (128 + 4 * 128) + 128)
THREE_CONSUMERS = Launch((192, 128, 128), 512, 2 * 128 * (192 + 4 * 128) + 128)
HEADS_OF_TILES = ((1, 2), (2, 1))
"""More launches: tiles of queries, and heads."""


def _scores(tiles: int) -> np.ndarray:
    """(scores, rows): some rows grow, some fall, some are large, in some the largest comes last, or first, in some all
    behind the first tile are so small that their weights are nothing, and in eight the largest by far has each place of
    a tile once, in one tile after the other from the last on."""
    random = np.random.default_rng(tiles)
    scores = random.normal(0, 2, (tiles * TILE, ROWS))
    scores[:, ::3] += np.arange(tiles * TILE)[:, None]
    scores[:, 1::3] -= np.arange(tiles * TILE)[:, None]
    scores[:, ::2] += np.where(np.arange(ROWS)[::2] % 4, 900, -900)
    scores[TILE:, 5::7] -= 1000
    for place, row in enumerate(range(5, ROWS, 6)):
        scores[(tiles - 1 - place) % tiles * TILE + place, row] = 1000
    return scores.astype(np.float32)


def _rows(answer: Any) -> None:
    """A softmax of each row, over one to nine tiles."""
    demand_kernel(answer)
    for tiles in TILES:
        scores, v = _scores(tiles), np.linspace(-3, 5, tiles * TILE, dtype=np.float32)
        result = np.full(ROWS, np.nan, np.float32)
        args = (scores, v, result, np.int32(ROWS), np.int32(tiles * TILE))
        report = simulate(answer, (2,), (32,), args, max_steps=MOST_STEPS)
        demand_no_hazard(report)
        _demand_right(
            result, scores.T.astype(float), v[:, None].astype(float), f"with {tiles * TILE} scores a row: "
        )
        asked, loads = report.counters.total.global_requests - WARPS, WARPS * tiles * TILE
        demand(
            asked <= 2.5 * loads,
            f"the numbers are right, and each warp loads {asked / WARPS:.0f} times for rows of {tiles * TILE} scores: "
            "a score and its `v` are enough, once each.",
            "read-again",
        )


def _demand_right(result: np.ndarray, scores: np.ndarray, V: np.ndarray, when: str) -> None:
    """Raise what is wrong with the results of rows, and which mistake makes them so."""
    expected = Online()(scores, V, TILE)[:, 0]
    if not (wrong := where_wrong(result[:, None], expected[:, None], NEAR * abs(expected).max(), "O")):
        return
    if np.isinf(result).any() or np.isnan(result).any():
        fail(
            f"{when}some results are no numbers: a power of two was too large, or nothing was summed.",
            "too-large",
        )
    for cause, words, solve in ONLINE:
        with np.errstate(over="ignore", invalid="ignore"):
            mistaken = solve(scores, V, TILE)[:, 0]
        if np.allclose(result, mistaken, rtol=NEAR, atol=NEAR * abs(expected).max()):
            fail(f"{when}O is a softmax {words}.", cause)
    fail(f"{when}{wrong}", "wrong-numbers")


def demand_ahead(answer: Any) -> None:
    """A right attention, with a product at work while the softmax is."""
    demand_kernel(answer)
    job = Job(answer, Attention(1, 128, 128), LAUNCH)
    events = verdict.check(job, 0, MOST_STEPS, verdict.ONE_BLOCK, HEADS_OF_TILES).events
    for warp, of_warp in enumerate(events):
        left = [event.keep for event in of_warp if isinstance(event, WgmmaWait)]
        if any(isinstance(event, Wgmma) for event in of_warp):
            demand(
                sum(keep == 1 for keep in left) >= verdict.MOST - 1,
                f"the numbers are right. Of {verdict.MOST} tiles, warp {warp} begins the softmax of "
                f"{sum(keep == 1 for keep in left)} while a product is at work; {verdict.MOST - 1} can be.",
                "in-turn",
            )


def _seldom(answer: Any) -> None:
    """A right attention of three consumers, which rescales O only where a weight would be too large."""
    demand_kernel(answer)
    job = Job(answer, Attention(1, 192, 128), THREE_CONSUMERS)
    verdict.check(job, 0, MOST_STEPS, verdict.ONE_BLOCK, HEADS_OF_TILES)
    never, always = (_instructions_where_scores_grow(job, step) for step in (1, TOO_LARGE))
    demand(
        always - never > 12 * 64 * (verdict.MOST - 1) / 2,
        "the numbers are right, and nothing is saved: where the largest score of a row grows by 1 from tile to tile, "
        f"by {verdict.MOST - 1} in all, a block executes {never:,} instructions; where it grows by {TOO_LARGE}, "
        f"{always:,}.",
        "often",
    )


def _instructions_where_scores_grow(job: Job, step: int) -> int:
    """By `step` from tile to tile: what a block's warps execute. Raises what is wrong with the result."""
    problem = Attention(1, 192, verdict.MOST * 128, 1.0)
    Q, K, V = (np.zeros((rows, 128), np.float16) for rows in (192, problem.keys, problem.keys))
    Q[:, 0], K[:, 0], V[:] = 1, np.arange(problem.keys) // 128 * step, np.arange(128) % 9
    args, report = job.on(problem).simulated((Q, K, V), MOST_STEPS)
    if wrong := where_wrong(args[3], problem.expected(Q, K, V), NEAR_HALF, "O"):
        fail(
            f"where the largest score of a row is {step} larger in each tile than in the one before: {wrong}",
            "grown",
        )
    return report.counters.total.instructions


EXERCISES = {"10.1": _rows, "10.2": demand_ahead, "10.3": _seldom}
