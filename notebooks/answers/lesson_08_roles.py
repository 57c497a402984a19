"""The exercises of lesson 08 about blocks that stay, and about clusters."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from course_lib.check.gemm import Gemm
from course_lib.check.mistakes import product
from course_lib.check.verdict import CheckFailed
from cupy_or_sim import cupy_on_numpy
from cupy_or_sim.launch import Launch
from ptxsim import Report
from ptxsim.observe.events import (
    BulkCopy,
    ClusterWait,
    Event,
    MbarrierArrive,
    MbarrierInit,
    MbarrierWait,
    Store,
)

from .common import demand, demand_kernel
from .lesson_07_ring import (
    MOST_STEPS,
    ROUND,
    SLOT,
    demand_all_slots,
    demand_more_k_tiles,
    demand_more_tiles,
    demand_no_wait_for_landing,
    demand_none_behind_the_last,
    demand_shared_copies,
    fetched,
    run,
)
from .replay import flights
from .untried import M, N, Untried

TILES, K_TILES, SLOTS = 2, 3, 3
"""Of the block that stays, while its first store is held."""
MANY_TILES = 4
"""The most tiles of a launch that each answer gets."""
EVEN = (2, 2, 2)
"""Tiles along M and N, and k-tiles, of another launch of it."""
MEETINGS = 2
"""Of a pair of blocks: when the barriers are made, and before one of them leaves."""
LONG = 13
"""K-tiles of the longest launch: a loop that ends after 8 or 12 is no loop over all of K."""
AS_IT_CAME = (
    r"mbarrier_arrive_at\(&s\.empty\[slot\], thread\);\s*wgmma_wait<0>\(\);",
    r"\(k_tile / SLOTS \+ 1\) % 2",
    r"store_sums\([^;]*;[\s}]*$",
)
"""The three mistakes of the pair of blocks: the slot freed too early, the producer's turn, nobody waits at the end."""


def _before_its_store(events: list[Event]) -> list[Event]:
    """The events of a warp up to its first store, and there an mbarrier that does not exist."""
    first = next((at for at, event in enumerate(events) if isinstance(event, Store)), None)
    return events if first is None else [*events[:first], MbarrierWait(mbarrier=-1, ahead=0)]


def _ahead_of_the_store(report: Report, tiles: int, k_tiles: int) -> int:
    """How many k-tiles of the second tile are fetched while the first one's store has not begun."""
    copies = sum(isinstance(event, BulkCopy) for mine in report.events for event in mine)
    asked_for = flights([_before_its_store(mine) for mine in report.events])
    return asked_for * tiles * k_tiles // copies - k_tiles


def _demand_its_share(report: Report, tiles: int) -> None:
    """The first block fetches at most so many tiles of one k-tile, and makes none that is another block's."""
    fetched_bytes = sum(
        event.bytes for mine in report.events for event in mine if isinstance(event, BulkCopy)
    )
    made = fetched_bytes / SLOT
    demand(
        made <= tiles,
        f"the product is right, but of three tiles the first of two blocks makes {made:g}, and its part is at most "
        f"{tiles}.",
        "another-block",
    )


def _stays(answer: Any) -> None:
    """Several tiles by one block, of numbers of k-tiles that are no multiple of the slots; and copies run ahead."""
    demand_kernel(answer)
    count = len(re.findall(r"\bSLOTS\s*=\s*3\b", answer.code))
    demand(count == 1, "leave `SLOTS = 3` in its line.")
    tile = (64, 256, 64)
    try:
        report = run(answer, tile, (1, TILES, K_TILES), SLOTS, 1)
    except CheckFailed as error:
        if not error.hazards and _sums_go_on(answer):
            raise CheckFailed(
                f"{error}\nThe second tile has the first one's sums in it.", causes=("sums-go-on",)
            ) from None
        raise
    demand_none_behind_the_last(report, TILES * K_TILES)
    demand_all_slots(report, SLOTS)
    demand_no_wait_for_landing(report)
    even = run(answer, tile, EVEN, SLOTS, 1)
    _demand_its_share(run(answer, tile, (3, 1, 1), SLOTS, 2), tiles=2)
    run(answer, tile, (1, 1, LONG), SLOTS, 3)
    demand_more_k_tiles(answer, tile, (1, 1), (1, 2, K_TILES, LONG), SLOTS, 3)
    demand_more_tiles(answer, tile, _more_tiles(answer, tile), SLOTS)
    _demand_next_tile_ahead(report, TILES, K_TILES)
    _demand_next_tile_ahead(even, 4, EVEN[2])


def _sums_go_on(kernel: Any) -> bool:
    """Whether a block's second tile is the sum of its first one and itself."""
    gemm = Gemm(64, 512, 64, "float16")
    args, _ = gemm.simulated(
        kernel, gemm.integers(seed=0), Launch((64, 256, 64), 256, SLOTS * SLOT + ROUND, 1), MOST_STEPS
    )
    first, second = np.hsplit(product(*args[:2]), 2)
    return np.array_equal(args[2], np.hstack([first, first + second]).astype(gemm.dtype))


def _more_tiles(kernel: Any, tile: tuple[int, int, int]) -> Iterator[tuple[tuple[int, int], int]]:
    """Tiles along M and N, and blocks, for a kernel that treats some number of tiles, or a block, apart."""
    apart, (of_m, of_n) = Untried(kernel), (1 / tile[0], 1 / tile[1])
    yield from (((tiles, 1), 1) for tiles in apart.blocks({M: of_m}, MANY_TILES))
    yield from (((1, tiles), 1) for tiles in apart.blocks({M: of_m, N: of_n, "%ctaid.x": 1.0}, MANY_TILES))
    yield from (((1, blocks), blocks) for blocks in apart.blocks({"%ctaid.x": 1.0}, MANY_TILES))


def _demand_next_tile_ahead(report: Report, tiles: int, k_tiles: int) -> None:
    """The next tile's copies are asked for as soon as the ring has room."""
    demand(
        fetched(report, tiles * k_tiles, k_tiles - 1) > k_tiles,
        f"the product is right, but with {k_tiles} k-tiles a tile no copy of the next tile is asked for while the last "
        "one is multiplied, although a slot is free.",
        "not-ahead",
    )
    ahead = _ahead_of_the_store(report, tiles, k_tiles)
    demand(
        ahead >= k_tiles,
        f"the product is right, but when a tile's store begins, {max(ahead, 0)} of the next tile's {k_tiles} k-tiles "
        "are asked for, and the ring has room for all of them.",
        "not-ahead",
    )


def _pair(answer: Any) -> str | None:
    """A pair of blocks that makes several tiles, of a number of k-tiles that is no multiple of the slots. A remark
    where the blocks meet more often than they must."""
    demand_kernel(answer)
    count = len(re.findall(r"\bSLOTS\s*=\s*2\b", answer.code))
    demand(count == 1, "leave `SLOTS = 2` in its line.")
    text = "all three mistakes are still there. Read first; then mend one, and run."
    demand(not all(re.search(mistake, answer.code) for mistake in AS_IT_CAME), text, "as-it-came")
    try:
        report = run(answer, (128, 256, 64), (1, 2, 3), 2, 2)
    except CheckFailed as error:
        if error.hazards and error.hazards[0].kind == "write-after-read" and _still_overwritten(answer):
            text = "And with a wait right behind each `start_k_tile` it is so, too."
            raise CheckFailed(f"{error}\n{text}", causes=("other-arrivals",)) from None
        if any(hazard.kind == "deadlock" for hazard in error.hazards) and (few := _few_arrivals(answer)):
            text = f"Of {few[1]} arrivals that a phase of `empty` needs, {few[0]} came."
            raise CheckFailed(f"{error}\n{text}", causes=("few-arrivals",)) from None
        raise
    run(answer, (128, 256, 64), (1, 3, 1), 2, 2)
    demand_more_k_tiles(answer, (128, 256, 64), (1, 2), (1, 3), 2, 2)
    apart = Untried(answer)
    along_n = (((1, tiles), 2) for tiles in apart.blocks({N: 1 / 256}, 3))
    pairs = (((pairs, 1), 2 * pairs) for pairs in apart.blocks({M: 1 / 128, "%ctaid.x": 1 / 2}, 1))
    demand_more_tiles(answer, (128, 256, 64), (*along_n, *pairs), 2)
    demand_shared_copies(report, 2 * 3 * (128 + 256) * 128, "B")
    meetings = max(sum(isinstance(event, ClusterWait) for event in mine) for mine in report.events)
    if meetings <= MEETINGS:
        return None
    return (
        f"But the two blocks meet {meetings} times for {2 * 3} k-tiles, and each time all wait for the slowest warp of "
        "both. At the beginning and at the end is enough: in between `full` and `empty` say all."
    )


def _still_overwritten(kernel: Any) -> bool:
    """Whether slots are overwritten too early, too, where no wgmma is at work when a consumer arrives."""
    source = re.sub(r"(\bstart_k_tile\s*\([^;]*\);)", r"{ \1 wgmma_wait<0>(); }", kernel.code)
    waits = cupy_on_numpy.RawKernel(source, kernel.name, options=kernel.options)
    try:
        run(waits, (128, 256, 64), (1, 2, 3), 2, 2)
    except CheckFailed as error:
        return any(hazard.kind == "write-after-read" for hazard in error.hazards)
    return False


def _few_arrivals(kernel: Any) -> tuple[int, int] | None:
    """Of a pair that waits for ever: how many arrivals came to a barrier for which no copy counts, and how many its
    phase needs; None where all phases that began are complete."""
    gemm = Gemm(128, 256 * TILES, 64 * K_TILES, "float16")
    launch = Launch((128, 256, 64), 256, 2 * SLOT + ROUND, 2)
    _, report = gemm.simulated(kernel, gemm.integers(seed=0), launch, MOST_STEPS)
    events = [event for mine in report.events for event in mine]
    full = {event.mbarrier for event in events if isinstance(event, BulkCopy)}
    needed = {event.mbarrier: event.arrivals for event in events if isinstance(event, MbarrierInit)}
    came: Counter[int] = Counter()
    for event in events:
        if isinstance(event, MbarrierArrive) and event.mbarrier not in full:
            came[event.mbarrier] += event.arrivals
    unfinished = ((count % needed[at], needed[at]) for at, count in came.items() if at in needed)
    return next((each for each in unfinished if each[0]), None)


EXERCISES = {"08.1": _stays, "08.2": _pair}
