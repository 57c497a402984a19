"""The exercises of lesson 04."""

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np

from course_lib.check.gemm import Gemm
from course_lib.check.verdict import MOST, CheckFailed, Verdict
from cupy_or_sim.launch import Launch
from cupy_or_sim.simulate import simulate
from ptxsim import Hazard, Report
from ptxsim.observe.events import Copy, Event, Wait, Work, in_flight

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
    rows, columns = found[::4, 0] // 16, found[::4, 0] % 16
    first = [f"lane {4 * i} has row {rows[i]}, k = {columns[i]}" for i in range(3)]
    neighbours = np.array_equal(rows, rows[0] + np.arange(8))
    return f"no 8 x 8 of the tile ({'; '.join(first)})", ("other-columns",) if neighbours else ()


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
    """Each row of a k-tile is one piece of shared memory, and they follow each other: there `ldmatrix`, in these lines,
    finds the rows that the lanes name, of A or of B."""
    lanes = range(32)
    named = [[lane % 16 for lane in lanes], [lane % 8 + lane // 16 * 8 for lane in lanes]]
    for line in lines:
        places = report.counters.patterns[line][0].offsets
        text = (
            "no `ldmatrix` has a bank conflict, but some chunks do not lie in the 96 bytes of their own row."
        )
        demand([place // ROW_BYTES % 16 for place in places] in named, text, "other-row")


def _without_b(kernel: Any) -> bool:
    """Whether C has numbers other than 0 when all of B is 0: then rows of A were taken for rows of B."""
    gemm = Gemm(128, 128, 128, "float16")
    A, B = gemm.integers(seed=0)
    args, _ = gemm.simulated(kernel, (A, np.zeros_like(B)), _SQUARE)
    return bool(np.nan_to_num(args[2]).any())


def _right_in_one_k_tile(kernel: Any) -> bool:
    """Whether the product of one k-tile, in one block, is right."""
    gemm = Gemm(*_SQUARE.tile, "float16")
    A, B = gemm.integers(seed=0)
    args, _ = gemm.simulated(kernel, (A, B), _SQUARE)
    return np.array_equal(args[2], (A.astype(np.float32) @ B.astype(np.float32).T).astype(np.float16))


def _stores_over_the_tile(hazard: Hazard) -> bool:
    """Whether `store_tile` writes where slow warps still read, or a copy is on its way."""
    return hazard.kind in ("write-after-read", "write-after-write") and "mma_store.cuh" in hazard.message


def _square(answer: Any) -> str | None:
    """A right product with the next k-tile on its way during the math. A needless barrier is told, and a late copy."""
    kernel, verdict = _whole_square(answer)
    told = needless_barrier(kernel, verdict.events, MOST + 1, _whole_square)
    return told or _late_copies(verdict.events)


def _late_copies(warps: Warps) -> str | None:
    """How much of the next k-tile is on its way during the math, in words, where it could be clearly more."""
    least = min(min(_on_its_way(events, MOST)[:-1]) for events in warps)
    if least > 0.9:
        return None
    return f"But during the math of a k-tile only {least:.0%} of the next one is on its way, on average."


def _whole_square(answer: Any) -> tuple[Any, Verdict]:
    try:
        kernel, verdict = checked(answer, _SQUARE, "float16")
    except CheckFailed as error:
        kernel = answer[0] if isinstance(answer, tuple) else answer
        if "wrong-numbers" in error.causes and _without_b(kernel):
            fail("with all of B zero, C is not zero: some of it is made without B.", "a-for-b")
        unknown = "wrong-numbers" in error.causes and set(error.causes) <= {"wrong-numbers", "not-stored"}
        if unknown and not _right_in_one_k_tile(kernel):
            raise CheckFailed(str(error), causes=("wrong-in-one-k-tile",)) from None
        if error.hazards and all(_stores_over_the_tile(hazard) for hazard in error.hazards):
            # without the kinds, whose hint points elsewhere
            raise CheckFailed(str(error), causes=("stored-over-the-tile",)) from None
        if any(hazard.kind == "unwaited-copy" for hazard in error.hazards) and _waits_beside_copies(kernel):
            raise CheckFailed(str(error), causes=("in-no-group",)) from None
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


def _waits_beside_copies(kernel: Any) -> bool:
    """Whether a warp waits for groups while copies belong to none."""
    gemm = Gemm(128, 128, 64, "float16")
    args = gemm.arguments(*gemm.inputs)
    report = simulate(kernel, (1, 1), (_SQUARE.threads,), args, _SQUARE.shared_mem)
    return any(open_bytes and isinstance(event, Wait) for event, _, open_bytes in in_flight(report.events[0]))


def _on_its_way(events: Sequence[Event], k_tiles: int) -> list[float]:
    """During the math of each k-tile: how much of the next one's copies by this warp is on its way, on average."""
    share = sum(event.bytes for event in events if isinstance(event, Copy)) / k_tiles or inf
    ahead, done = [0.0] * k_tiles, 0.0
    for event, groups, current in in_flight(events):
        if not isinstance(event, Work) or not event.math:
            continue
        begin, done = done, done + event.math
        for k_tile in range(k_tiles):  # the math between two events may be that of several
            during = min(done, _MMA * (k_tile + 1)) - max(begin, _MMA * k_tile)
            ahead[k_tile] += max(during, 0.0) / _MMA * min((sum(groups) + current) / share, 1.0)
    return ahead


def _demand_next_k_tile(warps: Warps, k_tiles: int) -> None:
    """While a k-tile is multiplied, but the last, the next one is on its way: all of it for half of the math, say."""
    for warp, events in enumerate(warps):
        ahead = _on_its_way(events, k_tiles)[:-1]
        turns = [part for part in ahead if part < 0.5]
        some = f"in {len(turns)} of {len(ahead)} turns " * (len(turns) < len(ahead))
        none = max(turns, default=0.0) < 0.01
        what = "no copy" if none else f"only {max(turns):.0%} of the next k-tile"
        text = f"the product is right, but {some}warp {warp} has {what} on its way during its math."
        demand(not turns, text, "not-every-turn" if some else "nothing-on-its-way")


EXERCISES = {
    "04.1": _fragment_of_a,
    "04.2": _fragments_of_b,
    "04.3": _narrow,
    "04.4": _six_chunks,
    "04.5": _square,
}
