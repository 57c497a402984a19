"""More exercises for lesson 05."""

import re
from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from course_lib.check.gemm import Gemm
from course_lib.check.verdict import CheckFailed
from course_lib.instruments.sass import sass
from cupy_or_sim import cupy_on_numpy
from cupy_or_sim.simulate import clean_side_by_side, compiled, simulate
from ptxsim import CompileError, Report
from ptxsim.observe.counters import CounterTable
from ptxsim.observe.events import Barrier, Commit, Copy, Event, Store, Wait, in_flight

from .common import (
    demand,
    demand_kernel,
    demand_no_hazard,
    demand_no_needless_barrier,
    fail,
    k_tiles_on_their_way,
    kernel_and_numbers,
)
from .lesson_05 import WAIT
from .untried import untried, untried_constants

MOST_STEPS = 250_000


def _one_block(
    kernel, tile: tuple[int, int, int], k_tiles: int, threads: int = 64, seed: int = 0
) -> tuple[bool, Report]:
    """Whether one block makes the exact product, and its report."""
    args = _arguments(tile, k_tiles, seed)
    report = simulate(kernel, (1, 1), (threads,), args, 0, MOST_STEPS)
    return _is_exact(*args[:3]), report


def _arguments(tile: tuple[int, int, int], k_tiles: int, seed: int = 0) -> tuple:
    """Of a block that makes one tile."""
    gemm, random = Gemm(*tile[:2], tile[2] * k_tiles, "float16"), np.random.default_rng(seed)
    return gemm.arguments(
        *(random.integers(-4, 5, (size, gemm.K)).astype(np.float16) for size in (gemm.M, gemm.N))
    )


def _is_exact(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> bool:
    return np.array_equal(C, (A.astype("f4") @ B.astype("f4").T).astype(np.float16))


# --------------------------------------------------------------------------- 05.11: how many are on their way?


def _orders(answer: Any) -> None:
    """The numbers that the simulator counts, with each ORDER."""
    kernel, *mine = kernel_and_numbers(answer, *(f"the number of ORDER {order}" for order in range(1, 5)))
    for order, number in enumerate(mine, 1):
        counted = _on_their_way(kernel.code, kernel.name, (*kernel.options, f"-DORDER={order}"))
        demand(number == counted, f"ORDER {order}: the simulator does not count {number}.", f"order-{order}")


@lru_cache(maxsize=8)
def _on_their_way(code: str, name: str, options: tuple[str, ...]) -> int:
    right, report = _one_block(cupy_on_numpy.RawKernel(code, name, options), (64, 64, 32), 8, 32)
    demand_no_hazard(report)
    demand(right, f"the kernel is not right any more with {options[-1]}: take the one of the exercise.")
    return k_tiles_on_their_way(report, 8)


# --------------------------------------------------------------------------- 05.12: the last k-tiles

TILE = (128, 64, 32)
MORE_THAN_TWO = re.compile(r"\bwait_group\s*<\s*[3-9]")
LENGTHS = (5, 1, 2)
"""In k-tiles, of a ring of four slots: a wait by the number of the turn is not right for all of these."""


def _drained(answer: Any) -> None:
    """A right ring of four slots, in which no wait covers more than the k-tile of its turn."""
    demand_kernel(answer)
    warps = _events_if_right(answer)
    if warps is None:
        for k_tiles in LENGTHS:
            right, report = _one_block(answer, TILE, k_tiles)
            if not report.ok:
                first = report.hazards[0]
                text = f"{first.kind} at line {first.line}, where K is {k_tiles} x {TILE[2]}."
                if first.kind == "unwaited-copy" and MORE_THAN_TWO.search(answer.code):
                    fail(text, "leaves-three")
                raise CheckFailed(text, report.hazards)
            demand(right, f"the product is wrong where K is {k_tiles} x {TILE[2]}.", "wrong-numbers")
        fail("the check took too long.")
    closed = sum(isinstance(event, Commit) for event in warps[0])
    text = f"right, but {closed} groups are closed for {LENGTHS[0]} k-tiles: this ring has no empty ones."
    demand(closed == LENGTHS[0], text, "empty-groups")
    _demand_no_longer_wait(warps[0], LENGTHS[0])
    for k_tiles in untried(answer, TILE[2], LENGTHS):
        right, report = _one_block(answer, TILE, k_tiles)
        demand_no_hazard(report)
        demand(right, f"the product is wrong for {k_tiles} k-tiles.", "many-k-tiles")
        _demand_no_longer_wait(report.events[0], k_tiles)


def _demand_no_longer_wait(events: list[Event], k_tiles: int) -> None:
    """Each turn waits for its own k-tile only."""
    for turn, left in enumerate(_left_on_their_way(events)):
        may = min(2, k_tiles - 1 - turn)
        text = f"right, but with {k_tiles} k-tiles turn {turn} waits for {turn + 1} too, if not for more."
        demand(left >= may, text, "waits-for-more")


def _events_if_right(kernel) -> list[list[Event]] | None:
    """Of the first of LENGTHS, what its warps do, if all are right: at once, and without a word of what is wrong."""
    all_args = [_arguments(TILE, k_tiles) for k_tiles in LENGTHS]
    launches = [((1, 1), args) for args in all_args]
    events = clean_side_by_side(kernel, launches, (64,), 0, MOST_STEPS * len(launches))
    return events if all(_is_exact(*args[:3]) for args in all_args) else None


def _left_on_their_way(events: list[Event]) -> list[int]:
    """Groups that are on their way when a warp comes to the barrier of each turn."""
    found, groups = [], 0
    for event in events:
        match event:
            case Commit():
                groups += 1
            case Wait(keep=None):
                groups = 0
            case Wait(keep=int(keep)):
                groups = min(groups, keep)
            case Barrier():
                found.append(groups)
    return found[:-1]  # behind the loop stands one more


# --------------------------------------------------------------------------- 05.13: which cure?

ANSWER = "(kernels, my_kind, my_cures, my_best)"


def _cure(answer: Any) -> None:
    """The kind of hazard, the changes that cure it, and the one that costs nothing, as the simulator finds them."""
    fits = isinstance(answer, tuple) and len(answer) == 4 and isinstance(answer[0], dict)
    demand(fits, f"the answer is {ANSWER}, and not {answer!r:.60}.", "wrong-form")
    kernels, kind, cures, best = answer
    if isinstance(cures, list | tuple | set):
        cures = " ".join(map(str, cures))
    for name, text in (("my_kind", kind), ("my_cures", cures), ("my_best", best)):
        demand(isinstance(text, str), f"{name} is a text in quotes, and not {text!r:.40}.", "no-text")
    for kernel in kernels.values():
        demand_kernel(kernel)
    found = {name: _found(kernel.code, kernel.name, kernel.options) for name, kernel in kernels.items()}
    letters = [name for name in found if len(name) == 1]
    right_kind, cost = found["as it is"]
    named = kind.strip().lower().replace(" ", "-")
    demand(named == right_kind, f"the report does not name {named!r:.40} first.", "other-kind")
    mine = {letter for letter in cures.upper() if letter.isalpha()}
    for letter in sorted(mine):
        if letter not in letters:
            fail(f"there is no change {letter}; there are {', '.join(letters)}.", "no-change")
        if found[letter][0]:
            fail(f"{letter} is no cure: {found[letter][0]}.", f"{letter}-no-cure", "no-cure")
    left_out = [letter for letter in letters if not found[letter][0] and letter not in mine]
    if left_out:
        fail(f"all that you name are cures, but the table has more of them: {len(left_out)}.", "more-cures")
    chosen = best.strip().upper()
    demand(chosen in mine, f"my_best is {best!r:.20}, which is no cure.", "best-no-cure")
    demand(found[chosen][1][0] <= cost[0], f"{chosen} takes a barrier more in each turn.", "more-barriers")
    demand(found[chosen][1][1] <= cost[1], f"{chosen} takes more shared memory.", "more-shared-memory")


@lru_cache(maxsize=16)
def _found(code: str, name: str, options: tuple[str, ...]) -> tuple[str, tuple[int, int]]:
    """What is wrong with a kernel, or nothing; its barriers, and its bytes of shared memory."""
    kernel = cupy_on_numpy.RawKernel(code, name, options)
    right, report = _one_block(kernel, TILE, 4)
    cost = report.counters.total.barriers, compiled(kernel).code.program.static_shared
    return report.brief() if not report.ok else "" if right else "wrong numbers", cost


# --------------------------------------------------------------------------- 05.14: sets that are not in registers


def _ping_pong(answer: Any) -> None:
    """Right for any number of k-steps, the next fragments loaded ahead, and nothing in local memory."""
    pair = isinstance(answer, tuple) and len(answer) == 2
    demand(pair, f"the answer is (kernel, my_opcode), and not {answer!r:.60}.", "wrong-form")
    kernel, opcode = answer
    demand_kernel(kernel)
    if not isinstance(opcode, str):
        fail(f"the answer is a kernel and an opcode in quotes, and not {opcode!r:.40}.", "wrong-form")
    name = opcode.strip().upper().partition(".")[0]
    if name not in ("LDL", "STL"):
        fail(f"{opcode.strip()!r:.20} is not the opcode that was asked for.", "other-opcode")
    for steps in 1, 3, 8:
        right, report = _one_block(kernel, (16, 16, 16), steps, 32)
        demand_no_hazard(report)
        demand(right, f"the product is wrong for {steps} k-step{'s' * (steps != 1)}.", "other-k-steps")
        total = report.counters.total
        if total.mma != 2 * steps:
            fail(f"{total.mma} mma are made for {steps} k-steps; {2 * steps} are needed.", "other-k-steps")
        loads, enough = total.ldmatrix // 2, steps + 2  # the last k-step once more, and one more ahead
        text = f"right, but fragments are loaded {loads} times for {steps} k-steps: {steps + 1} are enough."
        demand(loads <= enough, text, "loaded-twice")
    behind = _not_loaded_ahead(kernel)
    text = (
        f"right, but the mma of k-step {behind} come before the fragments of k-step {behind + 1} are loaded."
    )
    demand(behind < 0, text, "nothing-ahead")
    code = sass(kernel)
    local = code.count("LDL") + code.count("STL")
    demand(
        not local,
        f"the product is right, but {local} instructions move fragments to local memory and back.",
        "in-local-memory",
    )
    lines = re.sub(r"//.*", "", kernel.code)
    demand(
        re.search(r"#\s*pragma\s+unroll\s*\(?\s*1\b", lines),
        "right, and all in registers, but the line `#pragma unroll 1` is gone.",
        "no-pragma",
    )


MMA_ALONE = """#include <course/mma.cuh>
__device__ void mma_alone(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    __syncwarp();
    mma_m16n8k16(d, a, b0, b1);
    __syncwarp();
}
"""
"""Between two meetings of the warp: a step of the simulator is as long as the code is straight."""


def _not_loaded_ahead(answer: Any) -> int:
    """The first k-step whose mma begin before the next one's fragments are loaded, or -1. To see it, the launch is cut
    off at the first mma of each."""
    code = MMA_ALONE + re.sub(r"\bmma_m16n8k16\b", "mma_alone", answer.code)
    kernel = cupy_on_numpy.RawKernel(code, answer.name, answer.options)
    k_steps, at = 3, 0
    args, program = _arguments((16, 16, 16), k_steps), compiled(kernel).code.program
    written = [each for each in program.instructions if each.opcode.root == "ldmatrix"]

    def counted(most_steps: int) -> CounterTable:
        return simulate(kernel, (1, 1), (32,), args, 0, most_steps).counters

    for k_step in range(k_steps - 1):
        reached = partial(lambda enough, steps: counted(steps).total.mma >= enough, 2 * k_step + 1)
        at = _first(reached, at + 1)
        found = counted(at)
        lines = [line for line, counts in found.by_line.items() if counts.ldmatrix]
        # of each instruction the first access only
        different = sum(len(found.patterns[line]) for line in lines)
        if found.total.ldmatrix < 2 * (k_step + 2) or different < min(4, len(written)):
            return k_step
    return -1


def _first(reached: Callable[[int], bool], few: int) -> int:
    """The smallest number, from `few` on, that has reached what a larger one has, too."""
    step = 64
    while not reached(few + step):
        few, step = few + step + 1, 2 * step
    return few + bisect_left(range(few, few + step), True, key=reached)


# --------------------------------------------------------------------------- 05.15: a ring for a stencil

WIDTH = 128
IN_USE = 4, 3
"""Slots whose rows a wait may not leave: where the copy stands behind it, and before it."""
HEIGHTS = {5: (3, 4, 6, 17), 4: (3, 9), 7: (3, 6, 12)}
"""Slots -> rows of the images that are tried."""


def _stencil(answer: Any) -> None:
    """A ring of rows that is right for every number of slots, and keeps all but the three in use on their way."""
    demand_kernel(answer)
    count = len(re.findall(r"\bSTAGES\s*=\s*5\b", answer.code))
    demand(count == 1, "leave `STAGES = 5` in its line: the check puts other numbers there.", "no-stages")
    for rows in (*HEIGHTS[5], *untried(answer, 1, HEIGHTS[5], 2)):
        right, report = _image(answer, rows)
        _demand_no_hazard_but_the_count(answer, report)
        cause = "wrong-numbers" if rows in HEIGHTS[5] else "many-rows"
        demand(right, f"the numbers are wrong for {rows} rows.", cause)
        _demand_late_rows(report, 5, rows)
    apart = untried_constants(answer.code, "STAGES", HEIGHTS)
    for stages in (4, 7, *(slots for slots in apart if slots > 3)):
        source = re.sub(r"\bSTAGES\s*=\s*5\b", f"STAGES = {stages}", answer.code)
        changed = cupy_on_numpy.RawKernel(source, answer.name, options=answer.options)
        for rows in HEIGHTS.get(stages, (stages + 2,)):
            try:
                right, report = _image(changed, rows)
            except CompileError:
                fail(f"right for STAGES = 5, and STAGES = {stages} does not compile.", "fixed-stages")
            found = report.hazards[0].kind if report.hazards else "wrong numbers"
            text = f"right for STAGES = 5, and {found} for STAGES = {stages} and {rows} rows."
            demand(right and report.ok, text, "fixed-stages")
            _demand_late_rows(report, stages, rows)

    def right_too(without: Any) -> bool:
        right, report = _image(without, HEIGHTS[5][-1])
        return right and report.ok

    demand_no_needless_barrier(answer, right_too)


def _demand_no_hazard_but_the_count(answer: Any, report: Report) -> None:
    """No hazard; of a ring in which the count of the wait alone is wrong, that is said."""
    try:
        demand_no_hazard(report)
    except CheckFailed as error:
        late = any(hazard.kind == "unwaited-copy" for hazard in error.hazards)
        if late and any(_right_with_the_count(answer, fewer) for fewer in IN_USE):
            raise CheckFailed(str(error), causes=("only-the-count",)) from None
        raise


def _right_with_the_count(answer: Any, fewer: int) -> bool:
    """Whether it is right, for every height, where each wait leaves STAGES - `fewer` groups."""
    code = WAIT.sub(f"wait_group<STAGES - {fewer}>()", answer.code)
    counted = cupy_on_numpy.RawKernel(code, answer.name, options=answer.options)
    found = (_image(counted, rows) for rows in HEIGHTS[5])
    return all(right and report.ok for right, report in found)


def _image(kernel: Any, rows: int) -> tuple[bool, Report]:
    """Whether the inner rows are right and no other row is written, and the report."""
    given = np.random.default_rng(rows).integers(-9, 10, (rows, WIDTH)).astype(np.float32)
    out = np.full_like(given, np.nan)
    report = simulate(kernel, (1,), (WIDTH,), (given, out, np.int32(rows)), 0, MOST_STEPS)
    beside = np.pad(given, ((0, 0), (1, 1)), mode="edge")
    three = given + beside[:, :-2] + beside[:, 2:]
    expected = np.full_like(given, np.nan)
    expected[1:-1] = three[:-2] + three[1:-1] + three[2:]
    return np.array_equal(out, expected, equal_nan=True), report


def _demand_late_rows(report: Report, stages: int, rows: int) -> None:
    """Each row copied once; while one is computed, the rows in all slots but three may be late."""
    for events in report.events:
        copied = sum(event.bytes for event in events if isinstance(event, Copy))
        of_a_row = copied / rows
        demand(
            of_a_row == 4 * 32, f"right, but {copied / (4 * 32):g} rows are copied of {rows}.", "copied-again"
        )
        row = 0
        for event, groups, current in in_flight(events):
            if not isinstance(event, Store):
                continue
            row, late = row + 1, round((sum(groups) + current) / of_a_row)
            wanted = min(stages - 3, rows - 2 - row)
            text = (
                f"right with {stages} slots, but while row {row} of {rows} is computed, only {late} of {wanted} others "
                "may be late."
            )
            demand(late >= wanted, text, "few-asked-for")


EXERCISES = {"05.11": _orders, "05.12": _drained, "05.13": _cure, "05.14": _ping_pong, "05.15": _stencil}
