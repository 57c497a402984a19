"""More exercises for lesson 08."""

from functools import partial
from typing import Any

import numpy as np

from cupy_or_sim.simulate import simulate
from ptxsim import Report
from ptxsim.gpus import H100, REGISTERS
from ptxsim.observe.events import BulkCopy, Event, Load, MbarrierWait, Store

from .bank_07 import demand_more_blocks, demand_more_right, demand_right
from .common import (
    demand,
    demand_all_landed,
    demand_also,
    demand_kernel,
    demand_no_hazard,
    fail,
    results_of,
    untried_grids,
    whole_number,
)
from .lesson_07_ring import demand_no_wait_for_landing, demand_shared_copies
from .replay import flights
from .untried import M, N, Untried

# --------------------------------------------------------------------------- 08.11: what fits


def _fits(tile_m: int, tile_n: int, kept: int, consumers: int, producer: int) -> tuple[int, int, int]:
    """Slots, bytes and registers, as the exercise counts them."""
    slot = (tile_m + tile_n) * 64 * 2 + 2 * 8
    slots, threads = (H100.shared_block - kept) // slot, 128 * (1 + consumers)
    granted = REGISTERS // threads // 8 * 8 * threads  # at the launch; setmaxnreg shares out no more
    return slots, slots * slot + kept, (granted - 128 * producer) // (128 * consumers) // 8 * 8


PLANS = (
    (128, 256, 0, 2, 40),
    (128, 256, 32_768, 2, 24),
    (128, 128, 0, 2, 56),
    (192, 256, 0, 3, 40),
    (192, 256, 0, 3, 32),
    (128, 256, 0, 2, 32),  # 65,536 would give a consumer 240, and the block has 64,512
    (128, 256, 35_840, 2, 40),  # four slots fit without their barriers
)


def _budget(answer: Any) -> None:
    """The most slots, their bytes, the registers of a consumer's thread."""
    for case, plan in zip(PLANS, results_of(answer, "budget", PLANS)):
        call = f"budget{case}"
        if not isinstance(plan, (tuple, list)) or len(plan) != 3:
            fail(f"{call} is {plan!r:.40}: not three numbers.", "no-three-numbers")
        names = (f"{name} of {call}" for name in ("the slots", "shared_mem", "the registers"))
        mine = [whole_number(value, name) for value, name in zip(plan, names)]
        slots, shared_mem, registers = _fits(*case)
        unbarred = shared_mem - 16 * slots
        demand(mine[0] >= slots, f"{call}: {mine[0]} slots; one more fits.", "too-few-slots")
        if mine[0] > slots:
            fail(f"{call}: {mine[0]} slots need more than {H100.shared_block:,} bytes.", "too-many-slots")
        if mine[1] == unbarred:
            fail(f"{call}: {mine[1]:,} bytes hold the slots and no barriers.", "no-barriers")
        if mine[1] != shared_mem:
            fail(f"{call}: {mine[1]:,} bytes of shared memory for {slots} slots.", "other-bytes")
        if mine[2] % 8 != 0:
            fail(f"{call}: {mine[2]} registers, which is no multiple of 8.", "no-multiple-of-8")
        granted = mine[2] * 128 * case[3] + 128 * case[4] <= REGISTERS
        if mine[2] > registers and granted:
            fail(f"{call}: {mine[2]} registers, more than the launch gave.", "more-than-given")
        if mine[2] > registers:
            fail(f"{call}: {mine[2]} registers, more than there are.", "too-many-registers")
        if mine[2] != registers:
            fail(f"{call}: {mine[2]} registers, and 8 more would fit.", "too-few-registers")


# --------------------------------------------------------------------------- 08.12: a tall tile


def _tall(answer: Any) -> None:
    """Right with tiles of 256 x 128."""
    demand_kernel(answer)
    for blocks_m, blocks_n, k_tiles in (1, 2, 2), (2, 1, 1):
        demand_right(answer, (256 * blocks_m, 128 * blocks_n, 64 * k_tiles), (blocks_m, blocks_n), 3)
    demand_more_right(answer, (256, 128), (1, 1), (2, 1), 3)
    demand_more_blocks(answer, (256, 128), untried_grids(Untried(answer), (256, 128), (2, 2)), 3)


# --------------------------------------------------------------------------- 08.13: A for both blocks


EVEN = 4
"""K-tiles of the launch whose bytes are counted."""


def _shared_a(answer: Any) -> None:
    """Right, and its copies go to both blocks of the cluster, from each a half."""
    demand_kernel(answer)
    demand_right(answer, (128, 512, 64), (2, 1), 2)
    demand_right(answer, (128, 512, 64 * 3), (2, 1), 2)
    report = demand_right(answer, (128, 512, 64 * EVEN), (2, 1), 2)  # blocks may take turns
    demand_more_right(answer, (128, 512), (2, 1), (EVEN, 3, 1), 2)
    apart = Untried(answer)
    pairs = ((1, right + right % 2) for right in apart.blocks({N: 1 / 256, "%ctaid.x": 1.0}, 2))
    rows = ((down, 2) for down in apart.blocks({M: 1 / 128, "%ctaid.y": 1.0}, 1))
    demand_more_blocks(answer, (128, 256), (*pairs, *rows), 2, x_along_n=True)
    demand_shared_copies(report, EVEN * (128 + 512) * 128, "A")


# --------------------------------------------------------------------------- 08.14: rows that lie apart

ROW, SLOTS = 512, 3
ROWS = 2
"""Of a kernel's parameters (x, out, rows, step)."""
WRITERS = 4
"""Warps that write."""


def _rows_apart(answer: Any) -> None:
    """Right for one block and for several, by the copy engine, which is as far ahead as the ring allows."""
    demand_kernel(answer)
    for rows, step, blocks in (9, 3, 1), (11, 2, 2), (1, 1, 1), (3, 1, 4):
        report = _turned(answer, rows, step, blocks)
        if blocks == 1:
            _demand_ahead(report, rows)
        if blocks == 1 and rows > WRITERS:
            _demand_all_write(report)
        _demand_its_share(report, rows, blocks)
    apart = Untried(answer)
    for rows in apart.k_tiles(1, (1, 3, 9, 11), ROWS):
        more = partial(_turned, answer, rows, 1, 1)
        demand_also(more, f"right with 11 rows, and not with {rows}", "many-rows")
    for blocks in apart.blocks({"%ctaid.x": 1.0}, 4):
        more = partial(_turned, answer, blocks, 1, blocks)
        demand_also(more, f"right with 4 blocks, and not with {blocks}", "many-blocks")


def _turned(kernel: Any, rows: int, step: int, blocks: int) -> Report:
    """The report of a launch that is right."""
    x = np.random.default_rng(0).integers(-99, 100, ((rows - 1) * step + 1, ROW)).astype(np.float32)
    out = np.full((rows, ROW), np.nan, np.float32)
    report = simulate(kernel, (blocks,), (160,), (x, out, np.int32(rows), np.int32(step)))
    stuck = next((hazard for hazard in report.hazards if hazard.kind == "deadlock"), None)
    copies = any(isinstance(event, BulkCopy) for mine in report.events for event in mine)
    if stuck and not copies:
        fail(f"deadlock at line {stuck.line}, and no copy has started.", "no-copy-starts")
    demand_no_hazard(report)
    demand(not np.isnan(out).all(), "no hazard, and nothing is stored to out.", "not-stored")
    wrong = np.flatnonzero((out != x[::step, ::-1]).any(1))
    if len(wrong):
        who = f"{blocks} block{'s' * (blocks > 1)}"
        fail(f"with {who}, row {wrong[0]} of out is wrong, and there is no hazard.", "wrong-numbers")
    demand_all_landed(report)
    return report


def _demand_its_share(report: Report, rows: int, blocks: int) -> None:
    """The first block brings its own rows, and none that is another block's."""
    copies = (event for mine in report.events for event in mine if isinstance(event, BulkCopy))
    brought, share = sum(event.bytes for event in copies) / (ROW * 4), -(-rows // blocks)
    of_blocks = f"of {rows} rows for {blocks} block{'s' * (blocks > 1)}"
    text = (
        f"the numbers are right, but {of_blocks} the first one brings {brought:g}, and its part is {share}."
    )
    demand(rows // blocks <= brought <= share, text, "another-block")


def _demand_ahead(report: Report, rows: int) -> None:
    """All comes by the copy engine, and is asked for as soon as there is room."""
    events = [event for mine in report.events for event in mine]
    copies = [event for event in events if isinstance(event, BulkCopy)]
    by_copies = sum(event.bytes for event in copies) >= rows * ROW * 4
    text = "the numbers are right, and threads load from x themselves."
    demand(by_copies and not any(isinstance(event, Load) for event in events), text, "not-by-copies")
    ahead = flights([_before_writing(mine) for mine in report.events]) * rows // len(copies)
    demand(
        ahead >= min(rows, SLOTS),
        f"the numbers are right, and as long as nobody has written a row, {ahead} of {rows} are asked for, where there "
        f"is room for {SLOTS}.",
        "not-ahead",
    )
    demand_no_wait_for_landing(report)


def _demand_all_write(report: Report) -> None:
    """Four warps share what is written about equally, and all threads of a warp write at a time."""
    stores = [[event.bytes for event in mine if isinstance(event, Store)] for mine in report.events]
    part = sum(map(sum, stores)) / WRITERS
    writers = sum(sum(mine) >= part / 2 for mine in stores if mine)
    demand(
        writers >= WRITERS,
        f"the numbers are right, but of the four warps that are there to write, {writers} write"
        f"{'s' * (writers == 1)} a fair part.",
        "not-all-write",
    )
    least = min(min(mine) for mine in stores if mine)
    text = (
        f"the numbers are right, but there is a store at which a warp writes {least:g} bytes: where all of its 32 "
        "threads write a float each it is 128."
    )
    demand(least >= 32 * 4, text, "not-all-write")


def _before_writing(events: list[Event]) -> list[Event]:
    """The events of a warp up to its first store, and there an mbarrier that does not exist."""
    stores = [at for at, event in enumerate(events) if isinstance(event, Store)]
    return [*events[: stores[0]], MbarrierWait(mbarrier=-1, ahead=0)] if stores else events


EXERCISES = {"08.11": _budget, "08.12": _tall, "08.13": _shared_a, "08.14": _rows_apart}
