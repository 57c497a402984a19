"""The verdict on a kernel that should solve a problem: first in the simulator, then where the course runs."""

from collections.abc import Callable, Sequence
from concurrent.futures import wait
from functools import cached_property

import numpy as np

from cupy_or_sim import limits
from cupy_or_sim.kernel import Kernel
from cupy_or_sim.launch import Launch
from cupy_or_sim.simulate import clean_side_by_side, compiled
from ptxsim import BAD_ADDRESS, Hazard, MessageOnly, Report, assemble, in_background, result_of
from ptxsim.observe.events import Event
from ptxsim.observe.rounds import counted_twice

from .job import Job
from .mistakes import Mistake, where_wrong
from .pairing import who_meets_whom
from .problem import Problem
from .product import Product

SMALL = ((3, 1, 2), (1, 2, 3), (2, 3, 1), (5, 2, 1))
"""(k-tiles, blocks along M, along N) of the simulated checks."""
ONE_BLOCK = (4, 6, 7, MOST := 8)
"""k-tiles of more checks, with one block each: a pipeline may fail for one number only."""


SHOWN, OTHERS = 5, (4, 6, 7)
"""k-tiles of `one_block`, and of its further tries where these are right."""

SEVERAL_TILES = 2
"""Of persistent kernels, for each block, or cluster, of a launch in place of the last of SMALL, which has more k-tiles
than a ring has slots."""
IDLE_BLOCKS = 16
"""Of persistent kernels, for the last launch of the first shape: most of them find no tile."""
ORDERS = (1, 2)
"""Seeds of other orders of the warps, for the first shape: where what a kernel does may depend on the order."""


class CheckFailed(MessageOnly, AssertionError):
    """The kernel is wrong; the message says how. `hazards`, if any were found, the most serious first; `causes`: words
    for what the check itself found, the most telling first, which stay when the message changes; `picture`: a drawing
    of what is wrong, and its description in words; `problem`: the one that came out wrong."""

    def __init__(
        self,
        message: str,
        hazards: tuple[Hazard, ...] = (),
        causes: tuple[str, ...] = (),
        picture: tuple | None = None,
        problem: Problem | None = None,
    ) -> None:
        super().__init__(message)
        self.hazards, self.causes, self.picture, self.problem = hazards, causes, picture, problem


class Verdict(str):
    """What `Gemm.check` returns when everything is right: one line."""

    __repr__ = str.__str__
    last: Callable[[], Report]
    several: Report
    """Of two blocks, side by side along N."""
    events: list[list[Event]]
    """Of each warp of one block, with the last of its k-tiles; without wavefronts and sectors."""

    @cached_property
    def one_block(self) -> Report:
        """The report of one block with MOST k-tiles, for who asks more than whether it is right."""
        return self.last()


def check(
    job: Job,
    seed: int,
    max_steps: int | None = None,
    one_block: Sequence[int] = ONE_BLOCK,
    grids: Sequence[tuple[int, int]] = (),
) -> Verdict:
    """See `Gemm.check`; `max_steps` is that of each simulated launch, `one_block` are k-tiles as ONE_BLOCK has them,
    `grids` are more (blocks along M, along N) to try, with one k-tile."""
    kernel, gemm, launch = job.kernel, job.gemm, job.launch
    tile = launch.tile
    gemm.grid(launch)
    shapes = (*SMALL[:-1], _several_tiles(kernel, launch)) if launch.blocks else SMALL
    exact = gemm.exact()
    first, *others = [job.on(exact.small(tile, *counts)) for counts in shapes]
    others += (far := [job.on(exact.small(tile, 1, *blocks)) for blocks in grids])
    others += [job.on(exact.like(*tile[:2], k_tiles * tile[2])) for k_tiles in one_block]
    several = _check_simulated(first, seed, max_steps)
    # A GPU asks more of a kernel than the simulator does; its assembler works meanwhile.
    assembled = in_background(lambda: assemble(compiled(kernel), launch.block, launch.shared_mem))
    try:
        last_first = [others[-1], *others[:-1]]
        events = _events_if_right(last_first, seed, max_steps)
        if events is None:
            # Many k-tiles or blocks last: where only these are wrong, the words say so.
            for other in sorted(others, key=lambda job: job in far or job.gemm.K // tile[2] > MOST):
                _check_simulated(other, seed, max_steps)
            events = _check_simulated(others[-1], seed, max_steps).events
        if twice := counted_twice(events):
            text = f"check failed: all is right in this order of the warps. {twice}"
            raise CheckFailed(text, causes=("counted-twice",))
        for order in ORDERS if compiled(kernel).code.order_matters else ():
            _check_simulated(first, seed, max_steps, order)
    except CheckFailed:
        wait([assembled])  # a program that ends while the assembler works would crash
        raise
    result_of(assembled, "the compiler")
    # whole numbers came out right for this shape
    small = Job(kernel, gemm.small(tile, *shapes[0]), _with_idle_blocks(launch))
    _check_here(small, small.gemm.random(seed), "random data", False, "random-data")
    if limits.runs_here(kernel, launch):
        _check_here(job, gemm.random(seed), "random data", False)
        _check_here(job.on(exact), exact.here(exact.integers(seed)), "whole numbers", True)
    verdict = Verdict(f"check passed: exact for 1 to {MOST} k-tiles, no hazard, random data as in float64")
    verdict.several, verdict.events = several, events
    verdict.last = lambda: _check_simulated(others[-1], seed, max_steps)
    return verdict


def one_block(job: Job, k_tiles: int | None) -> Report:
    """See `Gemm.one_block`."""
    report, right, said = _one_block(job, k_tiles or SHOWN)
    for other in () if k_tiles or not right else OTHERS:
        found, right, words = _one_block(job, other)
        if not right:
            report, said = found, f"right with {SHOWN} k-tiles, and with {other}:\n{words}"
            break
    print(said)
    return report


def _one_block(job: Job, k_tiles: int) -> tuple[Report, bool, str]:
    """One tile of so many k-tiles: its report, whether all is right, and what to say of it."""
    M, N, K = job.launch.tile
    one = job.gemm.exact().like(M, N, k_tiles * K)
    inputs = one.integers(seed=0)
    args, report = job.on(one).simulated(inputs)
    right = not where_wrong(one.result(args), one.expected(*inputs).astype(one.dtype), limit=0.0)
    why = None if right or not report.ok else _meetings(job)
    words = f"numbers right: {right}\nhazards: {report.brief()}{why.text if why else ''}"
    return report, right and report.ok, words


def _events_if_right(jobs: list[Job], seed: int, max_steps: int | None) -> list[list[Event]] | None:
    """What the warps of the first one's block 0 do, if the kernel is right for all of these; else None. Run side by
    side: quick, and without a word about what is wrong."""
    kernel, small = jobs[0].kernel, jobs[0].launch.small()
    problems = [job.gemm for job in jobs]
    inputs = [gemm.integers(seed) for gemm in problems]
    on = [gemm.arguments(*given) for gemm, given in zip(problems, inputs, strict=True)]
    launches = [
        (gemm.grid(small), gemm.passed(kernel, args)) for gemm, args in zip(problems, on, strict=True)
    ]
    steps = max_steps and max_steps * len(problems)
    events = clean_side_by_side(kernel, launches, small.block, small.shared_mem, steps)
    wrong = events is None or any(
        where_wrong(gemm.result(args), gemm.expected(*given).astype(gemm.dtype), limit=0.0)
        for gemm, given, args in zip(problems, inputs, on, strict=True)
    )
    return None if wrong else events


def _check_simulated(job: Job, seed: int, max_steps: int | None, order: int | None = None) -> Report:
    """The report comes first: a race may leave the numbers right, on this machine, today. `order`: of the warps."""
    gemm, inputs = job.gemm, job.gemm.integers(seed)
    args, report = job.simulated(inputs, max_steps, order)
    result = gemm.result(args)
    failed = _failed(job) + " in another order of the warps," * (order is not None)
    # Behind a bad address there are zeros: numbers that come of them tell nothing.
    if report.stopped or _bad_address(report):
        raise CheckFailed(f"{failed} hazard\n{report}", report.hazards, problem=gemm)
    wrong = where_wrong(result, gemm.expected(*inputs).astype(gemm.dtype), 0.0, gemm.matrices[-1])
    why = gemm.guess(result, inputs, job.launch.tile) if wrong else None
    if not report.ok:
        right = "The numbers are right this time. On a GPU they may not be: remove the hazard."
        text = f"{failed} hazard\n{report}\n{_told(wrong, why) or right}"
        raise CheckFailed(text, report.hazards, _causes(result, why), problem=gemm)
    if wrong:
        why = why or _meetings(job)
        text = f"{failed} no hazard, wrong numbers\n{_told(wrong, why)}"
        raise CheckFailed(text, causes=(*_causes(result, why), "wrong-numbers"), problem=gemm)
    return report


def _check_here(job: Job, inputs: tuple, words: str, exact: bool, *causes: str) -> None:
    """Launch on this machine's backend and compare with float64; `exact`: equal, once rounded to the dtype."""
    gemm = job.gemm
    result, expected = gemm.launched(job.kernel, inputs, job.launch), gemm.expected(*inputs)
    limit = 0.0 if exact else gemm.limit(*inputs)
    if wrong := where_wrong(
        result, expected.astype(gemm.dtype) if exact else expected, limit, gemm.matrices[-1]
    ):
        raise CheckFailed(f"{_failed(job)} {words}\n{wrong}", causes=causes, problem=gemm)


def _several_tiles(kernel: Kernel, launch: Launch) -> tuple[int, int, int]:
    """For a persistent kernel: k-tiles, and tiles along M and N."""
    blocks = launch.small().blocks or 1
    clusters = blocks // compiled(kernel).code.program.cluster[0]
    return SMALL[-1][0], SEVERAL_TILES * max(clusters, 1), 1


def _with_idle_blocks(launch: Launch) -> Launch:
    """For the first shape: a persistent kernel has more blocks than tiles, but not hundreds that the simulator runs."""
    return launch.but(blocks=launch.blocks and min(launch.blocks, IDLE_BLOCKS))


def _bad_address(report: Report) -> bool:
    return any(hazard.kind in BAD_ADDRESS for hazard in report.hazards)


def _told(wrong: str, why: Mistake | None) -> str:
    return wrong + (why.text if why else "")


def _causes(result: np.ndarray, why: Mistake | None) -> tuple[str, ...]:
    return (*((why.cause,) if why else ()), *(("not-stored",) if np.isnan(result).any() else ()))


def _meetings(job: Job) -> Mistake | None:
    """For a product on tensor cores: which k of A meets which k of B in one block and one k-tile, if that is wrong."""
    tile = job.launch.tile
    if not isinstance(job.gemm, Product) or job.gemm.dtype != "float16":
        return None
    one = job.on(job.gemm.like(*tile))

    def run(*inputs: np.ndarray) -> np.ndarray:
        args, report = one.simulated(inputs)
        C = args[2].astype(float)
        return np.full_like(C, np.nan) if _bad_address(report) else C

    return who_meets_whom(run, *tile)


def _failed(job: Job) -> str:
    return f"check failed with {job.gemm.size} (k-tiles: {-(-job.gemm.K // job.launch.tile[2])}):"
