"""The exercises of the bank for lesson 03."""

import re
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from course_lib.check.gemm import Gemm
from course_lib.check.verdict import CheckFailed
from course_lib.lessons.sources import kernel_source
from cupy_or_sim import device
from cupy_or_sim.launch import Launch
from cupy_or_sim.simulate import clean_side_by_side, compiled, simulate
from ptxsim import Report
from ptxsim.observe.events import Copy, Event, Load, Work
from ptxsim.races.hazards import Hazard

from .common import (
    Warps,
    checked_gemm,
    demand,
    demand_kernel,
    demand_no_hazard,
    demand_whole_sectors,
    fail,
    for_each_count,
    k_tiles_on_their_way,
    kernel_and_numbers,
    untried_grids,
)
from .lesson_03 import demand_overlap, math_without_a_copy
from .loads import touched_before_math
from .needless import needless_barrier
from .untried import Untried

NOTEBOOK = "exercises/03_double_buffer"
SMALL = Launch((32, 32, 8), 64)
K_TILES = 8
ONE_BLOCK = (32, 32, 8 * K_TILES)
MANY = 17
LONG = (32, 32, 8 * MANY)
ONE_K_TILE = (64, 32, 8)
FEW = ONE_K_TILE, (32, 96, 16)
MOST_STEPS = 20_000
"""Of a launch here, which takes less than 5,000."""


def _launch(shape: tuple[int, int, int], *more: Any) -> tuple[tuple, tuple]:
    """Grid and arguments of a small product; `more` follow K."""
    gemm = Gemm(*shape)
    return gemm.grid(SMALL), (*gemm.arguments(*gemm.integers(seed=0)), *more)


def _product(kernel: Any, shape: tuple[int, int, int], *more: Any) -> tuple[Report, bool]:
    """The report on a small product, and whether C is right."""
    grid, args = _launch(shape, *more)
    report = simulate(kernel, grid, (64,), args, max_steps=MOST_STEPS * (1 + shape[2] // LONG[2]))
    return report, _is_right(args)


def _is_right(args: tuple) -> bool:
    return np.array_equal(args[2], args[0] @ args[1].T)


def _demand_ahead(kernel: Any, few: Sequence[tuple[int, int, int]] = FEW) -> Warps:
    """What the warps do with MANY k-tiles in a kernel that is right for them and for these few, and has a copy on its
    way during the math."""
    demand_kernel(kernel)
    # By itself: blocks that go on while others have ended take twice the time.
    if (many := _events_if_right(kernel, [LONG])) and (two := _events_if_right(kernel, few[::-1])):
        apart = Untried(kernel)
        for k_tiles in apart.k_tiles(8, (1, 2, MANY)):
            _right_product(kernel, (32, 32, 8 * k_tiles))
        if untried_grids(apart, SMALL.tile, (1, 1)):
            checked_gemm(kernel, SMALL)
    else:
        *_, two, many = (_right_product(kernel, shape).events for shape in (ONE_BLOCK, *few, LONG))
    for_each_count({MANY: many, 2: two}, partial(demand_overlap, launch=SMALL, part=0.5))
    return many


def _right_product(kernel: Any, shape: tuple[int, int, int]) -> Report:
    """The report on a small product, if it is right and without a hazard."""
    report, right = _product(kernel, shape)
    demand_no_hazard(report)
    if not right:
        checked_gemm(kernel, SMALL)  # its words say how it is wrong
        text = f"C is wrong with {shape[2] // 8} k-tile{'s' * (shape != ONE_K_TILE)}."
        fail(text, *["many-k-tiles"] * (shape[2] > LONG[2]))
    return report


def _events_if_right(kernel: Any, shapes: Sequence[tuple[int, int, int]]) -> list[list[Event]] | None:
    """What the warps of the first one's first block do, if all of these products are right and without a hazard."""
    launches = [_launch(shape) for shape in shapes]
    events = clean_side_by_side(kernel, launches, (64,), max_steps=MOST_STEPS * len(shapes))
    return events if all(_is_right(args) for _, args in launches) else None


def _four_orders(answer: Any) -> None:
    kernel, *said = kernel_and_numbers(answer, *(f"the number of k-tiles in order {name}" for name in "abcd"))
    for name, mine in zip("abcd", said):
        report, _ = _product(kernel, ONE_BLOCK, np.int8(ord(name)))
        demand_no_hazard(report)
        counted = k_tiles_on_their_way(report, K_TILES)
        demand(
            mine == counted,
            f"in order {name} {mine} is not how many k-tiles are on their way.",
            f"order-{name}",
        )


def _wide_fragments(kernel: Any) -> None:
    _demand_ahead(kernel, FEW[1:])
    report = _right_product(kernel, ONE_K_TILE)
    loads, enough = report.counters.total.shared_loads, 2 * 2 * 8 * 2  # of two warps, and two blocks
    text = f"the product is right, but {loads} loads from shared memory; {enough} do the same."
    demand(loads <= enough, text, "many-loads")
    shuffles = sum(each.opcode.root == "shfl" for each in compiled(kernel).code.program.instructions)
    text = f"the product is right, but {shuffles} shuffles hand floats from lane to lane."
    demand(not shuffles, text, "shuffles")
    demand_whole_sectors(report)


@cache
def _reported() -> tuple[int, int]:
    """The lines that call the writer and the reader, as the report on the kernel as given says."""
    given = device.cp.RawKernel(kernel_source(NOTEBOOK, "early"), "early", options=device.OPTIONS)
    first = _product(given, ONE_BLOCK)[0].hazards[0]
    read = re.findall(r"reads at line \d+, called from line (\d+)", str(first))[0]
    return first.call_line or 0, int(read)


def _early(answer: Any) -> str | None:
    kernel, writer, reader = kernel_and_numbers(answer, "the line of the writer", "the line of the reader")
    writes, reads = _reported()
    demand(writer == writes, f"the thread that writes does not come from line {writer}.", "other-writer")
    demand(reader == reads, f"the thread that reads does not come from line {reader}.", "other-reader")
    return needless_barrier(kernel, _demand_ahead(kernel), MANY, _demand_ahead)


# A thread leaves a mark whenever it calls `load`: a read of global memory by k + 1 lanes.
LOAD = "auto load = [&](int k, int buffer, int set) {"
LOAD_MARK = " if (threadIdx.x % 32 <= k) *(const volatile float*)A;"
K_BLOCKS, FMAS = 8, 16
"""Of a k-tile; of a k-block, in each thread."""


def _in_time(kernel: Any) -> str | None:
    return needless_barrier(kernel, _loaded_ahead(kernel), MANY + 1, _loaded_ahead)


def _loaded_ahead(kernel: Any) -> Warps:
    """What the warps do with MANY k-tiles, if the kernel is right and loads the fragments of each k-block before the
    math of the one before it."""
    warps = _demand_ahead(kernel)
    if late := _late_fragments(kernel):
        text = f"the product is right, but the fragments of {len(late)} of {K_BLOCKS * K_TILES - 1} k-blocks are loaded"
        fail(f"{text} only after the math of the k-block before.", "no-fragments-ahead")
    return warps


def _late_fragments(kernel: Any) -> list[int]:
    """k-blocks, counted through all k-tiles, whose last load stands behind the math of the k-block before, or behind
    three quarters of it. Of a kernel that loads in another way nothing is known."""
    marked = type(kernel)(kernel.code.replace(LOAD, LOAD + LOAD_MARK), kernel.name, options=kernel.options)
    done, last = 0.0, dict[int, int]()
    for event in _product(marked, ONE_BLOCK)[0].events[0]:
        if isinstance(event, Work):
            done += event.fma / FMAS
        elif isinstance(event, Load):
            multiplied, k = int(done + 0.25), round(event.bytes / 4) - 1
            last[multiplied + (k - multiplied) % K_BLOCKS] = multiplied
    return [k_block for k_block, multiplied in last.items() if 0 < k_block <= multiplied]


# --------------------------------------------------------------------------- 03.15: sums of rows

COLUMNS = 2
"""Of its parameters (x, sums, columns)."""
PIECES, ROWS = (8, 1, 2, 3, MANY), 3
"""Of a row, and blocks, in the launches that are tried."""
LONGEST = 4096
"""Floats of a piece: of longer ones two buffers have no room."""
FURTHEST = 260
"""Pieces of a row that are tried at a constant."""


def _row_sums(answer: Any) -> str | None:
    """Sums of squares whose next piece is on its way while one is added, whatever the sizes. A needless barrier is
    told."""
    kernel, threads, piece = kernel_and_numbers(answer, "the threads of a block", "the floats of a piece")
    whole = threads % 32 == 0 and 64 <= threads <= 1024
    demand(whole, f"a block of {threads} threads: take whole warps, from 2 to 32 of them.", "other-threads")
    some = threads <= piece <= LONGEST
    text = f"a piece of {piece} floats: take {threads} to {LONGEST:,}, one for each thread and more."
    demand(some, text, "other-piece")
    for name, said in ("THREADS", threads), ("PIECE", piece):
        written = re.search(rf"\b{name} = (\d+)[,;]", kernel.code)
        text = f"my_answer says {said}, and in the kernel {name} is {written[1] if written else said}."
        demand(not written or int(written[1]) == said, text, "other-in-my-answer")
    events = _row_sums_right(kernel, threads, piece)
    check = partial(_row_sums_right, threads=threads, piece=piece)
    return needless_barrier(kernel, events, MANY + 1, check)


def _row_sums_right(kernel: Any, threads: int, piece: int) -> Warps:
    """What the warps of the first block do with MANY pieces, if the kernel is right."""
    reports = [_sums(kernel, ROWS, threads, pieces * piece, piece) for pieces in PIECES]
    for pieces, report in zip(PIECES, reports):
        _demand_next_piece(report.events, pieces, piece)
    apart = Untried(kernel, threads)
    for pieces in apart.k_tiles(piece, PIECES, COLUMNS, most=FURTHEST):
        _sums_beyond(kernel, 1, threads, pieces * piece)
    for rows in apart.blocks({"%ctaid.x": 1.0}, ROWS):
        _sums_beyond(kernel, rows, threads, piece)
    waited = touched_before_math(kernel, on_every_way=True)
    demand(
        not waited, "the sums are right, but what a plain load brings is used before any math.", "plain-load"
    )
    return reports[-1].events


def _sums_beyond(kernel: Any, rows: int, threads: int, columns: int) -> None:
    """As `_sums`, of a size that the kernel treats apart."""
    try:
        _sums(kernel, rows, threads, columns)
    except CheckFailed as error:
        raise CheckFailed(str(error), causes=("beyond-a-number",)) from None


def _sums(kernel: Any, rows: int, threads: int, columns: int, piece: int = 0) -> Report:
    """The report on a launch whose sums are right. `piece`: its floats; 0: a row is one."""
    x = np.random.default_rng(3).integers(-9, 10, (rows, columns)).astype(np.float32)
    sums, expected = np.full(rows, np.nan, np.float32), (x * x).sum(1)
    steps = MOST_STEPS * (1 + x.size // (32 * threads))
    report = simulate(kernel, (rows,), (threads,), (x, sums, np.int32(columns)), max_steps=steps)
    if report.hazards and _threads_meet_in_sums(report.hazards[0]):
        raise CheckFailed(str(report), causes=("many-store",))  # no kind: it would point to the buffers
    demand_no_hazard(report)
    wrong = np.flatnonzero(sums != expected)
    if len(wrong):
        right = f"is {expected[wrong[0]]:.0f}, and not {sums[wrong[0]]:.0f}"
        text = f"with {rows} x {columns} numbers the sum of row {wrong[0]} {right}."
        fail(text, *_why_wrong(sums, x, threads, piece or columns), "wrong-sums")
    return report


def _threads_meet_in_sums(hazard: Hazard) -> bool:
    """Whether it is a race of two threads of a block, in `sums` and not in a buffer."""
    memory = hazard.meeting.memory if hazard.meeting else ""
    return hazard.kind != "block-conflict" and memory.startswith("element") and " of sums" in memory


def _why_wrong(sums: np.ndarray, x: np.ndarray, threads: int, piece: int) -> list[str]:
    """What was added in place of a row, in words that the hints know."""
    squares = (x * x).reshape(len(x), -1, piece)
    one_thread = squares[:, :, ::threads], squares[:, :, : piece // threads]
    others = (
        ("no-squares", [x.sum(1)]),
        ("only-one-thread", [part.sum((1, 2)) for part in one_thread]),
        ("only-the-last-piece", [squares[:, -1].sum(1)]),
        ("nothing-stored", [np.full(len(x), np.nan)]),
    )
    return [word for word, some in others if any(np.array_equal(sums, one, equal_nan=True) for one in some)]


def _demand_next_piece(all_events: list[list[Event]], pieces: int, piece: int) -> None:
    """Each piece comes once, by all warps, and all add; while one is added, but for the last, the next one comes."""
    came = [sum(event.bytes for event in mine if isinstance(event, Copy | Load)) for mine in all_events]
    text = f"the sums are right, but {sum(came) / (4 * piece):.3g} pieces come where a row has {pieces}."
    demand(sum(came) == 4 * piece * pieces, text, "comes-again")
    math = [sum(event.fma for event in mine if isinstance(event, Work)) for mine in all_events]
    demand(sum(math), "the sums are right, but there is no FMA: write `sum += v * v`, in float.", "no-math")
    for does, parts in ("brings", came), ("adds", math):
        least = min(range(len(parts)), key=parts.__getitem__)
        text = f"the sums are right, but warp {least} {does} {parts[least] / sum(parts):.0%} of a row."
        demand(parts[least] * len(parts) >= 0.5 * sum(parts), text, f"other-share-{does}")
    for mine, row, fmas in zip(all_events, came, math):
        without = math_without_a_copy(mine, pieces, fmas / pieces, row / pieces)[:-1]
        bare = sum(part >= 0.5 * fmas / pieces for part in without)
        some = f"in {bare} of {pieces - 1} turns " * (bare < pieces - 1)
        text = f"the sums are right, but {some}nothing is on its way during half of the adds or more."
        demand(not bare, text, "not-every-turn" if some else "nothing-on-its-way")


EXERCISES = {
    "03.11": _four_orders,
    "03.12": _wide_fragments,
    "03.13": _in_time,
    "03.14": _early,
    "03.15": _row_sums,
}
