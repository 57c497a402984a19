"""The exercises of lesson 05."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from math import ceil
from typing import Any

import numpy as np

from course_lib.check.gemm import Gemm
from course_lib.check.verdict import MOST, ONE_BLOCK, CheckFailed, Verdict
from cupy_or_sim import cupy_on_numpy
from cupy_or_sim.launch import Launch
from cupy_or_sim.simulate import simulate
from ptxsim import CompileError, Report
from ptxsim.observe.events import Barrier, Copy, Event, Work, in_flight

from .common import (
    MOST_STEPS,
    checked,
    demand,
    demand_no_needless_barrier,
    fail,
    for_every_count,
    in_short,
    results_of,
)
from .needless import needless_barrier
from .untried import untried_constants

TILE_K = 32
SLOT = (128 + 64) * TILE_K * 2
"""Bytes of a slot in the rings of the exercises."""
MMA, WAVEFRONTS = 2 * 32, 2 * 32
"""Of a warp, for one k-tile: two k-steps of 32 mma, whose fragments are 8 ldmatrix of 4 wavefronts each."""
FIRST_LOAD = "load(0, 0);"
"""What loads the first fragments of 05.3, before its loop."""
RATE = 2730
"""FLOP of mma per cycle and SM."""


WAIT = re.compile(r"\bwait_group\s*<[^;]*?>\s*\(\s*\)")
"""The call of a wait with its count."""
LONG = 17
"""K-tiles of the longest launch: a loop that ends after 8 or 16 is right for all that the lessons' own check tries."""
Warps = list[list[Event]]


def _launch(stages: int) -> Launch:
    return Launch((128, 64, TILE_K), 64, stages * SLOT)


def _ring(answer: Any, stages: int) -> tuple[Any, Verdict]:
    """The kernel, a right ring of so many slots, and the verdict on what the lessons' check tries. What a loop did
    before it was found endless is no finding."""
    try:
        return checked(answer, _launch(stages), "float16", ONE_BLOCK)
    except CheckFailed as error:
        endless = tuple(hazard for hazard in error.hazards if hazard.kind == "step-limit")
        if endless:
            raise CheckFailed(str(endless[0]), endless) from None
        many = error.problem.K // TILE_K if error.problem else 0
        if (
            error.hazards and many > MOST
        ):  # a loop that stops leaves copies on their way: no fault of its turns
            text = f"right with few k-tiles, and not with {many} of them: {in_short(error)}"
            raise CheckFailed(text, causes=("many-k-tiles",)) from None
        raise


def _counted_ring(answer: Any, stages: int) -> tuple[Any, Verdict]:
    """The same; of a ring whose waits alone are wrong, that is said."""
    try:
        return _ring(answer, stages)
    except CheckFailed as error:
        late = any(hazard.kind == "unwaited-copy" for hazard in error.hazards)
        if late and _right_with_the_count(answer, stages):
            raise CheckFailed(str(error), causes=("only-the-count",), problem=error.problem) from None
        raise


def _right_with_the_count(answer: Any, stages: int) -> bool:
    """Whether the ring is right where each wait leaves as many groups as the lesson's."""
    kernel = answer[0] if isinstance(answer, tuple) else answer
    code = WAIT.sub(f"wait_group<{stages - 2}>()", kernel.code)
    counted = cupy_on_numpy.RawKernel(code, kernel.name, options=kernel.options)
    found = [_one_block(counted, stages, k_tiles) for k_tiles in (1, 2, 9)]
    return all(right and report.ok for right, report in found)


def _one_block(kernel, stages: int, k_tiles: int) -> tuple[bool, Report]:
    """Whether one block of a ring makes the exact product, and its report."""
    gemm, random = Gemm(128, 64, 32 * k_tiles, "float16"), np.random.default_rng(k_tiles)
    A, B = (random.integers(-4, 5, (size, gemm.K)).astype(np.float16) for size in (gemm.M, gemm.N))
    args = gemm.arguments(A, B)
    report = simulate(kernel, (1, 1), (64,), args, stages * SLOT, MOST_STEPS)
    return np.array_equal(args[2], (A.astype("f4") @ B.astype("f4").T).astype(np.float16)), report


def _asked_for(warps: Warps, k_tiles: int) -> list[tuple[int, int]]:
    """(k-tile, k-tiles that may be on their way) of each piece of a warp's math, for all warps."""
    found = []
    for events in warps:
        bytes_of_one = sum(event.bytes for event in events if isinstance(event, Copy)) / k_tiles
        done = 0.0
        for event, groups, current in in_flight(events):
            if isinstance(event, Work) and event.mma:
                found.append((int(done / MMA), round((sum(groups) + current) / max(bytes_of_one, 1))))
                done += event.mma
    return found


def _demand_asked_for(warps: Warps, stages: int, k_tiles: int, ahead: int, behind: int = 1) -> None:
    """Each k-tile copied once, and while one is multiplied `ahead` others may be on their way: all that there are,
    from `behind` k-tiles after it on."""
    copied = sum(event.bytes for events in warps for event in events if isinstance(event, Copy)) / (
        k_tiles * SLOT
    )
    if copied != 1:
        fail(f"the product is right, but each k-tile is copied {copied:.3g} times.", "copied-again")
    for k_tile, late in _asked_for(warps, k_tiles):
        wanted = max(min(ahead, k_tiles - behind - k_tile), 0)
        demand(
            late >= wanted,
            f"right with {stages} slots, but while k-tile {k_tile} of {k_tiles} is multiplied, only {late} of {wanted} "
            "others may be late.",
            "few-asked-for",
        )


def _demand_loaded_once(warps: Warps, k_tiles: int) -> None:
    """Each warp loads the fragments of each k-step once; one more, behind the last, is not used."""
    for events in warps:
        work = [event for event in events if isinstance(event, Work)]
        # behind the last mma the store reads shared memory, too
        last = max((place for place, event in enumerate(work) if event.mma), default=0)
        loaded = sum(event.wavefronts for event in work[: last + 1]) / WAVEFRONTS
        demand(
            loaded <= k_tiles + 0.5,
            f"the product is right, but a warp loads fragments {2 * loaded:.0f} times for {2 * k_tiles} k-steps: some "
            "are loaded again and not multiplied.",
            "loaded-again",
        )


def _demand_full_hands(warps: Warps) -> None:
    """At each barrier between its first and its last math, a warp holds fragments that it has not multiplied yet."""
    for events in warps:
        loaded = multiplied = 0.0
        left = sum(event.mma for event in events if isinstance(event, Work))
        for event in events:
            if isinstance(event, Work):
                loaded, multiplied = loaded + event.wavefronts / WAVEFRONTS, multiplied + event.mma / MMA
            elif isinstance(event, Barrier) and 0 < multiplied < left / MMA:
                demand(
                    loaded > multiplied,
                    f"the product is right, but warps come through a barrier with empty hands: all that is loaded "
                    f"is multiplied already (k-tiles: {multiplied:g}).",
                    "empty-hands",
                )


def _four_slots(answer: Any) -> None:
    """A right ring of four slots that has three k-tiles on their way: one that waits for more is right and slower."""
    kernel, verdict = _counted_ring(answer, 4)

    def ask(warps: Warps, k_tiles: int) -> None:
        _demand_asked_for(warps, 4, k_tiles, ahead=3)

    for_every_count(kernel, verdict, _launch(4), ask, "float16")


def _for_every_length(answer: Any, stages: int) -> Iterator[tuple[int, int, Warps]]:
    """(slots, k-tiles, what the warps of a block do) of a ring that is right for three slots and a long K, and then for
    two slots and for `stages`: for fewer k-tiles than slots, for as many, and for rings that have turned. Then for the
    numbers of slots that the answer treats apart."""
    kernel, _ = _counted_ring(answer, 3)
    count = len(re.findall(r"\bSTAGES\s*=\s*3\b", kernel.code))
    demand(count == 1, "leave `STAGES = 3` in its line: the check puts other numbers there.", "no-stages")
    yield 3, LONG, _right_warps(kernel, 3, LONG, "other-length")
    apart = untried_constants(kernel.code, "STAGES", (2, 3, stages))
    for other, lengths in (
        (2, (1, 2, 5)),
        (stages, (1, stages, 9)),
        *((slots, (slots + 2,)) for slots in apart),
    ):
        source = re.sub(r"\bSTAGES\s*=\s*3\b", f"STAGES = {other}", kernel.code)
        changed = cupy_on_numpy.RawKernel(source, kernel.name, options=kernel.options)
        for k_tiles in lengths:
            try:
                yield other, k_tiles, _right_warps(changed, other, k_tiles, "fixed-stages")
            except CompileError as error:
                raise CheckFailed(f"right for STAGES = 3, and STAGES = {other} does not compile.",
                                  causes=("fixed-stages",)) from error  # fmt: skip


def _right_warps(kernel, stages: int, k_tiles: int, cause: str) -> Warps:
    """What the warps of one block do, which must be right."""
    right, report = _one_block(kernel, stages, k_tiles)
    found = report.hazards[0].kind if report.hazards else "wrong numbers"
    count = f"{k_tiles} k-tile{'s' * (k_tiles != 1)}"
    text = f"right for STAGES = 3 and up to {MOST} k-tiles, and {found} for STAGES = {stages} and {count}."
    demand(right and report.ok, text, cause)
    return report.events


def _any_slots(answer: Any) -> None:
    """A ring that is right for every number of slots, and keeps all but one of them on their way."""
    for stages, k_tiles, warps in _for_every_length(answer, 5):
        _demand_asked_for(warps, stages, k_tiles, ahead=stages - 1)

    def right(without: Any) -> bool:
        exact, report = _one_block(without, 3, 9)
        return exact and report.ok

    # the last one, before the store, was given
    demand_no_needless_barrier(answer[0] if isinstance(answer, tuple) else answer, right, given=1)


def _turn(answer: Any) -> str | None:
    """The three-stage turn: the newest k-tile may be late, and every warp has fragments ahead at each barrier. Those of
    turn 0 are the ones that were loaded before the loop: without them the product is wrong. Returned: a barrier that
    can go."""
    longest: Warps = []
    for stages, k_tiles, warps in _for_every_length(answer, 4):
        _demand_full_hands(warps)
        _demand_loaded_once(warps, k_tiles)
        _demand_asked_for(warps, stages, k_tiles, ahead=stages - 2, behind=2)
        longest = longest or warps
    before, load, after = answer.code.partition(FIRST_LOAD)
    demand(load, f"leave `{FIRST_LOAD}` before the loop.", "no-stages")
    without = cupy_on_numpy.RawKernel(before + after, answer.name, options=answer.options)
    right, _ = _one_block(without, 3, 2)
    demand(
        not right,
        "the product is right, but what was loaded before the loop is not used: warps come through their barriers with "
        "empty hands.",
        "empty-hands",
    )
    # One before the loop, one in each turn, one behind them: of 10 k-tiles the last lies where the sums are stored.
    return needless_barrier(
        answer, longest, LONG + 2, partial(_right_warps, stages=3, k_tiles=10, cause="other-length")
    )


def _printed(answer: Any) -> None:
    """A right ring of three slots in which the next k-tile has been copied, or is on its way, before one is
    multiplied; it does not fit into two."""
    kernel, verdict = _ring(answer, 3)
    for_every_count(kernel, verdict, _launch(3), _demand_another_slot_filled, "float16")
    _, in_two = _one_block(kernel, 2, 4)
    demand(not in_two.ok, "the product is right, and no k-tile ever lies in the third slot.", "two-slots")


def _demand_another_slot_filled(warps: Warps, k_tiles: int) -> None:
    """The next k-tile has been copied, or is on its way, before one is multiplied."""
    for events in warps:
        copied = multiplied = 0.0
        for event in events:
            if isinstance(event, Copy):
                copied += event.bytes / (SLOT / len(warps))
            elif isinstance(event, Work) and event.mma:
                ahead, wanted = round(copied - int(multiplied / MMA)), min(2, k_tiles - int(multiplied / MMA))
                demand(
                    ahead >= wanted,
                    "the product is right, but copy and math take turns: no k-tile is in another slot while one is "
                    "multiplied.",
                    "in-turn",
                )
                multiplied += event.mma


def _slots(tile: tuple[int, int, int], latency: float, then_wait: bool, flop: float = 2) -> float:
    """Turns of math that a latency takes."""
    return latency / (flop * tile[0] * tile[1] * tile[2] / RATE)


def _of_whole_cycles(
    cut: Callable[[float], int], tile: tuple[int, int, int], latency: float, late: bool
) -> int:
    """The slots, if a k-tile's math is cut to whole cycles first."""
    return ceil(latency / cut(2 * tile[0] * tile[1] * tile[2] / RATE)) + 1 + late


SHAPES = [(256, 128, 32), (128, 128, 64), (128, 256, 64), (64, 64, 32), (128, 64, 16)]
CASES = [
    (shape, cycles, late) for shape in SHAPES for cycles in (250, 700, 1500, 4000) for late in (False, True)
] + [  # turns of one cycle and a half, and two turns of 128 cycles without a rest
    ((16, 8, 16), 256, False),
    ((105, 104, 16), 256, False),
]
MISTAKES: list[tuple[str, str, Callable[..., float]]] = [
    ("no-slot-in-use", "the k-tiles on their way", lambda *case: ceil(_slots(*case))),
    ("one-order", "the ring's slots for both orders", lambda *case: ceil(_slots(*case)) + 1),
    (
        "half-the-math",
        "the slots for half the math of a k-tile",
        lambda *case: ceil(2 * _slots(*case)) + 1 + case[2],
    ),
    (
        "no-slot-in-use",
        "no slot for the k-tile that is multiplied",
        lambda *case: ceil(_slots(*case)) + case[2],
    ),
    ("rounded-down", "one slot too few", lambda *case: int(_slots(*case)) + 1 + case[2]),
    ("too-few", "whole turns only, and no slot for one k-tile", lambda *case: int(_slots(*case)) + case[2]),
    ("not-rounded", "parts of slots", lambda *case: _slots(*case) + 1 + case[2]),
    (
        "one-too-many",
        "one slot too many where the turns fit into the latency exactly",
        lambda *case: int(_slots(*case)) + 2 + case[2],
    ),
    (
        "k-step",
        "the slots for the math of one k-step",
        lambda tile, *case: ceil(_slots((*tile[:2], 16), *case)) + 1 + case[1],
    ),
    *(
        ("whole-cycles", "whole cycles of math only", partial(_of_whole_cycles, cut))
        for cut in (int, round, ceil)
    ),
    ("to-the-nearest", "turns to the nearest", lambda *case: round(_slots(*case)) + 1 + case[2]),
    ("exchanged", "the slots of the two orders exchanged", lambda *case: ceil(_slots(*case)) + 2 - case[2]),
    ("other-sign", "a slot less for issue, then wait", lambda *case: ceil(_slots(*case)) + 1 - case[2]),
]
"""A word for what a wrong function counts, that in words, and its formula. hints_05.toml has a hint for each."""


def _number_of_slots(answer: Any) -> None:
    """A function that gives the right number of slots for every case."""
    given = results_of(answer, "slots_needed", CASES)
    numbers = all(isinstance(value, int | float | np.number) for value in given)
    demand(numbers, f"the function returns {given[0]!r:.40}; it must return a number.", "no-number")
    right = [ceil(_slots(*case)) + 1 + case[2] for case in CASES]
    for cause, name, formula in MISTAKES:
        same = np.allclose(given, [formula(*case) for case in CASES])
        demand(not same, f"you count {name}.", cause)
    by_tile = np.reshape(given[:-2], (len(SHAPES), -1))  # of the latencies that all have
    demand(np.ptp(by_tile, axis=0).any(), "you give the same number of slots for every tile.", "one-tile")
    wrong = [each for each in zip(CASES, given, right, strict=True) if each[1] != each[2]]
    one_number = 2 * len(wrong) < len(CASES) and len({mine for _, mine, _ in wrong}) == 1
    for (tile, latency, late), mine, slots in wrong:
        text = (
            f"tile {tile}, latency {latency}, issue_then_wait={late}: you say {mine}, and it takes {slots}."
        )
        fail(text, *["a-limit"] * one_number)


EXERCISES = {
    "05.1": _four_slots,
    "05.2": _any_slots,
    "05.3": _turn,
    "05.4": _number_of_slots,
    "05.5": _printed,
}
