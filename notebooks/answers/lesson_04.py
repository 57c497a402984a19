"""The exercises of lesson 04."""

from collections import Counter
from typing import Any

import numpy as np

from course_lib.check.gemm import Gemm
from course_lib.check.verdict import MOST, CheckFailed, Verdict
from cupy_or_sim.launch import Launch
from cupy_or_sim.simulate import simulate
from ptxsim import Hazard, Report
from ptxsim.observe.events import Copy

from .common import (
    Warps,
    checked,
    demand,
    demand_kernel,
    demand_no_hazard,
    demand_parts,
    demand_tensor_cores,
    fail,
    for_every_count,
)
from .lesson_03 import math_without_a_copy
from .needless import needless_barrier

_NARROW = Launch((32, 8, 32), 32)
_SIX_CHUNKS = Launch((16, 16, 48), 32)
_SQUARE = Launch((128, 128, 32), 128, 32768)
_MMA = 2 * 32
"""Of a warp, for one k-tile of it: two k-steps."""

ROW_BYTES = 96  # of a k-tile that is 48 deep

_LANE = np.arange(32)[:, None]
_ROW, _COLUMN = _LANE // 4, _LANE % 4 * 2 + np.arange(2)
"""Of the two halves that a lane receives of an 8 x 8 matrix."""


def _fragments(answer: Any, corners: list[tuple[int, int]]) -> None:
    """A warp that loads registers from 16 x 16 halves. `corners`: first row and column of the matrix that belongs
    into each register."""
    demand_kernel(answer)
    tile, registers = np.arange(256, dtype=np.float16).reshape(16, 16), np.zeros((32, 4), np.uint32)
    report = simulate(answer, (1,), (32,), (tile, registers))
    demand_no_hazard(report)
    halves = registers.view(np.float16).reshape(32, 4, 2)
    if not np.isfinite(halves).all() or not (halves % 1 == 0).all():
        fail("a register holds what is not in the tile.", "not-in-tile")
    found = halves.astype(int)
    for i, (row, column) in enumerate(corners):
        wrong = (found[:, i] != 16 * (row + _ROW) + column + _COLUMN).any(axis=1)
        right = _words(row, column)
        held, causes = _piece(found[:, i], i)
        demand(not wrong.any(), f"register {i} holds {held}; it should hold {right}.", *causes)
    total = report.counters.total
    text = f"the registers are right, and {total.ldmatrix} ldmatrix were made, not 1."
    demand(total.ldmatrix == 1, text, "not-by-ldmatrix")
    others = total.shared_loads - total.ldmatrix
    text = f"the registers are right, and {others} other loads from shared memory were made."
    demand(not others, text, "not-by-ldmatrix")


def _piece(found: np.ndarray, register: int) -> tuple[str, tuple[str, ...]]:
    """What a register of the 32 lanes holds, in words and in words that the hints know: an 8 x 8 matrix of the tile,
    if it is one."""
    row, column = divmod(int(found[0, 0]), 16)
    if np.array_equal(found, 16 * (row + _ROW) + column + _COLUMN):
        order = {(1, 0, 8): "order-of-b", (1, 8, 0): "order-of-a"}.get((register, row, column))
        return _words(row, column), (*([order] if order else ()), "other-matrix")
    lanes = ", ".join(f"row {found[lane, 0] // 16} in lane {lane}" for lane in (0, 4, 8))
    return f"no matrix of eight neighbouring rows ({lanes})", ()


def _words(row: int, column: int) -> str:
    return f"rows {row} to {row + 7}, k = {column} to {column + 7}"


def _fragment_of_a(answer: Any) -> None:
    _fragments(answer, [(0, 0), (8, 0), (0, 8), (8, 8)])


def _fragments_of_b(answer: Any) -> None:
    _fragments(answer, [(0, 0), (0, 8), (8, 0), (8, 8)])


def _narrow(answer: Any) -> None:
    _, verdict = checked(answer, _NARROW, "float16")
    demand_tensor_cores(verdict.several, _NARROW, 3, ldmatrix=1 + 2 * 2)


def _six_chunks(answer: Any) -> None:
    """Right, in the given shared memory, and without a bank conflict of `ldmatrix`."""
    kernel, verdict = checked(answer, _SIX_CHUNKS, "float16")
    demand_tensor_cores(verdict.several, _SIX_CHUNKS, 3)
    gemm = Gemm(*_SIX_CHUNKS.tile, "float16")
    report = simulate(kernel, (1, 1), (_SIX_CHUNKS.threads,), gemm.arguments(*gemm.inputs))
    loads = [counts for counts in report.counters.by_line.values() if counts.ldmatrix]
    made, right = sum(counts.ldmatrix for counts in loads), 2 * _SIX_CHUNKS.tile[2] // 16
    text = f"the numbers are right, and {made} ldmatrix are made for a k-tile, not {right}."
    demand(made == right, text, "not-by-ldmatrix")
    used = sum(counts.shared_wavefronts for counts in loads) / made
    demand(
        used == 4,
        f"the numbers are right, and an `ldmatrix` takes {used:.3g} wavefronts instead of 4.",
        "many-wavefronts",
    )
    if report.resources.static_shared > 3072:
        fail("the tiles take more than 3072 bytes of shared memory.", "much-shared-memory")
    _demand_rows(report, [line for line, counts in report.counters.by_line.items() if counts.ldmatrix])


def _demand_rows(report: Report, lines: list[int]) -> None:
    """Each row of a k-tile is one piece of shared memory: what `ldmatrix`, in these lines, reads of 16 rows are two
    chunks of each."""
    for line in lines:
        places = report.counters.patterns[line][0].offsets
        chunks = Counter(place // ROW_BYTES for place in places)
        text = (
            "no `ldmatrix` has a bank conflict, but some chunks do not lie in the 96 bytes of their own row."
        )
        demand(set(chunks.values()) == {2}, text, "other-row")


def _without_b(kernel: Any) -> bool:
    """Whether C has numbers other than 0 when all of B is 0: then rows of A were taken for rows of B."""
    gemm = Gemm(128, 128, 128, "float16")
    A, B = gemm.integers(seed=0)
    args, _ = gemm.simulated(kernel, (A, np.zeros_like(B)), _SQUARE)
    return bool(np.nan_to_num(args[2]).any())


def _stores_over_the_tile(hazard: Hazard) -> bool:
    """Whether `store_tile` writes where slow warps still read, or a copy is on its way."""
    return hazard.kind in ("write-after-read", "write-after-write") and "mma_store.cuh" in hazard.message


def _square(answer: Any) -> str | None:
    """A right product with the next k-tile on its way during the math. A needless barrier is told."""
    kernel, verdict = _whole_square(answer)
    return needless_barrier(kernel, verdict.events, MOST + 1, _whole_square)


def _whole_square(answer: Any) -> tuple[Any, Verdict]:
    try:
        kernel, verdict = checked(answer, _SQUARE, "float16")
    except CheckFailed as error:
        kernel = answer[0] if isinstance(answer, tuple) else answer
        if "wrong-numbers" in error.causes and _without_b(kernel):
            fail("with all of B zero, C is not zero: some of it is made without B.", "a-for-b")
        if error.hazards and all(_stores_over_the_tile(hazard) for hazard in error.hazards):
            # without the kinds, whose hint points elsewhere
            raise CheckFailed(str(error), causes=("stored-over-the-tile",)) from None
        raise
    gemm = Gemm(128, 128, 128, "float16")
    args = gemm.arguments(*gemm.inputs)
    report = simulate(kernel, (1, 1), (_SQUARE.threads,), args, _SQUARE.shared_mem)
    total = report.counters.total
    demand(total.cp_async, "no asynchronous copy was made.", "not-by-copies")
    if total.cp_async > 128:
        fail(f"{total.cp_async} copies of a warp are made where 128 are enough.", "copied-again")
    if total.ldmatrix < 256:
        fail("fragments did not come out of shared memory by `ldmatrix`.", "not-from-shared")
    demand(total.mma == 1024, f"{total.mma} mma for 128 x 128 x 128 of C and k; 1024 are enough.", "many-mma")
    demand_parts(verdict.events, Copy, "copies")
    for_every_count(kernel, verdict, _SQUARE, _demand_next_k_tile, "float16")
    return kernel, verdict


def _demand_next_k_tile(warps: Warps, k_tiles: int) -> None:
    """While a k-tile is multiplied, but the last, copies are on their way."""
    for warp, events in enumerate(warps):
        bare = math_without_a_copy(events, k_tiles, _MMA)[:-1]
        turns = [turn for turn, without in enumerate(bare) if without >= 0.5 * _MMA]
        some = f"in {len(turns)} of {len(bare)} turns " * (len(turns) < len(bare))
        text = f"the product is right, but {some}warp {warp} has no copy on its way during its math."
        demand(not turns, text, "not-every-turn" if some else "nothing-on-its-way")


EXERCISES = {
    "04.1": _fragment_of_a,
    "04.2": _fragments_of_b,
    "04.3": _narrow,
    "04.4": _six_chunks,
    "04.5": _square,
}
