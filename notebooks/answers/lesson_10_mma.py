"""The exercises of what goes deeper from lesson 10: attention on mma.sync."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from course_lib.check import verdict
from course_lib.check.attention import ROUNDED, Attention
from course_lib.check.attention_mistakes import of_heads
from course_lib.check.job import Job
from course_lib.check.mistakes import where_wrong
from cupy_or_sim.launch import Launch
from ptxsim.observe.events import Barrier, Event, Work, in_flight

from .common import MOST_STEPS, demand, demand_kernel, demand_no_hazard, fail

ROWS, SLOT = 64, 64 * 128 * 2
"""Queries of a block, and keys of a tile; bytes of a slot."""
LAUNCH = Launch((ROWS, 128, ROWS), 128, 2 * SLOT)
FOUR_SLOTS = LAUNCH.but(shared_mem=4 * SLOT)
LENGTHS = ((1, 1), (3, 2), (2, 1))
"""Launches of 10.4: tiles of queries, and as many of keys; heads."""
HEADS_OF_TILES = ((1, 2), (2, 1))
"""More launches of 10.5: tiles of queries, and heads."""
BESIDES = 2
"""Barriers of a block outside its loop: for Q, and before O goes through the slots."""

Seen = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Which keys a query sees, for columns of queries and rows of keys."""


def _before(query: np.ndarray, key: np.ndarray) -> np.ndarray:
    """Who sees which key, as it should be."""
    return key <= query


MISTAKES: tuple[tuple[str, str, Seen], ...] = (
    ("not-masked", "every query sees all keys of its block's tiles", lambda q, k: k >= 0 * q),
    ("own-key", "no query sees its own key", lambda q, k: k < q),
    ("one-more", "each query sees one key of the future", lambda q, k: k <= q + 1),
    ("reversed", "a query sees the keys behind it", lambda q, k: k >= q),
    ("upper-rows", "rows 8 to 15 of a warp see what rows 0 to 7 may", lambda q, k: k <= q - q % 16 // 8 * 8),
    ("first-warp", "every warp sees what the first one may", lambda q, k: k <= q - q % ROWS // 16 * 16),
    ("first-block", "every block sees what the first one may", lambda q, k: k <= q % ROWS),
    ("first-tile", "no key is hidden behind the first tile, as if keys counted from each tile's first",
     lambda q, k: k % ROWS <= q),
    ("even-columns", "both columns of a lane are taken for its first", lambda q, k: k - k % 2 <= q),
    ("first-piece", "all pieces of 8 keys are taken for the first",
     lambda q, k: k - k % ROWS // 8 * 8 <= q),
)  # fmt: skip
"""A word for each mistake, in words, and who sees what with it."""


def _attention(problem: Attention, inputs: tuple, seen: Seen, hidden: float = -np.inf) -> np.ndarray:
    """softmax(scale Q @ K.T) @ V in float64, of the keys that each query sees, the others having the score `hidden`;
    NaN where it sees none. A block goes no further than its own tile of keys."""
    query, key = np.arange(problem.queries)[:, None], np.arange(problem.keys)
    sees, read = seen(query, key), key // ROWS <= query // ROWS
    rows = []
    for q, k, v in zip(*(of_heads(each.astype(float), problem.heads) for each in inputs), strict=True):
        scores = np.where(read, np.where(sees, problem.form.scale * (q @ k.T), hidden), -np.inf)
        with np.errstate(invalid="ignore"):
            weights = np.exp2(scores - scores.max(axis=1, keepdims=True))
            rows.append(weights @ v / weights.sum(axis=1, keepdims=True))
    return np.concatenate(rows)


def _off(problem: Attention, inputs: tuple, result: np.ndarray, seen: Seen, hidden: float = -np.inf) -> str:
    """Where the result is not this softmax, in words; "" where it is."""
    Q, K, V = inputs
    expected, largest = (_attention(problem, (Q, K, values), seen, hidden) for values in (V, abs(V)))
    known = ~np.isnan(expected).any(axis=1)
    return where_wrong(result[known], expected[known], ROUNDED * largest[known], "O")


def _causal(answer: Any) -> None:
    """A softmax of the keys that are not behind the query."""
    demand_kernel(answer)
    for tiles, heads in LENGTHS:
        problem, random = Attention(heads, tiles * ROWS, tiles * ROWS), np.random.default_rng(tiles)
        inputs = tuple(random.standard_normal((problem.M, problem.N)).astype(np.float16) for _ in "QKV")
        args, report = problem.simulated(answer, inputs, LAUNCH, MOST_STEPS)
        demand_no_hazard(report)
        seen_in = partial(_off, problem, inputs, problem.result(args))
        if wrong := seen_in(_before):
            for cause, words, seen in MISTAKES:
                demand(seen_in(seen), f"with {problem.keys} keys {words}.", cause)
            zero = f"with {problem.keys} keys a key that a query may not see has the score 0."
            demand(seen_in(_before, 0.0), zero, "score-0")
            fail(f"with {problem.keys} keys: {wrong}", "wrong-numbers")


def _one_barrier(answer: Any) -> None:
    """A right attention with one barrier in each turn of its loop."""
    demand_kernel(answer)
    count = len(re.findall(r"\bSLOTS\s*=\s*4, AHEAD\s*=\s*2\b", answer.code))
    demand(count == 1, "leave `SLOTS = 4, AHEAD = 2` in its line.", "other-slots")
    job = Job(answer, Attention(1, ROWS, ROWS), FOUR_SLOTS)
    events = verdict.check(job, 0, MOST_STEPS, verdict.ONE_BLOCK, HEADS_OF_TILES).events
    barriers = max(sum(isinstance(event, Barrier) for event in of_warp) for of_warp in events) - BESIDES
    demand(
        barriers <= verdict.MOST,
        f"the numbers are right, and a warp comes to {barriers} barriers in {verdict.MOST} turns.",
        "more-barriers",
    )
    hidden = max(
        sum(bool(sum(groups)) for event, groups, _ in in_flight(of_warp) if _multiplies(event))
        for of_warp in events
    )
    everywhere = max(sum(map(_multiplies, of_warp)) for of_warp in events)
    demand(
        hidden > everywhere / 2,
        "the numbers are right, and nothing is on its way while a warp multiplies: the wait behind the copies of the "
        "next tile waits for these, too.",
        "nothing-ahead",
    )


def _multiplies(event: Event) -> bool:
    return isinstance(event, Work) and bool(event.math)


EXERCISES = {"10.4": _causal, "10.5": _one_barrier}
