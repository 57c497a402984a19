"""The exercises of the bank for lesson 03."""

import re
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from course_lib.check.gemm import Gemm
from course_lib.lessons.sources import kernel_source
from cupy_or_sim import device
from cupy_or_sim.launch import Launch
from cupy_or_sim.simulate import clean_side_by_side, simulate
from ptxsim import Report
from ptxsim.observe.events import Event

from .common import (
    checked_gemm,
    demand,
    demand_kernel,
    demand_no_hazard,
    demand_whole_sectors,
    fail,
    for_each_count,
    k_tiles_on_their_way,
    kernel_and_numbers,
)
from .lesson_03 import demand_overlap
from .untried import untried

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


def _demand_ahead(kernel: Any, few: Sequence[tuple[int, int, int]] = FEW) -> None:
    """A kernel that is right for many k-tiles and for these few, and has a copy on its way during the math."""
    demand_kernel(kernel)
    # By itself: blocks that go on while others have ended take twice the time.
    if (many := _events_if_right(kernel, [LONG])) and (two := _events_if_right(kernel, few[::-1])):
        for k_tiles in untried(kernel, 8, (1, 2, MANY)):
            _right_product(kernel, (32, 32, 8 * k_tiles))
    else:
        *_, two, many = (_right_product(kernel, shape).events for shape in (ONE_BLOCK, *few, LONG))
    for_each_count({MANY: many, 2: two}, partial(demand_overlap, launch=SMALL, part=0.5))


def _right_product(kernel: Any, shape: tuple[int, int, int]) -> Report:
    """The report on a small product, if it is right and without a hazard."""
    report, right = _product(kernel, shape)
    demand_no_hazard(report)
    if not right:
        checked_gemm(kernel, SMALL)  # its words say how it is wrong
        fail(f"C is wrong with {shape[2] // 8} k-tile{'s' * (shape != ONE_K_TILE)}.")
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
        demand(mine == counted, f"order {name} has not {mine} k-tiles on their way.", f"order-{name}")


def _wide_fragments(kernel: Any) -> None:
    _demand_ahead(kernel, FEW[1:])
    report = _right_product(kernel, ONE_K_TILE)
    loads, enough = report.counters.total.shared_loads, 2 * 2 * 8 * 2  # of two warps, and two blocks
    text = f"the product is right, but {loads} loads from shared memory; {enough} do the same."
    demand(loads <= enough, text, "many-loads")
    demand_whole_sectors(report)


@cache
def _reported() -> tuple[int, int]:
    """The lines that call the writer and the reader, as the report on the kernel as given says."""
    given = device.cp.RawKernel(kernel_source(NOTEBOOK, "early"), "early", options=device.OPTIONS)
    first = _product(given, ONE_BLOCK)[0].hazards[0]
    read = re.findall(r"reads at line \d+, called from line (\d+)", str(first))[0]
    return first.call_line or 0, int(read)


def _early(answer: Any) -> None:
    kernel, writer, reader = kernel_and_numbers(answer, "the line of the writer", "the line of the reader")
    writes, reads = _reported()
    demand(writer == writes, f"the thread that writes does not come from line {writer}.", "other-writer")
    demand(reader == reads, f"the thread that reads does not come from line {reader}.", "other-reader")
    _demand_ahead(kernel)


EXERCISES = {
    "03.11": _four_orders,
    "03.12": _wide_fragments,
    "03.13": _demand_ahead,
    "03.14": _early,
}
