"""The exercise of lesson 06 about the tail: a scheduler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from .common import demand, results_of

SHAPES = [
    (3, 2, 2),
    (20, 3, 16),
    (4, 5, 16),
    (5, 4, 2),
    (1, 7, 4),
    (9, 1, 4),
    (32, 2, 16),
    (6, 6, 1),
    (7, 3, 3),
]
"""(down, across, group); the first one stands in the exercise."""


def _tile(number: int, down: int, across: int, group: int) -> tuple[int, int]:
    first = number // (group * across) * group
    rows, inside = min(group, down - first), number % (group * across)
    return first + inside % rows, inside // rows


def _by_columns_in_group(number: int, down: int, across: int, group: int) -> tuple[int, int]:
    """Groups of columns in place of rows."""
    row, column = _tile(number, across, down, group)
    return column, row


def _from_row_0(number: int, down: int, across: int, group: int) -> tuple[int, int]:
    """Every group in the rows of the first one."""
    row, column = _tile(number, down, across, group)
    return row % group, column


ORDERS: list[tuple[str, str, Callable]] = [
    (
        "along-rows",
        "goes along the rows of C",
        lambda number, down, across, group: (number // across, number % across),
    ),
    (
        "down-columns",
        "goes down whole columns of C",
        lambda number, down, across, group: (number % down, number // down),
    ),
    ("groups-of-columns", "has groups of columns", _by_columns_in_group),
    ("column-first", "gives the column first", lambda *case: _tile(*case)[::-1]),
    ("from-row-0", "begins every group at row 0", _from_row_0),
]
"""(a word for what a wrong order does, that in words, its formula)"""


def _scheduler(answer: object) -> None:
    cases = {shape: [(number, *shape) for number in range(shape[0] * shape[1])] for shape in SHAPES}
    mine = {shape: _tiles(results_of(answer, "tile_of", each)) for shape, each in cases.items()}
    for cause, wrong, order in ORDERS:
        same = all(mine[shape] == [order(*case) for case in each] for shape, each in cases.items())
        demand(not same, f"the order {wrong}.", cause)
    for shape, each in cases.items():
        _demand_order(mine[shape], [_tile(*case) for case in each], *shape)
    try:
        short = _tiles([answer(30, 20, 3)])
    except TypeError:
        short = None
    demand(
        short == [_tile(30, 20, 3, 16)],
        "without its last argument, the function does not take groups of 16.",
        "no-default",
    )


def _tiles(given: list) -> list[tuple[int, int]]:
    """What a function returned, as pairs of whole numbers."""
    for tile in given:
        pair = isinstance(tile, tuple | list) and len(tile) == 2
        demand(pair, f"the function returns {tile!r:.60}; it must return two numbers.", "no-two-numbers")
        for name, value in zip(("row", "column"), tile, strict=True):
            demand(value is not None, f"there is still a gap: {name} is None.", "gap")
            demand(
                isinstance(value, int | np.integer),
                f"{name} is {value!r:.40}, which is no whole number.",
                "no-whole-number",
            )
    return [(int(row), int(column)) for row, column in given]


def _demand_order(mine: list, right: list, down: int, across: int, group: int) -> None:
    """Each tile of C once, and in the right order."""
    told = f"(down = {down}, across = {across}, group = {group})"
    for number, (row, column) in enumerate(mine):
        inside = 0 <= row < down and 0 <= column < across
        demand(inside, f"tile {number} is ({row}, {column}), which C does not have {told}.", "outside-c")
    (tile, times), *_ = Counter(mine).most_common(1)
    missing = next((one for one in right if one not in mine), None)
    demand(times == 1, f"tile {tile} comes {times} times, and {missing} never {told}.", "twice")
    for number, (one, other) in enumerate(zip(mine, right, strict=True)):
        demand(one == other, f"every tile comes once, but tile {number} is {one}, not {other} {told}.")


EXERCISES = {
    "06.5": (_scheduler, {
        "gap": "which group is it, how many rows has it, and which of its tiles is it?",
        "no-function": "write the name without brackets after it.",
        "stops": "all arguments are whole numbers; a group may have fewer rows than `group`.",
        "no-two-numbers": "return row, column.",
        "no-whole-number": "/ makes a float; // does not.",
        "along-rows|down-columns": "`group` rows of tiles belong together: all their columns come before the "
        "rows below.",
        "groups-of-columns": "a group is `group` rows of tiles, over all columns.",
        "column-first": "return row, column.",
        "from-row-0": "rows are counted from the top of C: add the first row of the group.",
        "outside-c": "the last group may have fewer rows than `group`: where does its column end?",
        "twice": "within a group, the number of tiles in a column is the number of rows of *this* group.",
        "no-default": "keep group=16 in the line with def.",
        "": "row of the group + number in the group % rows of the group; the column is what // gives."}),
}  # fmt: skip
