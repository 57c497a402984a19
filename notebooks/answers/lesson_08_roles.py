"""The exercises of lesson 08 about blocks that stay, and about clusters."""

import re

from cupy_or_sim.simulate import compiled
from ptxsim import Report
from ptxsim.observe.events import BulkCopy, Event, MbarrierWait, Store

from .common import demand, demand_kernel, fail
from .lesson_07_ring import SLOT, demand_no_wait_for_landing, fetched, flights, run

TILES, K_TILES, SLOTS = 2, 3, 3
"""Of the block that stays, while its first store is held."""


def _before_its_store(events: list[Event]) -> list[Event]:
    """The events of a warp up to its first store, and there an mbarrier that does not exist."""
    first = next((at for at, event in enumerate(events) if isinstance(event, Store)), None)
    return events if first is None else [*events[:first], MbarrierWait(mbarrier=-1, ahead=0)]


def _ahead_of_the_store(report: Report) -> int:
    """How many k-tiles of the second tile are fetched while the first one's store has not begun."""
    copies = sum(isinstance(event, BulkCopy) for mine in report.events for event in mine)
    asked_for = flights([_before_its_store(mine) for mine in report.events])
    return asked_for * TILES * K_TILES // copies - K_TILES


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


def _stays(answer: object) -> None:
    """Several tiles by one block, of numbers of k-tiles that are no multiple of the slots; and copies run ahead."""
    demand_kernel(answer)
    count = len(re.findall(r"\bSLOTS\s*=\s*3\b", answer.code))
    demand(count == 1, "leave `SLOTS = 3` in its line.")
    tile = (64, 256, 64)
    report = run(answer, tile, (1, TILES, K_TILES), SLOTS, 1)
    demand_no_wait_for_landing(report)
    run(answer, tile, (2, 2, 4), SLOTS, 1)
    _demand_its_share(run(answer, tile, (3, 1, 1), SLOTS, 2), tiles=2)
    run(answer, tile, (1, 1, 7), SLOTS, 3)
    demand(
        fetched(report, TILES * K_TILES, K_TILES - 1) > K_TILES,
        "the product is right, but no copy of the next tile is asked for while the last k-tile of a tile is "
        "multiplied, although a slot is free.",
        "not-ahead",
    )
    ahead = _ahead_of_the_store(report)
    demand(
        ahead >= K_TILES,
        f"the product is right, but when a tile's store begins, {max(ahead, 0)} of the next tile's {K_TILES} k-tiles "
        "are asked for, and the ring has room for all of them.",
        "not-ahead",
    )


def _pair(answer: object) -> None:
    """A pair of blocks that makes several tiles, of a number of k-tiles that is no multiple of the slots."""
    demand_kernel(answer)
    run(answer, (128, 256, 64), (1, 2, 3), 2, 2)
    run(answer, (128, 256, 64), (1, 3, 1), 2, 2)
    if ".multicast::cluster" not in compiled(answer).ptx:
        fail("right, but each block loads all of B for itself alone.", "not-shared")


EXERCISES = {
    "08.1": (_stays, {
        "not-ahead": "the producer needs a free slot for each. Which slot does the consumer still hold when it stores, "
        "and does the producer wait for anything but its slot?",
        "waits-for-landing": "the producer needs an empty slot, and nothing else: who waits for `full`?",
        "another-block": "block b makes the tiles b, b + gridDim.x, b + 2 * gridDim.x, ...",
        "no-mbarrier|mbarrier-made-again": "the barriers were made, once for all tiles; leave these lines as they are. "
        "Their phases go on from tile to tile.",
        "wgmma-still-reads": "a slot is freed before `wgmma` has read it. Which `wgmma_wait` says that it has? Or does "
        "the consumer arrive twice for one k-tile?",
        "write-after-read": "a slot is filled while it is still read. Slot and turn go on from tile to tile: what "
        "numbers them?",
        "too-many-bytes": "a phase was told to expect far too many bytes: how many threads call `load`?",
        "too-many-arrivals": "somebody arrives again in a phase that has all its arrivals. Do slot and turn go on from "
        "tile to tile in both roles? How many threads arrive for a k-tile, and how many call `load`?",
        "stuck-in-first-phases": "in its first turn every slot is free, and the phase before the first has parity 1. "
        "Does the producer's wait let it pass there?",
        "barrier-divergence": "the two roles meet at no barrier of the whole block: `full` and `empty` are all that "
        "they share.",
        "deadlock": "a role waits for ever. Is every slot freed, that of the last k-tile of a tile "
        "too, and do both roles count their turns on from tile to tile?",
        "mbarrier|unwaited-copy": "phases go on from tile to tile: `count` numbers slots and turns, and both roles "
        "wait for what they must.",
        "uninitialised-read": "a slot is read that nobody has filled: do both roles name the same one?",
        "sums-not-set": "the sums begin with whatever is in their registers: the first k-tile of each tile must set "
        "them.",
        "unwaited-wgmma|missing-wgmma-fence": "the sums are read after `wgmma_wait<0>()`.",
        "block-conflict|write-after-write": "a tile is made twice: which ones belong to this block?",
        "out-of-bounds|misaligned": "where does tile `number` begin? Its row and its column are given above.",
        "wrong-numbers": "no hazard, and other numbers: does the block make all of its tiles, each from its own rows "
        "of A and B, and does the first k-tile of a tile start the sums?",
        "": "each role: a loop over tiles, one over k-tiles inside it, and `count` for slot and turn."}),
    "08.2": (_pair, {
        "not-shared": 
        "`load_rows_shared` was right, and no mistake: each block fetches half of B, for both.",
        "wgmma-still-reads": "a slot is freed before `wgmma` has read it: which line says that it has?",
        "write-after-read": 
        "each producer writes into the slots of both blocks: have the consumers of both read them?",
        "exited-block": 
        "who may still arrive at the barriers of a block, or copy into it, when its last thread leaves?",
        "deadlock": 
        "a role waits for ever. Is every slot freed, that of the last k-tile of a tile too? How many arrivals was "
        "`empty` made for, and how many come? And do both roles count their turns on from tile to tile?",
        "mbarrier|unwaited-copy|wrong-numbers": 
        "phases and slots go on from tile to tile. Does each role count them so, and do both wait for what they "
        "must?",
        "barrier-divergence": "all threads of both blocks must come to `cluster_sync`, or leave.",
        "": "compare the two roles line by line with those of `cluster`.",
    }),
}  # fmt: skip
