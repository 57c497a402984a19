"""More exercises for lesson 06."""

from collections.abc import Callable
from functools import partial
from math import ceil
from numbers import Real
from typing import Any

import numpy as np

import ptxsim
from course_lib.check.verdict import CheckFailed
from cupy_or_sim import cupy_on_numpy
from cupy_or_sim.keys import source_key
from cupy_or_sim.simulate import compiled, simulate
from ptxsim import Report
from ptxsim.observe.events import Store

from .common import demand, demand_also, demand_kernel, demand_no_hazard, fail, results_of
from .untried import Untried

# --------------------------------------------------------------------------- 06.11: into how many parts?

CASES: list[tuple] = [
    (20, 64), (132, 64), (33, 64), (66, 100), (1, 64), (1, 5), (44, 9), (67, 256), (264, 128), (140, 512),
    (45, 3), (34, 64), (12, 1000, 108), (100, 64, 132, 40), (40, 64, 132, 0), (17, 77, 114, 7), (30, 48, 60, 1),
]  # fmt: skip
"""(tiles, k_tiles), and sms and extra where they are not 132 and 4."""


def _times(
    tiles: int,
    k_tiles: int,
    sms: int = 132,
    extra: float = 4,
    waves: Callable = ceil,
    part: Callable = ceil,
    times: Callable[[float, int], float] = lambda waves, parts: 1,
) -> list[float]:
    """Of 1 to 8 parts. `times`: how often the extra time is counted."""
    found = []
    for parts in range(1, 9):
        count = waves(tiles * parts / sms)
        found.append(count * part(k_tiles / parts) + (extra * times(count, parts) if parts > 1 else 0))
    return found


def _best(**rules: Any) -> Callable:
    return lambda *case: int(np.argmin(_times(*case, **rules))) + 1


def _exact(number: float) -> float:
    return number


MISTAKES_OF_PARTS: list[tuple[str, str, Callable]] = [
    ("always-8", "says 8 in every case", lambda *case: 8),
    (
        "no-extra",
        "compares as if several parts cost no more than one",
        lambda tiles, k_tiles, sms=132, extra=4: _best()(tiles, k_tiles, sms, 0),
    ),
    ("extra-for-each", "counts the extra time for each part", _best(times=lambda waves, parts: parts)),
    ("extra-for-each-wave", "counts the extra time in each wave", _best(times=lambda waves, parts: waves)),
    ("always-1", "says 1 in every case", lambda *case: 1),  # so do parts of waves
    ("last-wave-dropped", "drops the last wave", _best(waves=int)),
    ("not-rounded", "does not round the k-tiles", _best(part=_exact)),
    ("k-tiles-dropped", "drops k-tiles", _best(part=int)),
    (
        "132-sms",
        "takes 132 SMs always",
        lambda tiles, k_tiles, sms=132, extra=4: _best()(tiles, k_tiles, 132, extra),
    ),
    (
        "4-for-extra",
        "takes 4 for extra always",
        lambda tiles, k_tiles, sms=132, extra=4: _best()(tiles, k_tiles, sms, 4),
    ),
    ("no-waves", "leaves out the waves", _best(waves=lambda waves: 1)),
    ("one-wave", "fills the SMs once", lambda tiles, k_tiles, sms=132, extra=4: min(max(sms // tiles, 1), 8)),
    (
        "largest",
        "takes the largest of those that are equal",
        lambda *case: 8 - int(np.argmin(_times(*case)[::-1])),
    ),
    ("time", "returns the time", lambda *case: min(_times(*case))),
    ("from-0", "counts from 0", lambda *case: _best()(*case) - 1),
    *(
        (
            "few-tried",
            f"tries 1 to {most} parts",
            lambda *case, most=most: int(np.argmin(_times(*case)[:most])) + 1,
        )
        for most in range(2, 8)
    ),
]
"""A word for what a wrong function does, that in words, and what it would give. A hint for each stands below."""


def _parts(answer: Any) -> None:
    """A function that gives the best number of parts for every case."""
    given = results_of(answer, "best_parts", CASES)
    if not all(value is not None for value in given):
        fail("there is still a gap: the function returns None.", "gap")
    if not all(isinstance(value, Real) for value in given):
        fail(f"the function returns {given[0]!r:.40}, no number.", "no-number")
    right = [_best()(*case) for case in CASES]
    if list(given) == right:
        return
    for cause, what, formula in MISTAKES_OF_PARTS:
        same = np.allclose(given, [formula(*case) for case in CASES])
        demand(not same, f"the function {what}.", cause)
    for case, mine in zip(CASES, given, strict=True):
        demand(mine in range(1, 9), f"{mine!r:.20} parts: allowed are 1 to 8.")
        times = _times(*case)
        best, yours = min(times), times[int(mine) - 1]
        if yours != best:
            fail(
                f"{case}: with your number of parts, {mine}, the time is {yours:g} k-tiles, and with the best {best:g}."
            )
        if times.index(best) + 1 != mine:
            fail(f"{case}: your number of parts, {mine}, is as fast as a smaller one.", "largest")


# --------------------------------------------------------------------------- 06.12: tests that see it

SIZE = 8
EPILOGUE = "582d68c46bd4dc74"
"""Key of the kernel's text as the exercise brings it: its mistakes are what the tests must see."""


def _tests(answer: Any) -> None:
    """Tests that the right kernel passes, and each wrong one does not."""
    pair = isinstance(answer, tuple) and len(answer) == 2
    demand(pair, f"the answer is (kernel, tests), and not {answer!r:.60}.", "wrong-form")
    kernel, tests = answer
    demand_kernel(kernel)
    text = "the answer is the exercise's kernel and tests for it, and this kernel is another one."
    demand(source_key(kernel.name, kernel.code) == EPILOGUE, text, "kernel-changed")
    demand(isinstance(tests, list | tuple), f"tests is {tests!r:.40}, and must be a list.", "wrong-form")
    demand(1 <= len(tests) <= 3, f"the list has {len(tests)} tests, and must have one to three.", "how-many")
    prepared = [_prepared(number, test) for number, test in enumerate(tests, 1)]
    for number, test in enumerate(prepared, 1):
        if _fails(kernel, 0, test):
            fail(f"test {number} fails with the right kernel, or gives no finite numbers.", "right-fails")
    shown = any((_expected(test) > 0).any() for test in prepared)
    demand(shown, "no test sees a mistake: with each the right result is 0 everywhere.", "all-cut-off")
    for mistake in 1, 3, 4, 6, 5, 2:
        seen = any(_fails(kernel, mistake, test) for test in prepared)
        demand(seen, f"no test sees mistake {mistake}.", f"mistake-{mistake}")


def _prepared(number: int, test: Any) -> tuple:
    """alpha, beta, sums, bias and C in the types of the kernel."""
    five = isinstance(test, list | tuple) and len(test) == 5
    demand(five, f"the answer needs five things in test {number}: alpha, beta, sums, bias, C.", "wrong-test")
    try:
        alpha, beta = (np.float32(value) for value in test[:2])
        with np.errstate(over="ignore"):
            arrays = [
                np.array(a, t) for a, t in zip(test[2:], (np.float32, np.float16, np.float16), strict=True)
            ]
    except (TypeError, ValueError):
        fail(f"the answer needs numbers and arrays of numbers in test {number}.", "wrong-test")
    shapes = [array.shape for array in arrays]
    text = f"test {number} has sums, bias and C of the shapes {shapes}; they are (8, 8), (8,), (8, 8)."
    demand(shapes == [(SIZE, SIZE), (SIZE,), (SIZE, SIZE)], text, "wrong-shapes")
    return alpha, beta, *arrays


def _fails(kernel, mistake: int, test: tuple) -> bool:
    """Whether the kernel with this mistake gives something else than float64, rounded once."""
    alpha, beta, sums, bias, C = test
    expected = _expected(test)
    wrong = cupy_on_numpy.RawKernel(kernel.code, kernel.name, (*kernel.options, f"-DMISTAKE={mistake}"))
    result = C.copy()
    report = simulate(wrong, (SIZE,), (SIZE,), (sums, bias, result, alpha, beta, np.int32(SIZE)))
    return not (report.ok and np.isfinite(expected).all() and np.array_equal(result, expected))


def _expected(test: tuple) -> np.ndarray:
    """What the right kernel stores."""
    alpha, beta, sums, bias, C = test
    with np.errstate(all="ignore"):
        x = float(alpha) * sums.astype(float) + bias.astype(float)
        x = x + float(beta) * C.astype(float) if beta else x
        return np.where(x < 0, 0, x).astype(np.float16)


# --------------------------------------------------------------------------- 06.13: the last block adds


LAUNCHES: list[tuple[str, str, dict]] = [
    ("first", "", {}),
    ("second", " (the warps in another order)", {"seed": 1}),
    ("third", " (the warps in another order)", {"seed": 2}),
    ("fourth", " (one block after the other)", {"in_turn": "up"}),
    ("fifth", " (one block after the other, the last one first)", {"in_turn": "down"}),
]
"""With one count: which launch, how it differs, and the order of its warps or blocks."""
ROWS_OF_A = 4
"""Of the parameters, the number of rows: ROWS for each block."""
ROWS = 3
OF_MANY_ROWS = 2, 7
"""(blocks, rows for each of them)"""
SECTORS = 8
"""Of a row of 64 columns: the rows of A are read for each part, which is written once and read once; and C."""


def _last(answer: Any) -> None:
    """Five launches with one count, whose parts are added in the order of the blocks."""
    demand_kernel(answer)
    for blocks, rows in (4, 3), (1, 3), (5, 2):
        _five_launches(answer, blocks, rows)
    _demand_set_back(answer)
    try:
        _five_launches(answer, *OF_MANY_ROWS)
    except CheckFailed as error:
        text = f"right with up to {ROWS} rows for each block, and not with {OF_MANY_ROWS[1]}: {error}"
        raise CheckFailed(text, causes=("many-rows",)) from None
    for blocks in Untried(answer, threads=64).blocks(
        {"%nctaid.x": 1.0, "%ctaid.x": 1.0, ROWS_OF_A: 1 / ROWS}, 5
    ):
        try:
            _five_launches(answer, blocks, ROWS)
        except CheckFailed as error:
            raise CheckFailed(
                f"right with few blocks, and not with {blocks}: {error}", causes=("many-blocks",)
            ) from None


def _demand_set_back(answer: Any) -> None:
    """What a launch leaves in `count` is right for one with another number of blocks, too."""
    count = np.zeros(1, np.uint32)
    for blocks in 4, 3:
        A = np.random.default_rng(blocks).standard_normal((ROWS * blocks, 64)).astype(np.float32)
        left, C = np.full((blocks, 64), np.nan, np.float32), np.full(64, np.nan, np.float32)
        args = (A, left, count, C, np.int32(len(A)))
        ptxsim.launch(compiled(answer), (blocks,), (64,), args, 0, 100_000, in_turn="up")
    text = "right with one number of blocks; behind a launch of 4 blocks one of 3, with the same `count`, is wrong."
    demand(np.allclose(C, A.sum(axis=0), rtol=1e-4, atol=1e-4), text, "not-set-back")


def _five_launches(answer: Any, blocks: int, rows: int) -> None:
    left, count = np.full((blocks, 64), np.nan, np.float32), np.zeros(1, np.uint32)
    for number, (which, told, order) in enumerate(LAUNCHES):
        A = np.random.default_rng(number).standard_normal((rows * blocks, 64)).astype(np.float32)
        C, was_0 = np.full(64, np.nan, np.float32), count[0] == 0
        args = (A, left, count, C, np.int32(len(A)))
        report = ptxsim.launch(compiled(answer), (blocks,), (64,), args, 0, 100_000, **order)
        demand_no_hazard(report)
        lost = number > 0 and ("in_turn" in order or was_0)
        causes = "counts-lost" if lost else f"{which}-launch-stores-nothing", "launch-stores-nothing"
        stays = f"in the {which} launch of blocks: {blocks}{told}, C stays as it was."
        demand(not np.isnan(C).all(), stays, *causes)
        demand(not np.isnan(C).any(), "a part was added that nobody had written.", "unwritten-part")
        parts = _in_order(A.reshape(blocks, rows, 64).swapaxes(0, 1))
        expected = _in_order(parts)
        near = np.allclose(C, expected, rtol=1e-4, atol=1e-4)
        demand(near, f"in the {which} launch of blocks: {blocks}, the sums are wrong.", "wrong-numbers")
        if not (expected == C).all():
            fail("the sums are right but for the last bits: added in another order.", "last-bits")
        held = int(np.isclose(left, parts, rtol=1e-4, atol=1e-4).all(axis=1).sum())
        demand(held == blocks, f"the sums are right, but `left` holds {held} of {blocks} parts.", "no-parts")
        moved, enough = report.counters.total.global_sectors_ideal, SECTORS * ((rows + 2) * blocks + 1)
        text = f"the sums are right, but {moved} sectors are read and written, and about {enough} are enough."
        demand(moved <= enough + SECTORS * blocks, text, "read-again")


def _in_order(rows: np.ndarray) -> np.ndarray:
    """The sum of the first dimension in float32, one after the other."""
    total = np.zeros(rows.shape[1:], np.float32)
    for row in rows:
        total = total + row
    return total


# --------------------------------------------------------------------------- 06.14: the widest word that fits

SHAPES = [
    (0, 4, 256, 256), (8, 4, 256, 264), (4, 4, 128, 200), (0, 4, 128, 132), (0, 4, 132, 200), (2, 4, 64, 72),
    (4, 4, 128, 132), (0, 4, 64, 66), (0, 4, 66, 80), (1, 4, 64, 64), (0, 4, 64, 67), (0, 4, 33, 40),
    (0, 9, 64, 72), (0, 1, 4096, 4096),
]  # fmt: skip
"""(first, count, width, stride), in halves."""
LARGE = (0, 11, 4104, 4104)
"""As SHAPES, with work for each warp of the larger block."""
THREADS, MORE_THREADS = 64, 96
FIRST, COUNT = 2, 3
"""Of the kernel's parameters (from, to, first, count, width, stride)."""
MOST_HALVES, MOST_THREADS = 4500, 1024


def _rows(answer: Any) -> None:
    """Right for every shape, with as few loads and stores as the widest word allows."""
    demand_kernel(answer)
    for shape in SHAPES:
        _copied(answer, THREADS, *shape)
    report = _copied(answer, MORE_THREADS, *LARGE)
    idle = sum(not any(isinstance(event, Store) for event in warp) for warp in report.events)
    text = f"right, but of {MORE_THREADS // 32} warps {idle} write nothing: others do their part."
    demand(not idle, text, "idle-warp")
    for threads, shape in _apart(answer):
        demand_also(partial(_copied, answer, threads, *shape), "right for the usual numbers", "far-size")


def _apart(answer: Any) -> list[tuple[int, tuple[int, int, int, int]]]:
    """Threads of a block, and a shape, at constants with which the kernel compares these threads, first or count."""
    apart = Untried(answer)
    firsts, counts = ({shape[place] for shape in (*SHAPES, LARGE)} for place in (0, 1))
    late = apart.k_tiles(1, firsts, FIRST, most=MOST_HALVES)
    many = apart.k_tiles(1, counts, COUNT, most=MOST_HALVES)
    wide = apart.blocks({"%ntid.x": 1.0}, MORE_THREADS, most=MOST_THREADS)
    shapes = [(first, 2, 64, 64) for first in late] + [(0, count, 64, 64) for count in many]
    return [(THREADS, shape) for shape in shapes] + [(-(-each // 32) * 32, LARGE) for each in wide]


def _copied(answer: Any, threads: int, first: int, count: int, width: int, stride: int) -> Report:
    """What one block did that copied the rows rightly, with wide words."""
    source = np.arange(1, first + count * stride + 1, dtype=np.uint16)
    to = np.zeros((count, width), np.uint16)
    sizes = (np.int32(value) for value in (first, count, width, stride))
    report = simulate(answer, (1,), (threads,), (source, to, *sizes), max_steps=60_000)
    told = f"(first = {first}, count = {count}, width = {width}, stride = {stride}; threads = {threads})"
    if not report.ok:
        raise CheckFailed(f"{report.brief()} {told}.", report.hazards)
    expected = source[first:].reshape(count, stride)[:, :width]
    demand((to != 0).any(), f"nothing is written at all {told}.", "nothing-stored")
    if not (to != 0).all():
        fail(f"{(to == 0).sum()} of {to.size} elements are never written {told}.", "not-stored")
    if not (to == expected).all():
        fail(f"{(to != expected).sum()} of {to.size} elements are wrong {told}.", "wrong-numbers")
    written = sum(event.bytes for warp in report.events for event in warp if isinstance(event, Store))
    text = f"right, but {written:.0f} bytes are written where `to` has {to.nbytes} {told}."
    demand(written <= to.nbytes, text, "written-twice")
    word = next(word for word in (8, 4, 2, 1) if first % word == stride % word == width % word == 0)
    enough = 2 * count * ceil(width / word / 32)  # a warp for each row: no fewer when a row has 32 words
    moved = report.counters.total.global_requests
    text = f"right, but {moved} loads and stores where words of {2 * word} bytes fit {told}."
    demand(moved <= enough, text, "narrow-words")
    return report


EXERCISES = {"06.11": _parts, "06.12": _tests, "06.13": _last, "06.14": _rows}
