"""The exercises of lesson 06 on whole kernels: a ring for any size, the notes' own kernel, and the learner's own."""

from math import prod
from typing import Any

import numpy as np

from course_lib.check.gemm import Gemm
from course_lib.check.job import Job
from course_lib.check.verdict import ONE_BLOCK, CheckFailed
from course_lib.instruments.checklist import checklist
from cupy_or_sim.launch import Launch
from cupy_or_sim.simulate import clean_side_by_side, simulate
from ptxsim import Report

from .common import (
    MOST_STEPS,
    check_k_tiles,
    demand,
    demand_kernel,
    demand_no_hazard,
    fail,
    k_tiles_on_their_way,
    results_of,
    untried_grids,
)
from .needless import needless_barrier
from .untried import Untried, untried

BLOCK = 128
"""Rows and columns of C that a block of the notes' kernel makes."""
SHAPES = [(128, 128, 64), (128, 128, 16), (128, 128, 40), (200, 300, 72), (129, 140, 8)]
"""(M, N, K): whole tiles; one k-tile; a part of one at the end; then edges everywhere."""
CHUNK = 8
"""Halves that one copy brings."""
RING = 5
"""K-tiles of a launch that shows whether a ring is one."""
TILE_K, SIZES = 16, (3, 4, 5)
"""Columns of the notes' k-tile; which parameters M, N and K are."""


def _product(M: int, N: int, K: int, dtype: str, order: tuple[int, ...]) -> tuple[list, np.ndarray]:
    """[A, B, C] in the order of a kernel's arguments, then M, N, K; and A @ B.T, k by k: (K + 1, M, N) sums so far."""
    random = np.random.default_rng(M + N + K)
    A, B = (random.integers(-4, 5, (size, K)).astype(np.float16) for size in (M, N))
    arrays = A, B, np.full((M, N), np.nan, dtype)
    return [*(arrays[i] for i in order), *map(np.int32, (M, N, K))], arrays[2]


def _sums(A: np.ndarray, B: np.ndarray, k: slice) -> np.ndarray:
    return A[:, k].astype(np.float32) @ B[:, k].astype(np.float32).T


def _what_is_wrong(C: np.ndarray, A: np.ndarray, B: np.ndarray) -> tuple[str, str] | None:
    """What C holds in place of A @ B.T, in a word and in a few words; None if it is right."""
    K = A.shape[1]
    if np.array_equal(C, _sums(A, B, slice(K)).astype(C.dtype)):
        return None
    never = np.isnan(C)
    for name, lines in (("rows", never.all(axis=1)), ("columns", never.all(axis=0))):
        if lines.any() and not lines.all():
            return "not-stored", f"{name} from {lines.argmax()} on are never written"
    if never.all():
        return "nothing-stored", "nothing is written"
    if never.any():
        return "not-stored", "some elements are NaN: never written, or computed from NaN"
    for last in range(K - 8, -1, -8):
        if np.array_equal(C, _sums(A, B, slice(last)).astype(C.dtype)):
            if not last:
                return "every-sum-0", "every sum is 0"
            return "k-left-out", f"k from {last} on are left out"
        if np.array_equal(C, (_sums(A, B, slice(K)) + _sums(A, B, slice(last))).astype(C.dtype)):
            return "k-twice", f"k from 0 to {last - 1} are added twice"
    for there in range(1, CHUNK):
        begun = np.where(np.arange(K) % CHUNK < there, A, 0)
        if np.array_equal(C, _sums(begun, B, slice(K)).astype(C.dtype)):
            return "part-of-chunks", f"of each {CHUNK} k only the first {there} are there"
    return "other-numbers", "the numbers are wrong"


# --------------------------------------------------------------------------- 06.6: the notes' kernel


def _notes(answer: Any) -> None:
    """The notes' kernel, mended, and a function that gives its launch."""
    if not isinstance(answer, tuple) or len(answer) != 2:
        fail(f"what came is {answer!r:.60}, and not two things.", "wrong-form")
    kernel, launch_of = answer
    demand_kernel(kernel)
    if not callable(launch_of):
        fail(f"the launch is {launch_of!r:.60}, and must be a function of M and N.", "no-function")
    _notes_at(kernel, launch_of, SHAPES)
    try:
        _notes_at(kernel, launch_of, _far(kernel))
    except CheckFailed as error:
        text = f"the usual sizes are right. {str(error)[:1].upper()}{str(error)[1:]}"
        raise CheckFailed(text, causes=("far-size", *error.causes)) from None


def _far(kernel: Any) -> list[tuple[int, int, int]]:
    """(M, N, K) at constants with which the kernel compares its sizes, or the places of its blocks."""
    far = untried(kernel, TILE_K, (1, 2, 3, 4, 5), SIZES[2])
    # x counts along N
    grids = untried_grids(Untried(kernel), (BLOCK, BLOCK), (3, 2), (SIZES[1], SIZES[0]))
    deep = [(BLOCK, BLOCK, TILE_K * k_tiles) for k_tiles in far]
    return deep + [(BLOCK * down, BLOCK * across, TILE_K) for across, down in grids]


def _notes_at(kernel: Any, launch_of: Any, shapes: list[tuple[int, int, int]]) -> None:
    launches = results_of(launch_of, "launch", [shape[:2] for shape in shapes])
    for (M, N, K), given in zip(shapes, launches, strict=True):
        three = isinstance(given, tuple | list) and len(given) == 3
        demand(three, f"the launch is {given!r:.60}; it must be three things.", "no-three-things")
        grid, block, shared_mem = given
        demand(
            isinstance(grid, tuple | list) and all(isinstance(size, int) and size >= 1 for size in grid),
            f"the grid is {grid!r:.40} for M = {M}, N = {N}.",
            "wrong-grid",
        )
        if not isinstance(shared_mem, int) or shared_mem < 0:
            fail(f"the shared memory is {shared_mem!r:.40} bytes.", "wrong-shared-mem")
        (C, A, B, *sizes), _ = _product(M, N, K, "float32", (2, 0, 1))
        report = simulate(kernel, tuple(grid), _block(block), (C, A, B, *sizes), shared_mem, 4 * MOST_STEPS)
        demand_no_hazard(report)
        if wrong := _what_is_wrong(C, A, B):
            cause, text = wrong
            whole = ("whole-k-tile-left-out",) if cause == "k-left-out" and K in (64, 16) else ()
            fail(f"no hazard, and M = {M}, N = {N}, K = {K} is not right: {text}.", *whole, cause)
        blocks, tiles = prod(grid), -(-M // BLOCK) * -(-N // BLOCK)
        told = f"{blocks} for {tiles}, M = {M}, N = {N}"
        if blocks > tiles:
            fail(f"right, but the grid has more blocks than C has tiles: {told}.", "more-blocks")
        least, made = _fewest_mma(M, N, K), report.counters.total.mma
        told = f"right, but {made} mma were made for M = {M}, N = {N}, K = {K}, and {least} are needed."
        demand(made >= least, told, "no-mma")
        demand(SHAPES[0] != (M, N, K) or made == least, told, "more-mma")


def _block(threads: Any) -> tuple[int, ...]:
    block = tuple(threads) if isinstance(threads, tuple | list) else (threads,)
    if not all(isinstance(size, int) for size in block):
        fail(f"the threads of a block are {threads!r:.40}.", "wrong-threads")
    return block


def _fewest_mma(M: int, N: int, K: int) -> int:
    """mma.m16n8k16 that C takes at least."""
    return -(-M // 16) * -(-N // 8) * -(-K // 16)


# --------------------------------------------------------------------------- 06.1, 06.7: a GEMM of one's own


def _guards(answer: Any) -> str | None:
    """A ring on tensor cores, right for any M, N and K, and still a ring at the edges. A needless barrier is told."""
    kernel, launch = _for_every_size(answer)
    TM, TN, TK = launch.tile
    for M, N, K in (TM - 3, TN - 8, 4 * TK - 8), (TM, TN, RING * TK):
        report = _demand_ring(kernel, launch, M, N, K)
    _demand_exact(kernel, launch)

    def still_right(other: Any) -> None:
        shapes = [shape for *_, shapes in _edges(launch) for shape in shapes]
        demand(_right_for(other, launch, shapes), "not right for every size.")
        _demand_exact(other, launch)

    return needless_barrier(kernel, report.events, RING + 1, still_right)


def _demand_ring(kernel: Any, launch: Launch, M: int, N: int, K: int) -> Report:
    """One block makes its tile with `mma`, no more of them than without guards, and a k-tile is on its way during the
    math of another one. Its report."""
    TM, TN, TK = launch.tile
    k_tiles = -(-K // TK)
    args, _ = _product(M, N, K, "float16", (0, 1, 2))
    report = simulate(kernel, (1, 1), launch.block, args, launch.shared_mem, 8 * MOST_STEPS)
    made, least, most = report.counters.total.mma, _fewest_mma(M, N, K), _fewest_mma(TM, TN, k_tiles * TK)
    told = f"right for every size, but {made} mma were made for {M} x {N} x {K}, and {least} are needed."
    demand(made >= least, told, "no-mma")
    demand(made <= most, told, "more-mma")
    ahead = k_tiles_on_their_way(report, k_tiles)
    told = f"right for every size, but at {M} x {N} x {K} no k-tile is on its way while one is multiplied."
    demand(ahead >= 1, told, "nothing-ahead")
    copied = report.counters.total.cp_async_bytes / (k_tiles * (TM + TN) * TK * 2)
    demand(copied <= 1, f"right, but each k-tile is copied {copied:.3g} times.", "copied-again")
    return report


def _own(answer: Any) -> None:
    """Right for any size, and nothing is left on the checklist that needs no GPU."""
    kernel, launch = _for_every_size(answer)
    _demand_exact(kernel, launch)
    TM, TN, TK = launch.tile
    found = checklist(kernel, Gemm(8 * TM, 8 * TN, -(-4096 // TK) * TK, "float16"), launch)
    missed = [name for name in found.missed if name != "math units busy"]
    words = [f"{name} ({found[name].value}; {found[name].target})" for name in missed]
    causes = [name.replace(" ", "-") for name in missed]
    demand(not missed, f"right for every size; still on the checklist: {', '.join(words)}.", *causes)


def _for_every_size(answer: Any) -> tuple[Any, Launch]:
    """A kernel with the course's arguments, and its launch: right for whole tiles, then for some M, N and K of each
    kind."""
    if not isinstance(answer, tuple) or len(answer) != 2:
        fail(f"the answer is a kernel and its launch, and not {answer!r:.60}.", "wrong-form")
    kernel, launch = answer
    demand_kernel(kernel)
    _demand_launch(launch)
    steps = _edges(launch)
    if _right_for(kernel, launch, [shape for *_, shapes in steps for shape in shapes]):
        steps = []
    found = [(cause, step, *_first_wrong(kernel, launch, shapes)) for cause, step, shapes in steps]
    missing = [(cause, f"{step} ({wrong})", why) for cause, step, wrong, why in found if wrong]
    if missing and missing[0][0] == "whole-tiles" and missing[0][2] != "part_of_chunks":
        try:
            _demand_exact(kernel, launch)
        except CheckFailed as error:
            if error.hazards or {*error.causes} - {"rest-missing"}:
                raise
            words = (*error.causes, "store-of-whole-tiles")
            raise CheckFailed(str(error), causes=words, problem=error.problem) from None
    reached = ", ".join(step for _, step, wrong, _ in found if not wrong) or "no size"
    of_one = [(cause.removeprefix("any-").replace("-", "_"), cause, why) for cause, _, why in missing[:1]]
    causes = [(f"any-{sizes}-{why}", cause) for sizes, cause, why in of_one]
    told = ", ".join(text for _, text, _ in missing)
    demand(not missing, f"right for {reached}; not yet for {told}.", *sum(causes, ()))
    _demand_zeros_in_both(kernel, launch)
    return kernel, launch


def _edges(launch: Launch) -> list[tuple[str, str, list[tuple[int, int, int]]]]:
    """(a word for a kind of sizes, that in words, some (M, N, K) of that kind)."""
    TM, TN, TK = launch.tile
    return [
        ("whole-tiles", "whole tiles", [(TM, TN, RING * TK), (TM, 2 * TN, TK)]),
        ("any-k", "any K", [(TM, TN, 3 * TK + 8), (TM, TN, 8), (TM, TN, 2 * TK - 8)]),
        ("any-m", "any M", [(TM + 1, TN, 2 * TK), (TM - 3, TN, 2 * TK)]),
        ("any-n", "any N", [(TM, TN + 8, 2 * TK), (TM, TN - 3, 2 * TK)]),
        ("all-three", "all three", [(TM + 37, TN + 51, 5 * TK + 16), (3, 5, 8)]),
    ]


def _demand_zeros_in_both(kernel: Any, launch: Launch) -> None:
    """Behind K stand zeros in A and in B. Rows that are all infinite show it: what is copied out of them makes NaN of
    a zero. All else is positive, so that no NaN is right."""
    TM, TN, TK = launch.tile
    args, C = _product(TM, TN, TK + 8, "float16", (0, 1, 2))
    for matrix in args[:2]:
        matrix[:] = abs(matrix) + 1
        matrix[:2] = np.inf
    simulate(kernel, (1, 1), launch.block, args, launch.shared_mem, 8 * MOST_STEPS)
    told = f"right, but at {TM} x {TN} x {TK + 8} with infinite numbers in A and B {np.isnan(C).sum()} sums are NaN."
    demand(not np.isnan(C).any(), told, "zeros-in-one")


def _demand_exact(kernel: Any, launch: Launch) -> None:
    """The whole check, on whole tiles: it takes longer, and says more."""
    M, N, K = (4 * size for size in launch.tile)
    gemm = Gemm(M, N, K, "float16")
    check_k_tiles(Job(kernel, gemm, launch), 8 * MOST_STEPS, ONE_BLOCK)


def _demand_launch(launch: Any) -> None:
    """It is written as the lessons write it, for a tile that the exercise's shapes suit."""
    known = isinstance(launch, Launch)
    text = f"the launch is {launch!r:.60}, and not Launch(tile=..., threads=..., shared_mem=...)."
    demand(known, text, "wrong-launch")
    tile = launch.tile
    demand(
        all(isinstance(size, int) for size in tile) and min(tile) >= 4 and tile[2] % 8 == 0,
        f"the launch is for a tile of {tile!r:.40}, and must be for (rows, columns, a multiple of 8).",
        "wrong-launch",
    )
    _block(launch.threads)


def _right_for(kernel, launch: Launch, shapes: list[tuple[int, int, int]]) -> bool:
    """Whether the kernel is right for all of these: quicker than one after the other, and without a word."""
    made = [_product(*shape, "float16", (0, 1, 2)) for shape in shapes]
    launches = [(_grid(launch, *shape), args) for shape, (args, _) in zip(shapes, made, strict=True)]
    steps = 8 * MOST_STEPS * len(shapes)
    events = clean_side_by_side(kernel, launches, launch.block, launch.shared_mem, steps)
    return events is not None and not any(_what_is_wrong(C, *args[:2]) for args, C in made)


def _grid(launch: Launch, M: int, N: int, _: int) -> tuple[int, int]:
    return -(-M // launch.tile[0]), -(-N // launch.tile[1])


def _first_wrong(kernel, launch: Launch, shapes: list[tuple]) -> tuple[str, str]:
    """The first of the shapes for which the kernel is not right: how it is wrong, and a word for that; "" if there is
    none."""
    for M, N, K in shapes:
        args, C = _product(M, N, K, "float16", (0, 1, 2))
        grid = _grid(launch, M, N, K)
        report: Report = simulate(kernel, grid, launch.block, args, launch.shared_mem, 8 * MOST_STEPS)
        kinds = ", ".join(dict.fromkeys(hazard.kind for hazard in report.hazards))
        if kinds:
            causes = {hazard.cause for hazard in report.hazards}
            beyond = [word for word in ("read", "write") if f"{word}-beyond-array" in causes]
            if kinds == "uninitialised-read" and not _what_is_wrong(C, *args[:2]):
                return f"{M} x {N} x {K}: {kinds}", "unwritten"
            for cause in ("beyond-shared-memory", "more-than-copied"):
                if cause in causes:
                    return f"{M} x {N} x {K}: {kinds}", cause.replace("-", "_")
            words = ["misaligned"] if "misaligned" in kinds else beyond or [report.hazards[0].kind]
            return f"{M} x {N} x {K}: {kinds}", "_and_".join(words).replace("-", "_")
        if wrong := _what_is_wrong(C, *args[:2]):
            named = wrong[0] in ("not-stored", "part-of-chunks")
            return f"{M} x {N} x {K}: {wrong[1]}", wrong[0].replace("-", "_") if named else "numbers"
    return "", ""


EXERCISES = {"06.6": _notes, "06.1": _guards, "06.7": _own}
