"""More exercises for lesson 07."""

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from course_lib.check.gemm import Gemm
from cupy_or_sim.simulate import simulate
from ptxsim import Report
from ptxsim.observe.events import BulkStore, Store

from .common import (
    demand,
    demand_also,
    demand_kernel,
    demand_no_hazard,
    fail,
    results_of,
    untried_grids,
    whole_number,
)
from .lesson_07_ring import demand_no_wait_for_landing, demand_none_behind_the_last
from .untried import Untried, untried

MOST_STEPS = 500_000
SLOT = (128 + 256) * 64 * 2
"""Bytes of a slot: a k-tile of A and of B, of 64 halves a row."""
TILE_K = 64
BARRIERS = 64
"""Bytes behind the slots, for at most eight barriers."""


def _launched(
    kernel, shape: tuple[int, int, int], grid: tuple[int, int], slots: int, most_steps: int = MOST_STEPS
) -> tuple[np.ndarray, Report]:
    """Which elements of C are wrong, and the report of this launch of 384 threads."""
    gemm, random = Gemm(*shape, "float16"), np.random.default_rng(0)
    A, B = (random.integers(-4, 5, (size, gemm.K)).astype(np.float16) for size in (gemm.M, gemm.N))
    args = gemm.arguments(A, B)
    report = simulate(kernel, grid, (384,), gemm.passed(kernel, args), slots * SLOT + BARRIERS, most_steps)
    return args[2] != (A.astype("f4") @ B.astype("f4").T).astype(np.float16), report


def demand_right(
    kernel, shape: tuple[int, int, int], grid: tuple[int, int], slots: int, most_steps: int = MOST_STEPS
) -> Report:
    """No hazard, and the exact product: the report."""
    wrong, report = _launched(kernel, shape, grid, slots, most_steps)
    demand_no_hazard(report)
    stored = any(isinstance(event, Store | BulkStore) for mine in report.events for event in mine)
    demand(
        stored or not wrong.all(),
        f"no hazard, and nothing is stored to C, M={shape[0]}, N={shape[1]}, K={shape[2]}.",
        "not-stored",
    )
    rows, columns = (np.flatnonzero(wrong.any(axis=axis)) for axis in (1, 0))
    if wrong.any():
        place = f"rows {rows[0]} to {rows[-1]}, columns {columns[0]} to {columns[-1]}"
        fail(
            f"no hazard, but the product is wrong in {place}, M={shape[0]}, N={shape[1]}, K={shape[2]}.",
            *(("wrong-from-row-64",) if rows[0] == 64 else ()),
            *(("wrong-from-column-64",) if columns[0] == 64 else ()),
            "wrong-numbers",
        )
    return report


def demand_more_right(
    kernel, shape: tuple[int, int], grid: tuple[int, int], tried: tuple[int, ...], slots: int
) -> None:
    """The same with numbers of k-tiles that it treats apart from those that were tried."""
    for k_tiles in untried(kernel, TILE_K, tried):
        steps = MOST_STEPS * (1 + k_tiles // max(tried))
        longer = partial(demand_right, kernel, (*shape, TILE_K * k_tiles), grid, slots, steps)
        demand_also(longer, f"right with {max(tried)} k-tiles, and not with {k_tiles}", "many-k-tiles")


def demand_more_blocks(
    kernel, tile: tuple[int, int], grids: Iterable[tuple[int, int]], slots: int, x_along_n: bool = False
) -> None:
    """The same with so many blocks along M and N. `x_along_n`: these are its blockIdx.y and blockIdx.x."""
    for down, right in grids:
        shape, steps = (tile[0] * down, tile[1] * right, TILE_K), MOST_STEPS * down * right
        grid = (right, down) if x_along_n else (down, right)
        more = partial(demand_right, kernel, shape, grid, slots, steps)
        demand_also(more, f"right with few blocks, and not with {down} x {right} of them", "many-blocks")


# --------------------------------------------------------------------------- 07.11: phases of a ring

SLOTS, K_TILES = 3, 8
FORM = "(kernel, my_bytes, my_arrivals, my_full, my_empty)"


def _parities(values: Any, name: str) -> list[int]:
    """Of each k-tile, as a list or as a text of digits."""
    fits = isinstance(values, (list, tuple, str, np.ndarray)) and len(values) == K_TILES
    digits = (
        [str(int(value) if isinstance(value, bool | np.bool_) else value) for value in values] if fits else []
    )
    text = f"{name} is a list of eight parities, 0 or 1 for each k-tile, and not {values!r:.60}."
    demand(fits and set(digits) <= {"0", "1"}, text, "no-parities")
    return [int(digit) for digit in digits]


def _phases(answer: Any) -> None:
    """Bytes, arrivals and parities with which the kernel is right; the simulator says what others do to it."""
    if not isinstance(answer, tuple) or len(answer) != 5:
        fail(f"the answer is {FORM}, and not {answer!r:.60}.", "wrong-form")
    kernel, *given = answer
    demand_kernel(kernel)
    mine = [whole_number(value, name) for value, name in zip(given, ("my_bytes", "my_arrivals"))]
    lists = [_parities(value, name) for value, name in zip(given[2:], ("my_full", "my_empty"))]
    masks = [sum(parity << k_tile for k_tile, parity in enumerate(parities)) for parities in lists]
    names = "BYTES", "ARRIVALS", "FULL_PARITIES", "EMPTY_PARITIES"
    options = [f"-D{name}={value}" for name, value in zip(names, [*mine, *masks])]
    filled = type(kernel)(kernel.code, kernel.name, options=(*kernel.options, *options))
    wrong, report = _launched(filled, (128, 256, 64 * K_TILES), (1, 1), SLOTS)
    found = f"the simulator finds {report.brief()}." if not report.ok else "the product is wrong."
    for name, number, right in zip(("my_bytes", "my_arrivals"), mine, (SLOT, 2)):
        side = "few" if number < right else "many"
        demand(number == right, f"{name} = {number} is too {side}: {found}", f"{name}-too-{side}")
    turns = [k_tile // SLOTS for k_tile in range(K_TILES)]
    for name, parities, first in (("my_full", lists[0], 0), ("my_empty", lists[1], 1)):
        off = next((k for k, turn in enumerate(turns) if parities[k] != (turn + first) % 2), None)
        demand(off is None, f"{name} is wrong, for the first time at k-tile {off}: {found}", name)
    demand(report.ok and not wrong.any(), f"{found[:-1]}: take the kernel of the exercise as it is.")


# --------------------------------------------------------------------------- 07.12: a descriptor

FIELDS = (("the-address", 0, 14), ("the-distance-of-eight-rows", 32, 14), ("the-swizzle", 62, 2))
"""(name, first bit, bits) of what the check looks at."""
DESCRIBED = (
    (1024, 128, 0),
    (51_200, 128, 3),
    (2048, 64, 0),
    (10_240, 64, 1),
    (512, 32, 0),
    (262_144 - 1024, 128, 2),
)
"""(address, bytes of a row, k-step)"""


def _right_fields(address: int, width: int, k_step: int) -> tuple[int, int, int]:
    return (address + 32 * k_step) // 16, 8 * width // 16, {128: 1, 64: 2, 32: 3}[width]


def _descriptor(answer: Any) -> None:
    """The fields of descriptors for tiles of three widths, at several k-steps."""
    for case, given in zip(DESCRIBED, results_of(answer, "descriptor_of", DESCRIBED)):
        call = f"descriptor_of{case}"
        if isinstance(given, float):
            fail(f"{call} is {given}, with a point: / and not //.", "no-whole-number")
        mine = whole_number(given, call)
        demand(0 <= mine < 1 << 64, f"{call} is {mine}: no number of 64 bits.", "no-64-bits")
        for (name, first, bits), right in zip(FIELDS, _right_fields(*case), strict=True):
            found = mine >> first & (1 << bits) - 1
            what = name.replace("-", " ")
            demand(found == right, f"{call}: {what} is {found} and must be another number.", name)


# --------------------------------------------------------------------------- 07.13: two mistakes


def _ring(answer: Any) -> None:
    """A right ring: for more k-tiles than two turns of it, and for one; and several copies are on their way."""
    demand_kernel(answer)
    for k_tiles in 10, 1:
        report = demand_right(answer, (128, 256, 64 * k_tiles), (1, 1), 4)
        demand_none_behind_the_last(report, k_tiles, SLOT)
        demand_no_wait_for_landing(report)
    demand_right(answer, (256, 512, 128), (2, 2), 4)
    demand_more_right(answer, (128, 256), (1, 1), (10, 2, 1), 4)
    demand_more_blocks(answer, (128, 256), untried_grids(Untried(answer), (128, 256), (2, 2)), 4)


EXERCISES = {"07.11": _phases, "07.12": _descriptor, "07.13": _ring}
