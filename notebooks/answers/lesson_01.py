"""The exercises of lesson 01."""

from functools import partial
from typing import Any

import numpy as np

from course_lib.check.gemm import Gemm
from course_lib.check.verdict import CheckFailed, Verdict
from cupy_or_sim.launch import Launch
from cupy_or_sim.simulate import simulate
from ptxsim import Report
from ptxsim.observe.events import Load

from .common import (
    SEVERAL,
    checked,
    checked_gemm,
    demand,
    demand_kernel,
    demand_no_hazard,
    demand_parts,
    demand_whole_sectors,
    fail,
)
from .needless import needless_barrier
from .untried import Untried

COPIED = 64, 16
"""Rows and columns of the k-tile of 01.1."""
FLOATS = 8
"""In a sector."""
TM, TN, TK = 64, 32, 16
RECTANGLE = Launch((TM, TN, TK), 256)
MOST_AT_COPY = 3
"""Barriers of a thread in 01.1, which needs one: one more before it and behind it do no harm."""
MOST_BARRIERS = 4
"""In a turn of 01.2 and 01.3, which need two: one more for each tile does no harm."""
SQUARE = Launch((64, 64, 16), 256)
MOST_STEPS = 200_000
"""Of a launch of one block or three, which takes some thousands."""


def _demand_sectors(report: Report, floats: int) -> None:
    """Raise as the finding when more sectors move than `floats`, each moved once, take."""
    demand_whole_sectors(report)
    moved, enough = report.counters.total.global_sectors, floats // FLOATS
    text = f"the numbers are right, but {moved} sectors move in all, and {enough} hold the data."
    demand(moved <= enough, text, "many-sectors")


def _copy_alone(kernel: Any) -> None:
    """The first k-tile of each block. The part that was given reads each float in two warps, so that no thread can do
    with what it copied itself."""
    demand_kernel(kernel)
    tm, tk = COPIED
    wrong, report = _copied(kernel, 3)
    demand(not wrong, f"{wrong}.")
    for blocks in Untried(kernel).blocks({2: 1 / tm, "%ctaid.x": 1.0}, 3):
        wrong, _ = _copied(kernel, blocks)
        demand(not wrong, f"right with 3 blocks, and not with {blocks}: {wrong}.", "many-blocks")
    _demand_sectors(report, 2 * 3 * tm * tk)
    comes = report.counters.total.barriers / (3 * len(report.events))  # a warp
    text = f"the numbers are right, but a thread comes to {comes:.0f} barriers; one is enough."
    demand(comes <= MOST_AT_COPY, text, "many-barriers")
    for warp, events in enumerate(report.events):  # of the first block
        mine = sum(event.bytes for event in events if isinstance(event, Load)) // 4
        text = f"the numbers are right, but warp {warp} copies {mine:.0f} of the {tm * tk} floats."
        demand(mine == tm * tk // len(report.events), text, "other-share")


def _copied(kernel: Any, blocks: int) -> tuple[str, Report]:
    """How many elements are wrong, in words, and the report."""
    tm, tk = COPIED
    A = np.asfortranarray(np.arange(blocks * tm * tk, dtype=np.float32).reshape(blocks * tm, tk))
    out = np.full(A.size, np.nan, np.float32)
    steps = MOST_STEPS * (1 + blocks // 8)
    report = simulate(kernel, (blocks,), (256,), (A, out, np.int32(len(A))), max_steps=steps)
    demand_no_hazard(report)
    tiles = [A[first : first + tm, ::-1] for first in range(0, len(A), tm)]
    expected = np.concatenate([(tile + 2 * np.roll(tile, -32, axis=0)).ravel("F") for tile in tiles])
    count = int((out != expected).sum())
    return f"{count} of {out.size} elements are wrong" * (count > 0), report


def _rectangle(answer: Any) -> str | None:
    """A right product of tiles in shared memory that moves each element of a strip once for each block. A needless
    barrier is told."""
    kernel, report = _tiled_rectangle(answer)
    return needless_barrier(kernel, report.events, 2 * 3, _tiled_rectangle)


def _tiled_rectangle(answer: Any) -> tuple[Any, Report]:
    try:
        kernel = _right_rectangle(answer)
    except CheckFailed as error:
        kinds = {hazard.kind for hazard in error.hazards}
        known = set(error.causes) - {"wrong-numbers"}
        if kinds <= {"out-of-bounds"} and not known and (why := _why_wrong(answer, bool(kinds))):
            cause, text = why
            raise CheckFailed(f"{error}\n{text}", causes=(cause,)) from None
        raise
    gemm = Gemm(2 * TM, 3 * TN, 3 * TK)
    report = simulate(kernel, gemm.grid(RECTANGLE), (256,), gemm.arguments(*gemm.inputs))
    if not report.counters.total.shared_loads:
        fail("the numbers are right, but nothing is read from shared memory.", "no-tile")
    _demand_few_barriers(report, 6, 3)
    demand_parts(report.events, Load, "copies")
    blocks_m, blocks_n = gemm.grid(RECTANGLE)  # each reads its strips of A and B, and writes its tile of C
    _demand_sectors(report, blocks_n * gemm.M * gemm.K + blocks_m * gemm.N * gemm.K + gemm.M * gemm.N)
    return kernel, report


def _one_barrier_more(answer: Any) -> str | None:
    """A right product with few barriers. A needless one is told."""
    kernel, verdict = _repaired(answer)
    return needless_barrier(kernel, verdict.several.events, 2 * SEVERAL - 1, _repaired)


def _repaired(answer: Any) -> tuple[Any, Verdict]:
    kernel, verdict = checked(answer, SQUARE)
    _demand_few_barriers(verdict.several, 2, SEVERAL)
    return kernel, verdict


def _demand_few_barriers(report: Report, blocks: int, k_tiles: int) -> None:
    comes = report.counters.total.barriers / (len(report.events) * blocks * k_tiles)  # a warp, in each turn
    demand(
        comes <= MOST_BARRIERS,
        f"the numbers are right, but a thread comes to {comes:.0f} barriers for each k-tile; 2 are enough.",
        "many-barriers",
    )


def _right_rectangle(answer: Any) -> Any:
    """The kernel, if its numbers are right and its report is clean. An endless loop, or one thread that copies for all,
    ends after a small launch: the check behind it has more patience."""
    if hasattr(answer, "code"):
        block = Gemm(TM, TN, 2 * TK)
        args = block.arguments(*block.inputs)
        report = simulate(answer, (1, 1), (256,), args, max_steps=MOST_STEPS)
        demand_no_hazard(report)
        if np.allclose(args[2], args[0] @ args[1].T):
            demand_parts(report.events, Load, "copies")
    return checked_gemm(answer, RECTANGLE)


def _why_wrong(kernel: Any, outside: bool) -> tuple[str, str] | None:
    """What is wrong with a product, in a word that the hints know and in a sentence; None if that cannot be said.
    `outside`: it has left an array."""
    if not hasattr(kernel, "code"):
        return None
    if not _wrong(kernel, 2 * TM, 2 * TM, 2 * TK).any():
        return "right-if-square", "With M = N it is right."
    if not outside:
        return _why_one_block_is_wrong(kernel)
    if not _wrong(kernel, TM, TN, TK).any() and _wrong(kernel, TM, TN, 3 * TK).any():
        return "step-leaves", "Right is only the product of one k-tile."
    return None


def _why_one_block_is_wrong(kernel: Any) -> tuple[str, str]:
    wrong = _wrong(kernel, TM, TN, TK)
    if not _product(kernel, TM, TN, TK)[0].any():
        return "nothing-added", "All of C is zero."
    if not wrong.any() and not _wrong(kernel, TM, TN, 3 * TK).any():
        return "only-one-block", "Right is only the product of one block."
    if not _wrong(kernel, TM, TN, 3 * TK, k=slice(-TK, None)).any():
        return "only-last-k-tile", "In C is only the last k-tile."
    if not wrong.any():
        return "only-one-k-tile", "Right is only the product of one k-tile."
    if not _wrong(kernel, TM, TN, TK, k=slice(-1, None)).any():
        return "only-last-product", "In C is only the last product of a k-tile."
    for axis, name in enumerate(("columns", "rows")):
        if not wrong.any(axis=axis).all():
            return f"some-{name}", f"Right are some {name} of a tile."
    with_a, with_b = (_wrong(kernel, TM, TN, TK, ones=other).any() for other in "BA")
    if with_a and with_b:
        return "neither-arrives", "It is neither A nor B that arrives."
    if with_a:
        return "a-does-not-arrive", "A does not arrive."
    if with_b:
        return "b-does-not-arrive", "B does not arrive."
    return "other-k", "A k of A meets an other k of B."


def _wrong(kernel: Any, M: int, N: int, K: int, ones: str = "", k: slice = slice(None)) -> np.ndarray:
    """Where C is not the product of these k; everywhere, if there is a hazard. `ones`: which operands are all 1."""
    C, A, B, ok = _product(kernel, M, N, K, ones)
    return A[:, k] @ B[:, k].T != C if ok else np.ones(C.shape, bool)


def _product(kernel: Any, M: int, N: int, K: int, ones: str = "") -> tuple:
    """C as the kernel made it, A, B, and whether the report is clean."""
    gemm = Gemm(M, N, K)
    A, B = (np.ones_like(X) if name in ones else X for name, X in zip("AB", gemm.integers(seed=1)))
    (_, _, C, *_), report = gemm.simulated(kernel, (A, B), RECTANGLE, MOST_STEPS)
    return C, A, B, report.ok


EXERCISES = {
    "01.1": _copy_alone,
    "01.2": _rectangle,
    "01.3": _one_barrier_more,
    "01.4": partial(checked_gemm, right=Launch((64, 128, 16), 128)),
}
