"""The exercises of lesson 02."""

import heapq
from collections import Counter
from collections.abc import Callable
from functools import wraps
from itertools import pairwise
from typing import Any

import numpy as np

from course_lib.check.gemm import Gemm
from course_lib.check.problem import Problem
from course_lib.check.verdict import CheckFailed
from cupy_or_sim.cupy_on_numpy import RawKernel
from cupy_or_sim.launch import Launch
from cupy_or_sim.simulate import simulate
from ptxsim import Report
from ptxsim.observe.events import Arrive, Barrier, Copy, Event, Load, Store, Work

from .common import (
    checked,
    checked_gemm,
    demand,
    demand_from_tile,
    demand_kernel,
    demand_no_hazard,
    demand_parts,
    demand_whole_sectors,
    fail,
    for_every_count,
)
from .loads import touched_before_math
from .needless import needless_barrier

PIECES = 4  # of 1024 floats, in 02.1
BUFFER = 4096  # bytes: one of them
AHEAD = Launch((64, 64, 16), 256)
ROLES = Launch((64, 64, 8), 96)
LATE = AHEAD.but(shared_mem=8192)
K_TILES = 12  # in a launch that is looked at for copies on their way
MOST_STEPS = 200_000  # of one block: many times what it takes
MOST_BARRIERS = 4
"""For a piece of 02.1, which needs two: one more for each of them does no harm."""


def _pieces(kernel: Any) -> str | None:
    """Each piece turned round, through shared memory that cp.async fills and that threads share. A needless barrier is
    told."""
    report = _turned(kernel)
    return needless_barrier(kernel, report.events, 2 * PIECES, _turned)


def _turned(kernel: Any) -> Report:
    demand_kernel(kernel)
    x = np.random.default_rng(2).integers(-999, 1000, PIECES * 1024).astype(np.float32)
    y, expected = np.full_like(x, np.nan), x.reshape(PIECES, 1024)[:, ::-1].ravel()
    report = simulate(kernel, (1,), (256,), (x, y), max_steps=MOST_STEPS)
    demand_no_hazard(report)
    wrong = f"{(expected != y).sum()} of {y.size} elements are wrong or missing"
    demand(not np.isnan(y).any(), f"{wrong}.", "missing")
    demand(np.array_equal(y, expected), f"{wrong}.")
    copied = report.counters.total.cp_async_bytes
    text = f"the numbers are right, but cp.async moved {copied} bytes, and not {x.nbytes}."
    demand(copied == x.nbytes, text, "not-by-copies")
    demand_parts(report.events, Copy, "copies", share=1.0)
    made, enough = report.counters.total.cp_async, PIECES * len(report.events)
    text = f"the numbers are right, but warps start {made} copies; {enough} of 16 bytes a lane are enough."
    demand(made <= enough, text, "narrow-copies")
    demand_parts(report.events, Store, "writes", share=1.0)
    demand_from_tile(report.events)
    bare = RawKernel("#define __syncthreads()\n" + kernel.code, kernel.name, kernel.options)
    alone = simulate(bare, (1,), (256,), (x, np.full_like(x, np.nan)), max_steps=MOST_STEPS)
    demand(
        alone.counters.total.barriers or not alone.ok,
        "the numbers are right, and would be without any barrier: each thread reads only what it copied itself.",
        "nobody-shares",
    )
    demand_whole_sectors(report)
    shared = kernel.shared_size_bytes
    text = (
        f"the numbers are right, but the kernel has {shared} bytes of shared memory; one buffer has {BUFFER}."
    )
    demand(shared <= BUFFER, text, "more-buffers")
    comes = report.counters.total.barriers / (PIECES * len(report.events))  # a warp, for each piece
    text = f"the numbers are right, but a thread comes to {comes:.0f} barriers for each piece; 2 are enough."
    demand(comes <= MOST_BARRIERS, text, "many-barriers")
    return report


def _one_ahead(kernel: Any) -> str | None:
    """A right product that has the next k-tile on its way during the math of this one, and asks for each once. A
    needless barrier is told."""
    report = _ahead_once(kernel)
    return needless_barrier(kernel, report.events, 2 * K_TILES, _ahead_once)


def _ahead_once(kernel: Any) -> Report:
    report = _watched(kernel, AHEAD)
    try:
        checked_gemm(kernel, AHEAD)
    except CheckFailed as error:
        if "random-data" not in error.causes and _right_if_square(kernel, AHEAD, error.problem):
            raise CheckFailed(f"{error}\nM and N are mixed up.", causes=("right-if-square",)) from None
        raise
    asked = sum(event.bytes for mine in report.events for event in mine if isinstance(event, Load))
    k_tiles = asked / _bytes_of_k_tile(AHEAD)
    text = f"the product is right, but of {K_TILES} k-tiles only {k_tiles:.0f} come through registers."
    demand(k_tiles >= K_TILES, text, "not-through-registers")
    if k_tiles > K_TILES + 1:  # the last one may be asked for once more
        fail(f"the product is right, but of {K_TILES} k-tiles {k_tiles:.0f} are loaded.", "loaded-twice")
    demand_parts(report.events, Load, "loads")
    demand(
        not touched_before_math(kernel),
        "the product is right, but in the loop a value that was loaded is used before any math: the math hides nothing "
        "of that load.",
        "nothing-ahead",
    )
    late = max(_math_before_the_next_load(mine, k_tiles) for mine in report.events)
    demand(
        late < 0.5,
        f"the product is right, but {late:.0%} of the math is done before the next k-tile is asked for.",
        "nothing-ahead",
    )
    return report


def _math_before_the_next_load(events: list[Event], k_tiles: float) -> float:
    """Which share of a warp's math is done while the k-tile after it has not been asked for. `k_tiles`: as many as the
    warp loads."""
    part = sum(event.bytes for event in events if isinstance(event, Load)) / k_tiles
    of_k_tile = sum(map(_math, events)) / K_TILES
    loaded = done = late = 0.0
    for event in events:
        loaded += event.bytes if isinstance(event, Load) else 0.0
        if math := _math(event):
            k_tile = int((done + math / 2) / of_k_tile)
            late += math if k_tile < K_TILES - 1 and loaded < part * (k_tile + 2) else 0.0
            done += math
    return late / done


def _late_load(kernel: Any) -> None:
    """A right product, also of one k-tile, for which the loop makes no turn."""
    try:
        checked_gemm(kernel, LATE)
    except CheckFailed as error:
        tm, tn, tk = LATE.tile
        failed = error.problem
        if failed and tk == failed.K and _is_right(kernel, Gemm(2 * tm, 3 * tn, 2 * tk), LATE):
            raise CheckFailed(f"{error}\nWith two k-tiles it is right.", causes=("one-k-tile",)) from None
        raise


def _two_roles(kernel: Any) -> str | None:
    """A right product whose producer is one k-tile ahead of the consumers. A needless barrier is told."""
    report = _handed_over(kernel)
    return needless_barrier(kernel, report.events, 2 * K_TILES, _handed_over)


def _handed_over(kernel: Any) -> Report:
    report = _watched(kernel, ROLES)
    try:
        _, verdict = checked(kernel, ROLES)
    except CheckFailed as error:
        if any(hazard.cause == "part-of-warps" for hazard in error.hazards):
            raise
        if why := _wrong_hand_over(report, [*error.hazards, *report.hazards]):
            cause, text = why
            raise CheckFailed(f"{error}\n{text}", causes=(cause,)) from None
        raise
    consumers = [mine for mine in report.events if any(map(_math, mine))]
    demand_from_tile(consumers, "slots")
    text = "the product is right, but one warp multiplies where two should."
    demand(len(consumers) > 1, text, "one-consumer")
    if both := _where_both_wait(report):
        raise CheckFailed(
            f"the product is right, but at barrier {both[0]} both sides wait for each other.",
            causes=("both-wait",),
        )
    shared, slots = kernel.shared_size_bytes, 2 * _bytes_of_k_tile(ROLES)
    text = (
        f"the product is right, but the kernel has {shared} bytes of shared memory; two slots have {slots}."
    )
    demand(shared >= slots, text, "one-slot")
    for_every_count(kernel, verdict, ROLES, _demand_other_slot_filled)
    return report


def _demand_other_slot_filled(events: list[list[Event]], k_tiles: int) -> None:
    demand(
        k_tiles < 2 or _k_tiles_ahead(events, k_tiles, ROLES) >= 1,
        "the product is right, but during the math of some k-tiles nobody fills the other slot.",
        "nothing-on-its-way",
    )


def _divergence_first(test: Callable[[Any], str | None]) -> Callable[[Any], str | None]:
    """The same test; whatever a barrier that not all come to has led to, that barrier is the finding."""

    @wraps(test)
    def tried(answer: Any) -> str | None:
        try:
            return test(answer)
        except CheckFailed as error:
            apart = tuple(hazard for hazard in error.hazards if hazard.kind == "barrier-divergence")
            if apart:
                raise CheckFailed(str(apart[0]), apart) from None
            raise

    return tried


def _watched(kernel: Any, launch: Launch) -> Report:
    """The report on one block of a long product, which must come to an end."""
    demand_kernel(kernel)
    gemm = Gemm(*launch.tile[:2], K_TILES * launch.tile[2])
    args = gemm.arguments(*_whole_numbers(gemm))
    report = simulate(kernel, (1, 1), launch.block, args, max_steps=MOST_STEPS)
    if any(hazard.kind == "step-limit" for hazard in report.hazards):
        raise CheckFailed(str(report), report.hazards[-1:])
    return report


def _bytes_of_k_tile(launch: Launch) -> int:
    """Of A and B, for one block."""
    tile_m, tile_n, tile_k = launch.tile
    return 4 * (tile_m + tile_n) * tile_k


def _k_tiles_ahead(events: list[list[Event]], k_tiles: int, launch: Launch) -> int:
    """How many k-tiles are asked for beyond the one that is multiplied, for most of the math of each k-tile but the
    last, at the least: if only math took time, and every warp went on as far as the barriers let it."""
    moved, k_tile_bytes = 0.0, _bytes_of_k_tile(launch)
    math_of_k_tile = [sum(map(_math, mine)) / k_tiles for mine in events]
    ahead: dict[int, Counter[int]] = {}
    meeting: dict[int, list[tuple[int, bool]]] = {}
    at, done, running = [0] * len(events), [0.0] * len(events), len(events)
    queue = [(0.0, warp, 0.0) for warp in range(len(events))]  # time, warp, math that it is in the middle of
    while queue:
        time, warp, math = heapq.heappop(queue)
        if math:
            k_tile = int((done[warp] - math / 2) / math_of_k_tile[warp])
            ahead.setdefault(k_tile, Counter())[round(moved / k_tile_bytes) - k_tile - 1] += int(math)
            continue
        while at[warp] < len(events[warp]):
            event = events[warp][at[warp]]
            at[warp] += 1
            if isinstance(event, Copy | Load):
                moved += event.bytes
            elif math := _math(event):
                done[warp] += math
                heapq.heappush(queue, (time + math / 2, warp, math))
                heapq.heappush(queue, (time + math, warp, 0.0))
                break
            elif isinstance(event, Barrier | Arrive):
                here = meeting.setdefault(event.id, [])
                here.append((warp, isinstance(event, Barrier)))
                if len(here) >= (event.count // 32 if event.count else running):
                    for other, waits in here:
                        if waits and other != warp:
                            heapq.heappush(queue, (time, other, 0.0))
                    here.clear()
                elif isinstance(event, Barrier):
                    break
        else:
            running -= 1
    most = {k_tile: max(math, key=math.__getitem__) for k_tile, math in ahead.items()}
    return min((each for k_tile, each in most.items() if k_tile < k_tiles - 1), default=0)


def _says_empty_too_early(events: list[Event]) -> bool:
    """Whether a consumer that has waited arrives at a barrier, and multiplies before it waits again."""
    steps = [type(event) for event in events if isinstance(event, Barrier | Arrive) or _math(event)]
    waited = steps[steps.index(Barrier) :] if Barrier in steps else []
    return any(pair == (Arrive, Work) for pair in pairwise(waited))


def _math(event: Event) -> float:
    return event.math if isinstance(event, Work) else 0.0


def _right_if_square(kernel: Any, launch: Launch, failed: Problem | None) -> bool:
    """Whether a product that is wrong for M != N is right for M = N and as many k-tiles."""
    M = launch.tile[0]
    return failed is not None and _is_right(kernel, Gemm(2 * M, 2 * M, failed.K), launch)


def _is_right(kernel: Any, gemm: Gemm, launch: Launch) -> bool:
    args = gemm.arguments(*_whole_numbers(gemm))
    report = simulate(kernel, gemm.grid(launch), launch.block, args, launch.shared_mem)
    return report.ok and np.array_equal(args[2], args[0] @ args[1].T)


def _whole_numbers(gemm: Gemm) -> list[np.ndarray]:
    """A and B, on the host; the product is exact."""
    random = np.random.default_rng(2)
    shapes = (gemm.M, gemm.K), (gemm.N, gemm.K)
    return [random.integers(-9, 10, shape).astype(np.float32, order="F") for shape in shapes]


def _wrong_hand_over(report: Report, hazards: list) -> tuple[str, str] | None:
    """What is wrong with the meetings of producer and consumers, in a word that the hints know and in a sentence; None
    if nothing is."""
    met = [event for mine in report.events for event in mine if isinstance(event, Barrier | Arrive)]
    odd = {str(event.count) for event in met if event.count not in (None, ROLES.threads)}
    producers = [mine for mine in report.events if any(isinstance(event, Copy) for event in mine)]
    consumers = [mine for mine in report.events if any(map(_math, mine))]
    if odd:
        return "other-count", f"A named barrier counts to {', '.join(sorted(odd))}."
    if not producers:
        return "no-copy", "Nobody has copied anything yet."
    kinds = {hazard.kind for hazard in hazards}
    stuck = "deadlock" in kinds
    if any(event.count is None for event in met):
        text = "__syncthreads() waits for the threads of the producer, too."
        return ("meets-the-producer", text) if stuck and "barrier-divergence" not in kinds else None
    if consumers and not _waits(consumers):
        return "no-wait-for-full", "The consumers never wait."
    if not _waits(producers):
        return "no-wait-for-empty", "The producer never waits."
    if any(map(_says_empty_too_early, consumers)):
        return "empty-too-early", "The consumers say empty before they have done their math."
    if len({event.id for event in met}) < 3:
        return "shared-barrier", "Slots share a named barrier."
    if _other_slot(producers, consumers):
        return "other-slot", "Producer and consumers mean different slots."
    if stuck:
        if both := _where_both_wait(report):
            return "both-wait", f"At barrier {both[0]} both sides wait."
        unsaid = _empty_not_said(consumers)
        return unsaid or ("unequal-turns", "One side comes more often than the other.")
    return None


def _empty_not_said(consumers: list[list[Event]]) -> tuple[str, str] | None:
    """As above, of consumers that have multiplied and have not said empty where the producer can hear it."""
    said = [{event.id for event in mine if isinstance(event, Arrive)} for mine in consumers]
    if not any(said):
        return ("nobody-says-empty", "The consumers have said nothing yet.") if said else None
    if not all(said):
        return "one-warp-says-empty", "Not every consumer warp says something."
    pairs = {pair for mine in consumers for pair in _waited_then_said(mine)}
    if any(full == empty for full, empty in pairs):
        return "empty-elsewhere", "The consumers say empty at the barrier where they have waited for full."
    if len({empty for _, empty in pairs}) < len({full for full, _ in pairs}):
        return "empty-elsewhere", "The consumers say empty at one barrier for two slots."
    return None


def _other_slot(producers: list[list[Event]], consumers: list[list[Event]]) -> bool:
    """Whether the producer waits for another barrier than the one at which the consumers say that the slot is empty
    which it then calls full."""
    empty_of = {full: empty for mine in consumers for full, empty in _waited_then_said(mine)}
    said = [(full, empty) for mine in producers for empty, full in _waited_then_said(mine)]
    return any(empty_of.get(full, empty) != empty for full, empty in said)


def _waited_then_said(events: list[Event]) -> list[tuple[int, int]]:
    """(barrier at which a warp waits, the next one, at which it only arrives)"""
    met = [event for event in events if isinstance(event, Barrier | Arrive)]
    return [(a.id, b.id) for a, b in pairwise(met) if isinstance(a, Barrier) and isinstance(b, Arrive)]


def _where_both_wait(report: Report) -> list[int]:
    """The named barriers at which the producer and consumers wait."""
    waits = [{event.id for event in mine if isinstance(event, Barrier)} for mine in report.events]
    produces = [any(isinstance(event, Copy) for event in mine) for mine in report.events]
    of_producers = set().union(*(ids for ids, copies in zip(waits, produces) if copies))
    return sorted(of_producers & set().union(*(ids for ids, copies in zip(waits, produces) if not copies)))


def _waits(warps: list[list[Event]]) -> bool:
    return any(isinstance(event, Barrier) for mine in warps for event in mine)


EXERCISES = {
    "02.1": _divergence_first(_pieces),
    "02.2": _divergence_first(_one_ahead),
    "02.3": _divergence_first(_two_roles),
    "02.4": _divergence_first(_late_load),
}
