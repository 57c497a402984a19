"""More exercises for lesson 10."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from course_lib.check.attention_mistakes import Online
from cupy_or_sim.simulate import simulate
from ptxsim import Report
from ptxsim.gpus import H100
from ptxsim.observe.events import Barrier, Load, Store

from .common import (
    MOST_STEPS,
    Warps,
    demand,
    demand_also,
    demand_kernel,
    demand_no_hazard,
    fail,
    results_of,
    whole_number,
)
from .lesson_10 import NEAR, demand_ahead
from .untried import Untried

LEFT = -987654.0
"""What stands where nothing was written."""


def _near(result: np.ndarray, expected: np.ndarray) -> bool:
    return bool(np.allclose(result, expected, rtol=NEAR, atol=NEAR * abs(expected).max()))


def _demand_written(name: str, result: np.ndarray, when: str) -> None:
    """Each number of a result was written."""
    never = np.argwhere(result == LEFT)
    if len(never):
        place = f"[{', '.join(map(str, never[0]))}]"
        fail(f"{when}{name}{place} is as it was before: nobody wrote it.", "not-stored")


# --------------------------------------------------------------------------- 10.11: parts that come together

HEAD, ROWS = 128, 8
PARTS = (2, 1, 4, 5)
OF_PARTS = 4
"""Of a kernel's parameters (O, most, sum, result, parts, rows)."""
NO_KEY = -np.inf


class _Parts(NamedTuple):
    """What the parts left: results (parts, rows, columns), maxima and sums (parts, rows)."""

    O: np.ndarray  # noqa: E741
    most: np.ndarray
    sum: np.ndarray

    @property
    def empty(self) -> np.ndarray:
        """Whether a row saw no key in a part."""
        return self.most == NO_KEY


def _left(parts: int) -> _Parts:
    """Row 0 sees no key in the last part, row 1 none in the first, row 2 none in any, row 3 keys in the last part only;
    the scores of rows 4 and 5 grow and fall from part to part by hundreds, those of row 5 from far below 0."""
    random = np.random.default_rng(parts)
    most = random.integers(-3, 4, (parts, ROWS)).astype(np.float32)
    most[:, 4] += 400 * np.arange(parts)
    most[:, 5] -= 300 + 400 * np.arange(parts)
    most[:, 2] = most[:-1, 3] = NO_KEY
    if parts > 1:
        most[-1, 0] = most[0, 1] = NO_KEY
    total = random.integers(1, 40, (parts, ROWS)).astype(np.float32)
    O = random.integers(-99, 100, (parts, ROWS, HEAD)).astype(np.float32)  # noqa: E741
    empty = most == NO_KEY
    total[empty] = 0
    O[empty] = np.where(np.arange(HEAD) % 2, np.nan, np.inf)
    return _Parts(O, most, total)


def _merged(
    left: _Parts,
    of_o: bool = True,
    of_sum: bool = True,
    divide: bool = True,
    divided: bool = False,
    base: float = 2.0,
) -> np.ndarray:
    """(rows, columns). `of_o`, `of_sum`: with the parts' factors, powers of `base`; `divided`: as if each O had been
    divided."""
    O = np.where(left.empty[:, :, None], 0, left.O.astype(float))  # noqa: E741
    most, total = left.most.astype(float), left.sum.astype(float)
    largest = np.where(left.empty.all(axis=0), 0, most.max(axis=0))
    factor = base ** (most - largest)
    there = ~left.empty * 1.0
    of_parts = (factor if of_o else there) * (total if divided else 1)
    made = (of_parts[:, :, None] * O).sum(axis=0)
    sums = ((factor if of_sum else there) * total).sum(axis=0)[:, None]
    return made / np.maximum(sums, 1e-300) if divide else made


def _mean_of_parts(left: _Parts) -> np.ndarray:
    parts = np.where(left.empty[:, :, None], 0, left.O.astype(float)) / np.maximum(left.sum, 1)[:, :, None]
    return parts.sum(axis=0) / np.maximum((~left.empty).sum(axis=0), 1)[:, None]


def _some(left: _Parts, which: slice) -> np.ndarray:
    return _merged(_Parts(*(each[which] for each in left)))


MERGED_WRONG: tuple[tuple[str, str, Callable[[_Parts], np.ndarray]], ...] = (
    ("no-factor", "adds results and sums without factors", partial(_merged, of_o=False, of_sum=False)),
    ("o-no-factor", "adds the results without their factors", partial(_merged, of_o=False)),
    ("sum-no-factor", "adds the sums without their factors", partial(_merged, of_sum=False)),
    ("mean-of-parts", "is the mean of what the parts alone would give", _mean_of_parts),
    (
        "divided-already",
        "takes the parts' results as if they had been divided",
        partial(_merged, divided=True),
    ),
    ("not-divided", "is not divided by the sum", partial(_merged, divide=False)),
    ("no-last-part", "leaves out the last part", lambda left: _some(left, slice(-1))),
    ("no-first-part", "leaves out the first part", lambda left: _some(left, slice(1, None))),
    ("base-e", "takes powers of e in place of 2", partial(_merged, base=math.e)),
    ("two-parts", "takes two parts, however many there are", lambda left: _some(left, slice(2))),
)
"""A word for what a wrong kernel does, that in words, and what it gives."""


def _merge(answer: Any) -> None:
    """Right for one to five parts, and others that the kernel treats apart."""
    demand_kernel(answer)
    for parts in PARTS:
        _demand_merged(answer, parts)
    for parts in Untried(answer).k_tiles(1, PARTS, OF_PARTS):
        more = partial(_demand_merged, answer, parts)
        demand_also(more, f"right with {max(PARTS)} parts, and not with {parts}", "many-parts")


def _demand_merged(kernel: Any, parts: int) -> None:
    left, result = _left(parts), np.full((ROWS, HEAD), LEFT, np.float32)
    args = (left.O, left.most, left.sum, result, np.int32(parts), np.int32(ROWS))
    report = simulate(kernel, (ROWS,), (HEAD,), args, max_steps=MOST_STEPS)
    demand_no_hazard(report)
    when, expected = f"with {parts} part{'s' * (parts > 1)} ", _merged(left)
    _demand_written("result", result, when)
    if _near(result, expected):
        _demand_own_row(report, when)
        return
    wrong = np.array(~np.isclose(result, expected, rtol=NEAR, atol=NEAR).all(axis=1))
    numbers = np.array(np.isfinite(result).all(axis=1))
    full, few = ~left.empty.any(axis=0), left.empty.any(axis=0) & ~left.empty.all(axis=0)
    near = full & (left.most.max(axis=0) < 10) & (left.most.min(axis=0) > -10)
    for cause, words, solve in MERGED_WRONG if wrong[near].any() and parts > 1 else ():
        if _near(result[near], solve(left)[near]):
            fail(f"{when}the result {words}.", cause)
    found: list[tuple[np.ndarray, str, str]] = [
        (full & ~numbers, "it sees keys in each part", "no-numbers"),
        (full & wrong, "it sees keys in each part", "wrong-numbers"),
        (few & wrong, "in some parts it sees no key, in others it does", "part-without-keys"),
        (wrong, "it sees no key in any part", "row-without-keys"),
    ]
    for rows, sees, cause in found:
        if rows.any():
            row = np.flatnonzero(rows)[0]
            what = "is wrong" if numbers[row] else "has results that are no numbers"
            fail(f"{when}row {row} {what}, and there is no hazard: {sees}.", cause)


def _demand_own_row(report: Report, when: str) -> None:
    """The numbers are right. A block writes its own row, and all its threads do."""
    stores = [event for mine in report.events for event in mine if isinstance(event, Store)]
    written, right = (
        sum(event.bytes for event in stores) / 4,
        f"the numbers are right, but {when}block 0 writes",
    )
    demand(written == HEAD, f"{right} {written:.0f} numbers, and its row has {HEAD}.", "another-row")
    text = f"{right} its row in {len(stores)} pieces: {HEAD // 32} warps do it in as many."
    demand(len(stores) <= 2 * HEAD // 32, text, "few-threads")


# --------------------------------------------------------------------------- 10.12: who sees which key

TILE, QUERIES = 16, 32
TEXTS = ((64, 10), (32, 47), (64, 0), (96, 15), (64, 100))
"""(queries, keys before the first one)."""
LOW = 47
"""So many keys before, and all scores are far below 0."""
OF_PAST = 5
"""Of a kernel's parameters (S, v, O, done, queries, past)."""
HIDDEN = -1e30


class _Text(NamedTuple):
    """Scores (keys in whole tiles, queries), values, and how many keys there were before the first query."""

    S: np.ndarray
    v: np.ndarray
    past: int

    @property
    def queries(self) -> int:
        return self.S.shape[1]

    def seen(self) -> np.ndarray:
        """(queries, keys): which sees which."""
        return np.arange(len(self.v)) <= self.past + np.arange(self.queries)[:, None]

    def tiles(self) -> list[tuple[int, int]]:
        """Of each block: tiles that it reads, and those that need no test."""
        firsts = self.past + np.arange(0, self.queries, QUERIES)
        return [(int(-(-(first + QUERIES) // TILE)), int((first + 1) // TILE)) for first in firsts]


def _text(queries: int, past: int) -> _Text:
    """The largest scores are of keys that a query does not see, of its last ones, and of the first ones."""
    random = np.random.default_rng(past)
    keys = -(-(past + queries) // TILE) * TILE
    S = random.normal(0, 2, (keys, queries))
    key, last = np.arange(keys)[:, None], past + np.arange(queries)
    S += 6 * (key > last) + 4 * (key == last) + 3 * (key == 0) - 2000 * (past == LOW)
    return _Text(S.astype(np.float32), random.normal(0, 3, keys).astype(np.float32), past)


def _causal_of(text: _Text, seen: np.ndarray, hidden: np.ndarray | float = HIDDEN) -> np.ndarray:
    """(queries,): with the scores of all keys that are not `seen` replaced."""
    scores = np.where(seen, text.S.T.astype(float), hidden)
    with np.errstate(over="ignore", invalid="ignore"):
        return Online()(scores, text.v[:, None].astype(float), TILE)[:, 0]


def _causal_wrong(text: _Text, done: np.ndarray) -> Iterator[tuple[str, str, np.ndarray]]:
    """A word for each common mistake of the test, that in words, and what it gives in the tiles that are read and in
    those of them that are tested, as `done` says."""
    key, query = np.arange(len(text.v)), np.arange(text.queries)[:, None]
    first = query // QUERIES * QUERIES
    tiles, whole = (each[:, None] * TILE for each in np.repeat(done, QUERIES, axis=0).T)
    read, tested = key < tiles, (key >= whole) & (key < tiles)
    own = text.past + query
    for cause, words, seen in (
        ("no-own-key", "query i sees the keys 0 to past + i - 1: one is missing", key < own),
        ("one-key-more", "query i sees the keys 0 to past + i + 1: one is too many", key <= own + 1),
        ("no-past", "query i sees the keys 0 to i: those of the past are forgotten", key <= query),
        ("no-mask", "each query sees all keys that its block reads", read),
        ("first-query", "each query of a block sees what its first one sees", key <= text.past + first),
        ("own-block", "queries are counted from the block's first one", key <= own - first),
        ("upside-down", "a query sees the keys behind past + i in place of those before", key > own),
        ("key-of-tile", "keys are counted from the tile's first one", key % TILE <= own),
    ):
        yield cause, words, _causal_of(text, read & (seen | ~tested))
    if text.past == LOW:  # there a score of -100 does the same
        return
    zero = np.where(tested, 0, HIDDEN)
    yield (
        "score-0",
        "a hidden key has the score 0, and so a weight",
        _causal_of(text, read & (key <= own), zero),
    )


def _causal(answer: Any) -> None:
    """Right, and with no more tiles, and tests, than needed."""
    demand_kernel(answer)
    for queries, past in TEXTS:
        _demand_causal(answer, queries, past)
    tried = [past for _, past in TEXTS]
    for past in Untried(answer).k_tiles(1, tried, OF_PAST):
        more = partial(_demand_causal, answer, QUERIES, past)
        demand_also(more, f"right with {max(tried)} keys before, and not with {past}", "many-keys")


def _demand_causal(kernel: Any, queries: int, past: int) -> None:
    text, result = _text(queries, past), np.full(queries, LEFT, np.float32)
    done = np.full((queries // QUERIES, 2), int(LEFT), np.int32)
    args = (text.S, text.v, result, done, np.int32(queries), np.int32(past))
    demand_no_hazard(simulate(kernel, (len(done),), (QUERIES,), args, max_steps=MOST_STEPS))
    when = f"with {queries} queries and {past} keys before: "
    _demand_written("O", result, when)
    _demand_written("done", done, when)
    right, expected = text.tiles(), _causal_of(text, text.seen())
    if not _near(result, expected):
        _demand_all_seen(done, right, past, when)
        for cause, words, mistaken in _causal_wrong(text, done):
            if _near(result, mistaken):
                fail(f"{when}{words}.", cause)
        query = np.flatnonzero(~np.isclose(result, expected, rtol=NEAR, atol=NEAR))[0]
        low = ("low-scores",) if past == LOW else ()
        of = ", whose scores are far below 0," if low else ""
        fail(f"{when}query {query}{of} has another result, and there is no hazard.", *low, "wrong-numbers")
    _demand_no_work_for_nothing(done, right, when)


def _tiles(count: int) -> str:
    return f"{count} tile" if count == 1 else f"{count} tiles"


def _demand_all_seen(done: np.ndarray, right: list[tuple[int, int]], past: int, when: str) -> None:
    """No block reads too few tiles, or leaves out a test that a tile needs."""
    for block, ((tiles, whole), (all_tiles, all_whole)) in enumerate(zip(done, right, strict=True)):
        if tiles < all_tiles:
            fail(
                f"{when}block {block} reads {_tiles(tiles)}, and its last query sees keys of {all_tiles}.",
                "few-tiles",
            )
        if whole > all_whole:
            key, query = (all_whole + 1) * TILE - 1, block * QUERIES
            fail(
                f"{when}block {block} does not test tile {all_whole}, whose last key is {key}: query {query} sees the "
                f"keys up to {past + query}.",
                "few-tests",
            )


def _demand_no_work_for_nothing(done: np.ndarray, right: list[tuple[int, int]], when: str) -> None:
    """The numbers are right; so are the counts."""
    for block, ((tiles, whole), (all_tiles, all_whole)) in enumerate(zip(done, right, strict=True)):
        right_but = f"the numbers are right, but {when}block {block}"
        if tiles > all_tiles:
            fail(
                f"{right_but} reads {_tiles(tiles)}, and nobody sees a key behind the first {all_tiles}.",
                "many-tiles",
            )
        demand(
            tiles == all_tiles,
            f"{right_but} says {_tiles(tiles)}, and its last query sees keys of {all_tiles}.",
            "few-tiles",
        )
        if whole < all_whole:
            fail(
                f"{right_but} tests tile {max(whole, 0)}, of which all its queries see all keys.",
                "many-tests",
            )
        demand(
            whole == all_whole, f"{right_but} says that tile {all_whole} needs no test; it does.", "few-tests"
        )


# --------------------------------------------------------------------------- 10.13: how many keys has a tile?

BARRIERS = 128
TILES = (
    (128, 2, 2, 200, True),
    (64, 2, 2, 200, True),
    (256, 2, 2, 200, True),
    (256, 1, 2, 200, True),
    (128, 2, 1, 200, False),
    (192, 2, 2, 184, False),
    (64, 3, 3, 120, False),
    (96, 4, 3, 128, True),
    (16, 3, 4, 168, False),
)
"""(head, slots, consumers, room, ahead)."""
Case = tuple[int, int, int, int, bool]


def _by_memory(case: Case, size: int = 2, rings: int = 2, rounds: bool = True, **of: int) -> float:
    """Keys that fit into shared memory. `of`: other numbers of barriers' bytes, consumers with queries, slots."""
    head, slots, consumers, _, _ = case
    left = (
        H100.shared_block - of.get("barriers", BARRIERS) - of.get("consumers", consumers) * 64 * head * size
    )
    keys = left / (rings * of.get("slots", slots) * head * size)
    return int(keys) // 16 * 16 if rounds else int(keys)


def _by_registers(
    case: Case,
    results: float = 0.5,
    scores: float = 0.5,
    weights: float = 0.25,
    ahead: bool | None = None,
    rounds: bool = True,
) -> float:
    """Keys that fit into the registers. A thread has so much of a column of results, of scores, of weights."""
    head, _, _, room, own = case
    keys = int((room - head * results) / (scores + weights * (own if ahead is None else ahead)))
    return keys // 16 * 16 if rounds else keys


Counted = tuple[tuple[str, str, Callable[[Case], float]], ...]
MEMORY_WRONG: Counted = (
    ("not-by-16", "is no multiple of 16, rounded down", partial(_by_memory, rounds=False)),
    ("floats", "takes 4 bytes for a number", partial(_by_memory, size=4)),
    ("one-byte", "takes a byte for a number", partial(_by_memory, size=1)),
    (
        "one-ring",
        "has room for keys and none for values, or the other way round",
        partial(_by_memory, rings=1),
    ),
    ("one-slot", "has one slot in a ring", partial(_by_memory, slots=1)),
    ("no-queries", "has no room for queries", partial(_by_memory, consumers=0)),
    ("queries-once", "has room for the queries of one consumer", partial(_by_memory, consumers=1)),
    ("no-barriers", "has no room for barriers", partial(_by_memory, barriers=0)),
)
REGISTERS_WRONG: Counted = (
    ("not-by-16", "is no multiple of 16, rounded down", partial(_by_registers, rounds=False)),
    (
        "ahead-always",
        "counts scores and weights at the same time in turn, too",
        partial(_by_registers, ahead=True),
    ),
    ("no-weights", "counts scores and results alone ahead, too", partial(_by_registers, ahead=False)),
    ("weights-floats", "counts a register for each weight", partial(_by_registers, weights=0.5)),
    ("no-results", "has no room for results", partial(_by_registers, results=0)),
    ("one-thread", "gives each thread a whole row", partial(_by_registers, results=1, scores=1, weights=0.5)),
    ("half-results", "counts results as halves", partial(_by_registers, results=0.25)),
    ("half-scores", "counts scores as halves", partial(_by_registers, scores=0.25)),
)
"""A word for what a wrong function does, that in words, and its number."""
LIMITS: tuple[tuple[str, Callable[[Case], float], Counted], ...] = (
    ("shared memory", _by_memory, MEMORY_WRONG),
    ("registers", _by_registers, REGISTERS_WRONG),
)
"""What limits the keys, how many it lets, and what wrong functions say."""


def _keys(answer: Any) -> None:
    """The most keys by shared memory, and by registers."""
    given = []
    for case, pair in zip(TILES, results_of(answer, "most_keys", TILES), strict=True):
        call = f"most_keys{case}"
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            fail(f"{call} is {pair!r:.40}: not two numbers.", "no-two-numbers")
        names = (f"the number by {what} of {call}" for what, *_ in LIMITS)
        given.append([whole_number(value, name) for value, name in zip(pair, names)])
    if given == [[_by_registers(case), _by_memory(case)] for case in TILES]:
        fail("the two numbers are right, and in the other order: shared memory comes first.", "other-order")
    for at, (what, right, wrong) in enumerate(LIMITS):
        mine = [pair[at] for pair in given]
        if mine == [right(case) for case in TILES]:
            continue
        for cause, words, count in wrong:
            demand(mine != [count(case) for case in TILES], f"the number by {what} {words}.", cause)
        case, number = next((case, number) for case, number in zip(TILES, mine) if number != right(case))
        side = "more" if number > right(case) else "fewer"
        of = "memory" if at == 0 else "registers"
        fail(f"most_keys{case}: {number} keys by {what}, {side} than the most that fit.", f"{side}-by-{of}")


# --------------------------------------------------------------------------- 10.14: the way out


def _way_out(answer: Any) -> None:
    """As 10.2's, and warpgroups that meet alone, before they store, do so at barriers of their own."""
    events = demand_ahead(answer)
    upper, lower = (_alone(events[first : first + 4]) for first in (4, 8))
    for both in upper & lower:
        fail(
            f"the numbers are right, and any 128 threads of both warpgroups open barrier {both}.",
            "one-barrier",
        )


def _alone(warps: Warps) -> set[int]:
    """The barriers at which 128 threads meet."""
    barriers = [each for of_warp in warps for each in of_warp if isinstance(each, Barrier)]
    return {each.id for each in barriers if each.count == 128}


# --------------------------------------------------------------------------- 10.15: a mean that moves

ROWS_OF_SPREAD = ((3, 100), (2, 5), (2, 32), (1, 33), (1, 1), (2, 1000))
"""(rows, columns)."""
LONG = 13_000
"""Columns that do not fit into 48 KB."""
LARGE = (2, 640)
MEAN = 10_000
"""Of numbers whose spread is 1."""
OF_COLUMNS = 3
"""Of a kernel's parameters (x, mean, variance, columns)."""


def _numbers(rows: int, columns: int, mean: float = 0) -> np.ndarray:
    """Rows that differ in mean and spread, and grow or fall."""
    random = np.random.default_rng(columns)
    x = random.normal(0, 1, (rows, columns)) + mean
    if not mean:
        x = x * (1 + np.arange(rows)[:, None]) + 3 - 5 * np.arange(rows)[:, None]
        x[-1] += np.linspace(-9, 9, columns)
    return x.astype(np.float32)


def _spread(answer: Any) -> None:
    """Mean and variance, each number read once, by whole warps."""
    demand_kernel(answer)
    for rows, columns in ROWS_OF_SPREAD:
        _demand_spread(answer, _numbers(rows, columns), f"with {rows} x {columns} numbers: ")
    _demand_spread(
        answer, _numbers(*LARGE, MEAN), f"with numbers near {MEAN:,} whose spread is 1: ", "large-mean"
    )
    _demand_spread(answer, _numbers(1, LONG), f"with a row of {LONG:,} numbers: ", "long-row")
    tried = [columns for _, columns in ROWS_OF_SPREAD]
    for columns in Untried(answer).k_tiles(1, tried, OF_COLUMNS):
        more = partial(_demand_spread, answer, _numbers(1, columns), "")
        demand_also(more, f"right with other rows, and not with one of {columns} numbers", "other-columns")


def _demand_spread(kernel: Any, x: np.ndarray, when: str, cause: str = "") -> None:
    """Raise what is wrong; `cause`: a word for what is special in these numbers, where the others were right."""
    rows, columns = x.shape
    mean, variance = np.full((2, rows), LEFT, np.float32)
    report = simulate(kernel, (rows,), (32,), (x, mean, variance, np.int32(columns)), max_steps=MOST_STEPS)
    demand_no_hazard(report)
    for name, result in (("mean", mean), ("variance", variance)):
        _demand_written(name, result, when)
    right_mean, right = x.mean(axis=1, dtype=float), x.var(axis=1, dtype=float)
    if not _near(mean, right_mean):
        row = np.flatnonzero(~np.isclose(mean, right_mean, rtol=NEAR, atol=NEAR))[0]
        fail(
            f"{when}mean[{row}] is {mean[row]:g}, and the mean {right_mean[row]:g}.",
            *_if(cause),
            "wrong-mean",
        )
    _demand_variance(variance, right, x, when, cause)
    _demand_read_once(report, rows, columns, when)


def _if(cause: str) -> tuple[str, ...]:
    return (cause,) if cause else ()


def _same(variance: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Of which rows. A mean of 10,000 so far is rounded to a thousandth, each time that it moves."""
    return np.isclose(variance, right, rtol=0.005, atol=1e-6)


def _demand_variance(variance: np.ndarray, right: np.ndarray, x: np.ndarray, when: str, cause: str) -> None:
    """Raise what is wrong with the variances, all means being right."""
    columns, same = x.shape[1], _same(variance, right)
    if same.all():
        return
    for wrong, word, words in (
        (right * columns, "not-divided", "is the sum of the squares, not divided by their number"),
        (right * columns / max(columns - 1, 1), "n-1", "is divided by columns - 1"),
        (np.sqrt(right), "root", "is the root of the variance"),
        (_of_lanes(x), "lanes-apart", "has each lane's distances from that lane's own mean"),
    ):
        demand(not _same(variance, wrong).all(), f"{when}the means are right, and variance {words}.", word)
    row = np.flatnonzero(~same)[0]
    text = f"{when}the means are right, and variance[{row}] is {variance[row]:g} where it should be {right[row]:g}."
    fail(text, *_if(cause), "wrong-variance")


def _of_lanes(x: np.ndarray) -> np.ndarray:
    """The squares of each lane's numbers around that lane's mean, for all lanes, divided by the columns."""
    lanes = [x[:, lane::32].astype(float) for lane in range(min(32, x.shape[1]))]
    return sum(lane.var(axis=1) * lane.shape[1] for lane in lanes) / x.shape[1]


def _demand_read_once(report: Report, rows: int, columns: int, when: str) -> None:
    """Each number comes from memory once, and neighbours to neighbouring lanes."""
    loads = [event for mine in report.events for event in mine if isinstance(event, Load)]
    brought = sum(event.bytes for event in loads) / 4
    text = f"the numbers are right, but {when}{brought:.0f} numbers are read by block 0, whose row has {columns}."
    demand(brought <= columns + 32, text, "read-again")  # each lane may read the first number of its row
    total = report.counters.total
    least = total.global_sectors_ideal
    text = f"the numbers are right, but {when}{total.global_sectors} sectors move where {least} are enough."
    demand(
        columns % 8 or total.global_sectors <= least, text, "wasted-sectors"
    )  # all rows begin with a sector
    least = rows * (-(-columns // 32) + 2)
    text = f"the numbers are right, but {when}memory is asked {total.global_requests} times, where {least} are enough."
    # lanes with one number more may go another way through an unrolled loop
    demand(total.global_requests <= 2 * least + 6 * rows, text, "few-lanes")


EXERCISES = {"10.11": _merge, "10.12": _causal, "10.13": _keys, "10.14": _way_out, "10.15": _spread}
"""The exercises in notebooks/exercises/10_attention.ipynb."""
