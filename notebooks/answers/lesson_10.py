"""The exercises of lesson 10: a softmax that goes on, and attention one product ahead."""

import math
import re
from functools import partial, reduce
from typing import Any

import numpy as np

from course_lib.check import verdict
from course_lib.check.attention import SCALE, Attention
from course_lib.check.attention_mistakes import ONLINE, Online
from course_lib.check.job import Job
from course_lib.check.mistakes import where_wrong
from course_lib.check.verdict import CheckFailed
from cupy_or_sim import cupy_on_numpy
from cupy_or_sim.launch import Launch
from cupy_or_sim.simulate import simulate
from ptxsim import Report
from ptxsim.observe.events import Wgmma, WgmmaWait, Work

from .common import FEW, MOST_STEPS, Warps, demand, demand_also, demand_kernel, demand_no_hazard, fail, told
from .untried import Untried

TILE, ROWS = 8, 48
"""Scores of a tile; rows: the last block has threads without one."""
TILES = (3, 1, 2, 9)
WARPS = 2
OF_SCORES = 4
"""Of a kernel's parameters (S, v, O, rows, n)."""
NEAR, NEAR_HALF = 1e-4, 0.02
"""By what part of the largest result float32 may be off; by how much halves up to 8."""
TOO_LARGE = 16
"""2 to the power of it is no half."""
LITTLE, LESS, MORE, FAR = 1, 62, 63, 126
"""By how much a row's largest score grows: with the lesson's scale a weight would be 2^0.1, 2^7.9, 2^8.03, 2^16.1."""
LAUNCH = Launch((128, 128, 128), 384, 2 * 128 * (128 + 4 * 128) + 128)
THREE_CONSUMERS = Launch((192, 128, 128), 512, 2 * 128 * (192 + 4 * 128) + 128)
HEADS_OF_TILES = ((1, 2), (2, 1))
"""More launches: tiles of queries, and heads."""
WAITED_FOR_FIRST = re.compile(r"wgmma_wait<1>\(\);((?!softmax\(|exp2).)*?wgmma_wait<0>\(\)", re.DOTALL)
"""No exponential stands between the two waits."""
KEYS_ARE_THERE = "mbarrier_wait(&s.k_full[slot], turn % 2);"
VALUES_TOO = " mbarrier_wait(&s.v_full[slot], turn % 2);"
NEXT_KEYS = " if (tile + 1 < tiles) mbarrier_wait(&s.k_full[(tile + 1) % SLOTS], (tile + 1) / SLOTS % 2);"
TWO_PRODUCERS = (
    ("tile < tiles && threadIdx.x < 32;", "tile < tiles && threadIdx.x < 64;"),
    ("mbarrier_wait(&s.k_empty[slot], (turn", "if (threadIdx.x < 32) mbarrier_wait(&s.k_empty[slot], (turn"),
    ("mbarrier_wait(&s.v_empty[slot], (turn", "if (threadIdx.x >= 32) mbarrier_wait(&s.v_empty[slot], (turn"),
    (
        "threadIdx.x == 0) {\n                mbarrier_expect(&s.v_full",
        "threadIdx.x == 32) {\n                mbarrier_expect(&s.v_full",
    ),
)
"""What makes a warp of its own ask for the values, so that keys come as soon as their slot is free."""
AT_A_CALL = (
    ("unwaited-copy", re.compile(r"start_scores(?!.*start_values)"), "other-keys"),
    ("deadlock", re.compile(r"__syncthreads"), "all-threads"),
)
"""A kind of hazard, what its line calls: the word for both."""
ROWS_WRONG = (
    *ONLINE,
    (
        "summed-early",
        "whose tiles are summed before the factor, so that it counts for their own weights, too",
        Online(summed_early=True),
    ),
    ("base-e", "with powers of e in place of 2", Online(weight_of=math.e, factor_of=math.e)),
    ("base-e", "whose weights are powers of e, and whose factors are powers of 2", Online(weight_of=math.e)),
)
"""Of 10.1, as ONLINE: a word, in words, how it computes."""


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
    """A softmax of each row, over one to nine tiles, and over others that the kernel treats apart."""
    demand_kernel(answer)
    for tiles in TILES:
        _demand_rows(answer, tiles)
    for tiles in Untried(answer).k_tiles(TILE, TILES, OF_SCORES):
        seen = f"right with {max(TILES) * TILE} scores a row, and not with more"
        demand_also(partial(_demand_rows, answer, tiles), seen, "many-scores")


def _demand_rows(kernel: Any, tiles: int) -> None:
    scores, v = _scores(tiles), np.linspace(-3, 5, tiles * TILE, dtype=np.float32)
    result = np.full(ROWS, np.nan, np.float32)
    args = (scores, v, result, np.int32(ROWS), np.int32(tiles * TILE))
    report = simulate(kernel, (WARPS,), (32,), args, max_steps=MOST_STEPS)
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
    wrong = np.flatnonzero(~np.isclose(result, expected, rtol=0, atol=NEAR * abs(expected).max()))
    if not wrong.size:
        return
    numbers = np.isfinite(result)
    for cause, words, solve in ROWS_WRONG if numbers.any() else ():
        with np.errstate(over="ignore", invalid="ignore"):
            mistaken = solve(scores, V, TILE)[:, 0]
        near = np.isclose(result, mistaken, rtol=NEAR, atol=NEAR * abs(expected).max())
        if near[numbers].all() and not (numbers & np.isnan(mistaken)).any():
            fail(f"{when}O is a softmax {words}.", cause)
    demand(numbers.any(), f"{when}no result is a number, in any row.", "never-a-number")
    if not numbers.all():
        fail(
            f"{when}some results are no numbers: a power of two was too large, nothing was summed, or it was "
            "divided by a sum that was still 0.",
            "too-large",
        )
    row = wrong[0]
    fail(
        f"{when}{wrong.size} of {ROWS} results are wrong. The first is row {row}: expected {expected[row]:g}, "
        f"got {result[row]:g}.",
        "wrong-numbers",
    )


def demand_ahead(answer: Any) -> Warps:
    """A right attention, with a product at work while the softmax is: what its warps do."""
    demand_kernel(answer)
    events = _checked(Job(answer, Attention(1, 128, 128), LAUNCH)).events
    for warp, of_warp in enumerate(events):
        left = [event.keep for event in of_warp if isinstance(event, WgmmaWait)]
        if any(isinstance(event, Wgmma) for event in of_warp):
            demand(
                sum(keep == 1 for keep in left) >= verdict.MOST - 1,
                f"the numbers are right. In {sum(keep == 1 for keep in left)} of {verdict.MOST} tiles a product is at "
                f"work when warp {warp} begins its softmax; it can be in {verdict.MOST - 1}.",
                "in-turn",
            )
    return events


def _checked(job: Job) -> verdict.Verdict:
    """The verdict, with more tiles of keys, too, where the kernel treats their number apart."""
    more = Untried(job.kernel).k_tiles(job.launch.tile[2], (*FEW, *verdict.ONE_BLOCK))
    steps = MOST_STEPS * (1 + max(more, default=0) // verdict.MOST)
    try:
        return verdict.check(job, 0, steps, (*more, *verdict.ONE_BLOCK), HEADS_OF_TILES)
    except CheckFailed as error:
        tiles = error.problem.K // job.launch.tile[2] if error.problem else 0
        demand(
            tiles <= verdict.MOST,
            f"right with {verdict.MOST} tiles of keys, and not with {tiles} of them: {told(error)}",
            "many-k-tiles",
        )
        raise


def _ahead(answer: Any) -> None:
    """The same, and a slot is free when it has been read, and no sooner or later. The kernel is changed: a warp of its
    own asks for the values, so that keys that are freed too soon are written over. Then each turn begins when its own
    values are there, too, which have to come before the turn that reads the ones before is over, and the next keys,
    which have to come into the slot that the turn before has read."""
    try:
        _demand_beside_the_softmax(answer, demand_ahead(answer))
    except CheckFailed as error:
        if word := _at_a_call(error, answer):
            raise CheckFailed(str(error), causes=(word,)) from None  # no kind: it would point elsewhere
        raise
    two = reduce(lambda code, change: code.replace(*change), TWO_PRODUCERS, answer.code)
    demand_also(
        partial(demand_no_hazard, _of_a_block(answer, two)),
        "the numbers are right, by luck: keys are asked for behind the values of the tile before. With a warp for "
        "keys alone",
        "early-keys",
    )

    def go_on(waits: str) -> bool:
        return _of_a_block(answer, two.replace(KEYS_ARE_THERE, KEYS_ARE_THERE + waits)).ok

    if go_on(VALUES_TOO + NEXT_KEYS):
        return
    demand(
        go_on(NEXT_KEYS),
        "the numbers are right, but no tile's keys can be on their way before the turn that needs them: a slot of keys "
        "is freed a turn too late.",
        "late-keys",
    )
    fail(
        "the numbers are right, but no tile's values can be on their way before the turn with its softmax is over: "
        "a slot of values is freed a turn too late.",
        "late-values",
    )


def _demand_beside_the_softmax(answer: Any, warps: Warps) -> None:
    """The products left at work are not waited for before the exponentials, by the text and by what is done."""
    behind = [
        next((event for event in of_warp[at + 1 :] if isinstance(event, (Work, WgmmaWait))), None)
        for of_warp in warps
        for at, event in enumerate(of_warp)
        if isinstance(event, WgmmaWait) and event.keep == 1
    ]
    demand(
        any(isinstance(event, Work) for event in behind) or not WAITED_FOR_FIRST.search(answer.code),
        "the numbers are right. A product is at work behind `wgmma_wait<1>()`, and it is waited for before the "
        "exponentials: beside them nothing is.",
        "waited-early",
    )


def _at_a_call(error: CheckFailed, answer: Any) -> str:
    """The word of AT_A_CALL for the first hazard; "" if there is none."""
    for hazard in error.hazards[:1]:
        line = answer.code.splitlines()[hazard.line - 1]
        for kind, call, word in AT_A_CALL:
            if hazard.kind == kind and call.search(line):
                return word
    return ""


def _of_a_block(answer: Any, code: str) -> Report:
    """What the simulator says of this code in the place of the answer's, with as many tiles as the check has."""
    kernel = cupy_on_numpy.RawKernel(code, answer.name, options=answer.options)
    problem = Attention(1, 128, verdict.MOST * 128).exact()
    return Job(kernel, problem, LAUNCH).simulated(problem.integers(0), MOST_STEPS)[1]


def _seldom(answer: Any) -> None:
    """A right attention of three consumers, which rescales O only where a weight would be above 2^8."""
    demand_kernel(answer)
    job = Job(answer, Attention(1, 192, 128), THREE_CONSUMERS)
    verdict.check(job, 0, MOST_STEPS, verdict.ONE_BLOCK, HEADS_OF_TILES)
    _instructions_where_scores_grow(job, TOO_LARGE, verdict.MOST, 1.0)
    executed = {
        step: _instructions_where_scores_grow(job, step, 2, SCALE) for step in (LITTLE, LESS, MORE, FAR)
    }
    rescaled = {step: count > executed[FAR] - 12 * 64 / 2 for step, count in executed.items()}
    for step, asked, so, cause in (
        (LITTLE, False, "and nothing is saved: O is rescaled", "often"),
        (LESS, False, "and O is rescaled too early,", "early"),
        (MORE, True, "and O is not rescaled", "late"),
    ):
        demand(
            rescaled[step] == asked,
            f"the numbers are right, {so} where the largest score of a row grows by {step}, and its weight would be "
            f"2^{step * SCALE:.2f} with the old maximum.",
            cause,
        )


def _instructions_where_scores_grow(job: Job, step: int, tiles: int, scale: float) -> int:
    """By `step` from tile to tile: what a block's warps execute. Raises what is wrong with the result."""
    problem = Attention(1, 192, tiles * 128, scale)
    Q, K, V = (np.zeros((rows, 128), np.float16) for rows in (192, problem.keys, problem.keys))
    Q[:, 0], K[:, 0], V[:] = 1, np.arange(problem.keys) // 128 * step, np.arange(128) % 9
    args, report = job.on(problem).simulated((Q, K, V), MOST_STEPS)
    if wrong := where_wrong(args[3], problem.expected(Q, K, V), NEAR_HALF, "O"):
        fail(
            f"where the largest score of a row is {step} larger in each tile than in the one before: {wrong}",
            "wrong-numbers" if np.isfinite(args[3]).all() else "grown",
        )
    return report.counters.total.instructions


EXERCISES = {"10.1": _rows, "10.2": _ahead, "10.3": _seldom}
