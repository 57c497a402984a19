"""The exercise of lesson 07 about a ring of full and empty barriers."""

import re
from collections.abc import Iterable
from functools import partial
from typing import Any

from course_lib.check.gemm import Gemm
from course_lib.check.mistakes import product, where_wrong
from course_lib.check.verdict import CheckFailed
from cupy_or_sim import cupy_on_numpy
from cupy_or_sim.launch import Launch
from ptxsim import Report
from ptxsim.observe.events import BulkCopy, Event, MbarrierWait, Wgmma, WgmmaWait

from .common import demand, demand_all_landed, demand_also, demand_kernel, fail, in_short, untried_grids
from .replay import flights
from .untried import Untried, untried

SLOT = (64 + 256) * 64 * 2
"""Bytes of a slot in the rings of the exercises."""
ROUND = 64
"""Bytes for the barriers behind the slots."""
ORDER = ("write-after-read", "unwaited-copy", "mbarrier", "deadlock")
"""What is told first, where one mistake makes several findings."""
MOST_STEPS = 2_000_000
"""Of one launch: some five times what the solutions take."""


def run(
    kernel,
    tile: tuple[int, int, int],
    tiles: tuple[int, int, int],
    slots: int,
    blocks: int | None,
    most_steps: int = MOST_STEPS,
) -> Report:
    """Raise what is wrong with a product of so many tiles along M, N and K, or give its report."""
    M, N, K = (size * count for size, count in zip(tile, tiles, strict=True))
    gemm = Gemm(M, N, K, "float16")
    launch = Launch(tile, 256, slots * SLOT + ROUND, blocks)
    args, report = gemm.simulated(kernel, gemm.integers(seed=0), launch, most_steps)
    if not report.ok:
        found = sorted(report.hazards, key=lambda h: ORDER.index(h.kind) if h.kind in ORDER else len(ORDER))
        raise CheckFailed(str(found[0]), tuple(found))
    wrong = where_wrong(args[2], product(*args[:2]).astype(gemm.dtype), limit=0.0)
    demand(not wrong, wrong, "wrong-numbers")
    demand_all_landed(report)
    return report


def demand_more_k_tiles(
    kernel,
    tile: tuple[int, int, int],
    tiles: tuple[int, int],
    tried: tuple[int, ...],
    slots: int,
    blocks: int | None,
) -> None:
    """A kernel that is right for the numbers of k-tiles that were tried is right for those that it treats apart."""
    for k_tiles in untried(kernel, tile[2], tried):
        steps = MOST_STEPS * (1 + k_tiles // max(tried))
        longer = partial(run, kernel, tile, (*tiles, k_tiles), slots, blocks, steps)
        demand_also(longer, f"right with {max(tried)} k-tiles, and not with {k_tiles}", "many-k-tiles")


def demand_more_tiles(
    kernel, tile: tuple[int, int, int], more: Iterable[tuple[tuple[int, int], int | None]], slots: int
) -> None:
    """A kernel that is right for few tiles of C is right for those that it treats apart. `more`: tiles along M and N,
    and the blocks that share them out; None: one for each."""
    for (down, right), blocks in more:
        try:
            run(kernel, tile, (down, right, 1), slots, blocks, MOST_STEPS * (1 + down * right // 4))
        except CheckFailed as error:
            who = (
                f"{down * right} blocks"
                if blocks is None
                else f"{down * right} tiles for {blocks} block{'s' * (blocks > 1)}"
            )
            text = f"right with few tiles of C, and not with {who}: {in_short(error)}"
            raise CheckFailed(text, causes=("many-blocks" if blocks is None else "many-tiles",)) from None


def demand_all_slots(report: Report, slots: int) -> None:
    """Copies go to each slot of the ring."""
    used = {event.mbarrier for mine in report.events for event in mine if isinstance(event, BulkCopy)}
    text = f"the product is right, but all copies go to {len(used)} of {slots} slots."
    demand(len(used) >= slots, text, "unused-slots")


def demand_shared_copies(report: Report, least: int, shared: str) -> None:
    """A pair's copies fetch no more bytes than it needs, each block's half of them; `shared`: the matrix that both
    blocks need."""
    brought = report.counters.total.bulk_bytes
    demand(
        brought <= least,
        f"right, but the pair fetches {brought:,} bytes where {least:,} are enough: not all of {shared} is fetched "
        "once for both.",
        "not-shared",
    )
    own = sum(event.bytes for mine in report.events for event in mine if isinstance(event, BulkCopy))
    demand(
        2 * own == brought,
        f"right, but of the {brought:,} bytes that the pair fetches, block 0 asks for {own:,}: {shared} is fetched "
        "once for both, and not a half of it by each.",
        "other-half",
    )


def _demand_ring(report: Report, k_tiles: int, slots: int) -> None:
    """All slots are used, and the producer waits for nothing but its slot; that may be freed one k-tile later."""
    demand_all_slots(report, slots)
    for multiplied in range(k_tiles - slots + 1):
        free = slots if multiplied == 0 else slots - 1
        ahead = fetched(report, k_tiles, multiplied) - multiplied
        demand(
            ahead >= free,
            f"the product is right, but with {slots} slots, as long as k-tile {multiplied} of {k_tiles} is not "
            f"multiplied, the producer fetches {ahead} k-tile{'s' * (ahead != 1)}, and there is room for {free}.",
            "not-ahead",
        )


def demand_none_behind_the_last(report: Report, k_tiles: int, slot: int = SLOT) -> None:
    """No copy brings a k-tile from behind the matrix; its zeros leave the product right. `k_tiles`: of all tiles that
    were made; `slot`: bytes of one."""
    came = report.counters.total.bulk_bytes // slot
    behind = came - k_tiles
    text = f"the product is right, but {came} k-tiles are copied, {behind} of them from behind K's last one: zeros."
    demand(behind <= 0, text, "behind-the-last")


def _demand_freed_when_read(report: Report, k_tiles: int, slots: int) -> None:
    """A slot whose k-tile is known to be read is free at the latest when the next k-tile's math has begun."""
    for begun in range(1, k_tiles):
        held = [_held_at_wait(mine, k_tiles, begun) for mine in report.events]
        known = min(read for _, read in held)
        room = min(slots + known, k_tiles)
        copies = sum(isinstance(event, BulkCopy) for mine in report.events for event in mine)
        asked_for = flights([events for events, _ in held]) * k_tiles // copies
        demand(
            asked_for >= room,
            f"the product is right, but with {slots} slots, when k-tile {begun} of {k_tiles} is begun, the consumer "
            f"has waited for {known}, so there is room for {room}, and {asked_for} are asked for.",
            "freed-late",
        )


def _held_at_wait(events: list[Event], k_tiles: int, begun: int) -> tuple[list[Event], int]:
    """The events of a warp up to its first wait for wgmma behind the math of that k-tile, and there an mbarrier that
    does not exist; and how many k-tiles it knows to be read: all, where it has no math."""
    math = [at for at, event in enumerate(events) if isinstance(event, Wgmma)]
    if not math:
        return events, k_tiles
    each = len(math) // k_tiles
    waits = [(at, event.keep) for at, event in enumerate(events) if isinstance(event, WgmmaWait)]
    until = next(at for at, _ in waits if at > math[each * begun])
    read = [sum(place < at for place in math) // each - keep for at, keep in waits if at < until]
    return [*events[:until], MbarrierWait(mbarrier=-1, ahead=0)], max(read, default=0)


def demand_no_wait_for_landing(report: Report) -> None:
    """A warp that starts copies waits for none of them before it starts its last one."""
    full = {event.mbarrier for mine in report.events for event in mine if isinstance(event, BulkCopy)}
    for mine in report.events:
        last = max((at for at, event in enumerate(mine) if isinstance(event, BulkCopy)), default=0)
        demand(
            not any(isinstance(event, MbarrierWait) and event.mbarrier in full for event in mine[:last]),
            "the numbers are right, but who starts the copies waits until one has landed before the next one starts.",
            "waits-for-landing",
        )


def fetched(report: Report, k_tiles: int, multiplied: int) -> int:
    """How many k-tiles the copy engine fetches if no more than so many are multiplied: the block is replayed, and its
    warps wait for ever before the next one."""
    copies = sum(isinstance(event, BulkCopy) for mine in report.events for event in mine)
    return flights([_held(mine, k_tiles, multiplied) for mine in report.events]) * k_tiles // copies


def _held(events: list[Event], k_tiles: int, multiplied: int) -> list[Event]:
    """The events of a warp up to its math of that k-tile, and there an mbarrier that does not exist."""
    math = [at for at, event in enumerate(events) if isinstance(event, Wgmma)]
    if not math:
        return events
    return [*events[: math[len(math) // k_tiles * multiplied]], MbarrierWait(mbarrier=-1, ahead=0)]


def _ring(answer: Any) -> None:
    """A ring that is right for other numbers of slots, for fewer k-tiles than slots, and for other blocks."""
    demand_kernel(answer)
    count = len(re.findall(r"\bSLOTS\s*=\s*3\b", answer.code))
    demand(count == 1, "leave `SLOTS = 3` in its line: the check puts other numbers there.")
    try:
        short = run(answer, (64, 256, 64), (1, 1, 1), 3, None)
    except CheckFailed:
        run(answer, (64, 256, 64), (1, 1, 7), 3, None)  # shows more of what is wrong, and is told first
        raise
    demand_none_behind_the_last(short, 1)
    report = run(answer, (64, 256, 64), (1, 1, 7), 3, None)
    run(answer, (64, 256, 64), (2, 2, 2), 3, None)
    source = re.sub(r"\bSLOTS\s*=\s*3\b", "SLOTS = 2", answer.code)
    two_slots = cupy_on_numpy.RawKernel(source, answer.name, options=answer.options)
    try:
        of_two = run(two_slots, (64, 256, 64), (1, 1, 4), 2, None)
    except CheckFailed as error:
        found = error.hazards[0].kind if error.hazards else "wrong numbers"
        cause = "stuck-with-two-slots" if found == "deadlock" else "fixed-slots"
        fail(f"right for three slots, and {found} for SLOTS = 2.", cause)
    demand_more_k_tiles(answer, (64, 256, 64), (1, 1), (1, 2, 7), 3, None)
    grids = untried_grids(Untried(answer), (64, 256), (2, 2))
    demand_more_tiles(answer, (64, 256, 64), ((grid, None) for grid in grids), 3)
    for each, k_tiles, slots in (report, 7, 3), (of_two, 4, 2):
        _demand_ring(each, k_tiles, slots)
        demand_no_wait_for_landing(each)
        _demand_freed_when_read(each, k_tiles, slots)


EXERCISES = {"07.3": _ring}
