"""Which plan is the fastest for a problem: a sweep over tiles, parts of K, slots and orders of blocks, on a GPU.

All combinations are some thousand for one problem. So three rounds, each around what the last one found fast:

1. every tile with K in 1, 2, 3, ... parts, until more parts make it slower by WORSE;
2. the tiles within NEAR of the fastest, with other numbers of slots;
3. the tiles within NEAR of the fastest, with other orders of blocks.

The LAST fastest are then timed again, in turn, beside cuBLAS, and checked on whole numbers.
"""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from multiprocessing import get_context

import numpy as np

from cupy_or_sim import device, power, timing

from .matmul import here
from .operands import Operand
from .plans import SMS, SPLITS, TILES, Plan, Shape, by_rule
from .ready import gemm_kernel, instance, kernel_of, ready
from .sweep_file import shape_of

STAGES = (2, 3, 4, 6)
GROUPS = (1, 4, 8, 16, 32)
NEAR, WORSE, LAST = 1.10, 1.15, 3
MOST_BLOCKS = 6 * SMS
"""With K in parts."""
HALF = "__half"
BASES = tuple({tile.plan.tile: tile.plan for tile in reversed(TILES)}.values())[::-1]
"""Each tile once, with the number of slots that the rule takes."""

Times = dict[Plan, float]
Ladder = list[Plan]


@dataclass
class Found:
    """What a sweep found for one problem, in microseconds; `times` of all plans that were timed."""

    times: Times = field(default_factory=dict)
    plan: Plan | None = None
    us: float = 0.0
    cublas_us: float = 0.0


# --------------------------------------------------------------------------- what to time


def parts(shape: Shape, times: Times, bases: Iterable[Plan]) -> list[Ladder]:
    """Each tile with K in more and more parts: of two k-tiles or more, and MOST_BLOCKS in all."""
    M, N, K = shape
    ladders = []
    for base in bases:
        down, across = base.tiles(M, N)
        most = min(MOST_BLOCKS // (down * across), K // (2 * base.tile[2]))
        ladders.append(list(dict.fromkeys(base.parts(K, split) for split in SPLITS if split <= max(most, 1))))
    chosen = by_rule(M, N, K, shared=here()[0])
    if any(chosen.tile == base.tile for base in bases):
        ladders.append([chosen])
    return ladders


def slots(shape: Shape, times: Times, bases: Iterable[Plan]) -> list[Ladder]:
    """Other numbers of slots that fit."""
    plans = [replace(plan, stages=stages) for plan in near(times) for stages in STAGES]
    return [[plan] for plan in plans if plan.fits(True, True, here()[0])]


def orders(shape: Shape, times: Times, bases: Iterable[Plan]) -> list[Ladder]:
    """Other orders of blocks. Where a group holds all tiles that lie below each other, a larger one changes nothing."""
    M, N, _ = shape
    grids: dict[tuple, Plan] = {}
    for plan in near(times):
        for group in (plan.group, *GROUPS):
            new = replace(plan, group=group)
            grids.setdefault((plan.tile, new.grid(M, N)), new)
    return [[plan] for plan in grids.values()]


ROUNDS = {"tiles, parts of K": parts, "slots": slots, "order of blocks": orders}


def near(times: Times) -> list[Plan]:
    """The fastest plan of each tile that is within NEAR of the fastest of all, this one first."""
    best: dict[tuple, Plan] = {}
    for plan in sorted(times, key=lambda plan: times[plan]):
        best.setdefault(plan.tile, plan)
    limit = NEAR * min(times.values())
    return [plan for plan in best.values() if times[plan] <= limit]


def climb(ladder: Ladder, times: Times, measure: Callable[[Plan], float]) -> None:
    """Time the plans of a ladder that have no time yet, and stop where one is slower by WORSE."""
    fastest = np.inf
    for plan in ladder:
        if plan not in times:
            times[plan] = round(measure(plan), 2)
        if times[plan] > WORSE * fastest:
            return
        fastest = min(fastest, times[plan])


# --------------------------------------------------------------------------- on a GPU


class Problem:
    """A (M, K) and B (N, K) of normal random numbers, or of whole ones, on the GPU; float16, contiguous along K."""

    dtype, order = "float16", "C"

    def __init__(self, shape: Shape, whole: bool = False) -> None:
        self.M, self.N, self.K = M, N, K = self.shape = shape
        random = device.cp.random.default_rng(0)
        self.A, self.B = (
            (
                random.integers(-4, 5, size) if whole else random.standard_normal(size, dtype=np.float32)
            ).astype(np.float16)
            for size in ((M, K), (N, K))
        )
        self.C = device.cp.full((M, N), np.nan, np.float16)

    @property
    def inputs(self) -> tuple:
        return self.A, self.B

    def arguments(self, A: object, B: object) -> tuple:
        """A, B, and C, which is written."""
        return A, B, self.C

    def call_of(self, plan: Plan) -> Callable[[], None]:
        launch = ready(plan, Operand(self.A), Operand(self.B), self.C)
        return lambda: launch(self.A, self.B, self.C, None)

    def time(self, plan: Plan) -> float:
        """The median of 20 launches, of 10 where one takes more than a millisecond."""
        return self.time_call(self.call_of(plan))

    def time_call(self, call: Callable[[], None]) -> float:
        M, N, K = self.shape
        return float(np.median(timing.time_launches(call, 10 if M * N * K > 2e11 else 20)))

    def cublas(self) -> Callable[[], None]:
        return timing.cublas(self)

    def sustained(self, plan: Plan) -> dict:
        """Speed, clock and power when the plan runs on and on, and the clock in a burst."""
        call, flops = self.call_of(plan), 2 * int(np.prod(self.shape, dtype=np.int64))
        us = self.time(plan)
        return {"burst_mhz": timing.sm_clock_mhz(call, us), **power.sustained(call, us, flops)}


def exact(shape: Shape, plan: Plan) -> bool:
    """Whether a plan is right to the last bit on whole numbers; sums of these are exact in float32."""
    problem = Problem(shape, whole=True)
    problem.call_of(plan)()
    expected = problem.A.astype(np.float32) @ problem.B.astype(np.float32).T
    return bool((expected.astype(np.float16) == problem.C).all())


def sweep(shapes: Iterable[Shape], bases: Iterable[Plan] = BASES) -> dict[Shape, Found]:
    """Time plans on the GPU in use, in three rounds, and choose. Raises RuntimeError when a chosen one is wrong."""
    found = {shape_of(shape): Found() for shape in shapes}
    for title, variants in ROUNDS.items():
        ladders = {shape: variants(shape, each.times, bases) for shape, each in found.items()}
        compile_all(plan for each in ladders.values() for ladder in each for plan in ladder)
        bar = Bar(title)
        for number, (shape, each) in enumerate(found.items()):
            problem = Problem(shape)
            for ladder in ladders[shape]:
                climb(ladder, each.times, problem.time)
            bar.show(number + 1, len(found), shape, each.times)
    bar = Bar("the fastest again")
    for number, (shape, each) in enumerate(found.items()):
        plan = choose(shape, each)
        bar.show(number + 1, len(found), shape, {plan: each.us})
    return found


def choose(shape: Shape, each: Found) -> Plan:
    """Time the LAST fastest plans again, there and back, between two turns of cuBLAS; keep the fastest that is."""
    problem = Problem(shape)
    last, cublas = sorted(each.times, key=lambda plan: each.times[plan])[:LAST], problem.cublas()
    before = problem.time_call(cublas)
    again: dict[Plan, list[float]] = {plan: [] for plan in last}
    for plan in (*last, *reversed(last)):
        again[plan].append(problem.time(plan))
    each.cublas_us = round((before + problem.time_call(cublas)) / 2, 2)
    each.plan = fastest = min(last, key=lambda plan: sum(again[plan]))
    each.us = round(sum(again[fastest]) / 2, 2)
    if not exact(shape, fastest):
        raise RuntimeError(f"{fastest} gives wrong numbers for {shape}")
    return fastest


def compile_all(plans: Iterable[Plan]) -> None:
    """Compile what the plans need, in several processes: CuPy keeps it on disk, where this process finds it."""
    names = {instance(HALF, HALF if plan.split == 1 else "float", plan, True, True) for plan in plans}
    with ProcessPoolExecutor(min(os.cpu_count() or 1, 12), mp_context=get_context("spawn")) as pool:
        list(pool.map(compile_one, sorted(names)))


def compile_one(name: str) -> None:
    kernel_of(name)


def registers(found: dict[Shape, Found]) -> dict[tuple, int]:
    """(tile, slots) -> registers of a thread, of all that were timed."""
    plans = {(plan.tile, plan.stages): plan for each in found.values() for plan in each.times}
    return {key: gemm_kernel(HALF, HALF, plan, True, True).num_regs for key, plan in plans.items()}


@dataclass
class Bar:
    """How far a round is, on one line."""

    title: str
    width: int = 30

    def show(self, done: int, of: int, shape: Shape, times: Times) -> None:
        plan = min(times, key=lambda plan: times[plan])
        full = "#" * (self.width * done // of)
        tile, problem = ("x".join(map(str, each)) for each in (plan.tile, shape))
        line = f"{self.title:17} [{full:.<{self.width}}] {done}/{of}  {problem}: {tile}, {times[plan]:.1f} us"
        print(f"\r{line:100}", end="\n" if done == of else "", flush=True)
