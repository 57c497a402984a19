"""More exercises for lesson 04."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from course_lib.check.gemm import Gemm
from cupy_or_sim.launch import Launch
from cupy_or_sim.simulate import simulate
from ptxsim import Report, fragment

from .common import (
    checked_gemm,
    demand,
    demand_kernel,
    demand_no_hazard,
    demand_tensor_cores,
    fail,
    is_whole,
    results_of,
    untried_grids,
)
from .untried import Untried

# --------------------------------------------------------------------------- 04.11: who holds this element?

ELEMENTS = [(row, k) for row in range(16) for k in range(16)]
PARTS = ("lane", "register", "half")
MISTAKES: dict[str, list[tuple[str, str, Callable]]] = {
    "lane": [
        (
            "row-for-ldmatrix",
            "is the one that names the row for ldmatrix",
            lambda row, k: row % 16 + k // 8 * 16,
        ),
        ("row-of-16", "is that of a row of 16", lambda row, k: row % 8 * 4 + k // 2),
        ("16-rows", "counts 16 rows", lambda row, k: row * 4 + k % 8 // 2),
        ("16-rows", "counts 16 rows", lambda row, k: row * 4 + k // 2),
        ("down-columns", "counts down the columns", lambda row, k: k % 8 // 2 * 8 + row % 8),
        ("every-fourth-column", "has every fourth column", lambda row, k: row % 8 * 4 + k % 4),
        ("every-fourth-column", "has every fourth column", lambda row, k: row % 8 * 4 + k // 4),
    ],
    "register": [
        ("order-of-b", "follows the order of B", lambda row, k: row // 8 * 2 + k // 8),
        ("forgotten", "forgets the rows", lambda row, k: k // 8),
        ("forgotten", "forgets the rows", lambda row, k: k // 8 * 2),
        ("forgotten", "forgets the columns", lambda row, k: row // 8),
        ("halves", "counts halves", lambda row, k: row // 8 * 2 + k // 8 * 4 + k % 2),
    ],
    "half": [
        ("turned-round", "is turned round", lambda row, k: 1 - k % 2),
        ("not-by-k", "is that of the tile", lambda row, k: k // 8),
        ("not-by-k", "is that of the row", lambda row, k: row % 2),
        ("not-by-k", "is that of the row", lambda row, k: row // 8),
    ],
}
"""A word for what a wrong function does, that in words, and what it gives. hints_04.toml has a hint for each."""


def _holder(answer: Any) -> None:
    """A function that says of each element of A what the simulator's `mma` says."""
    given = results_of(answer, "holder", ELEMENTS)
    three = all(isinstance(one, tuple | list) and len(one) == 3 for one in given)
    demand(three, f"the function returns {given[0]!r:.60}; it must return three numbers.", "no-three-numbers")
    rows, columns = fragment("A")
    own = not any(_is_of_simulator(value, (rows, columns)) for value in _used(answer))
    demand(own, "the function asks the simulator, or looks up what it said.", "asks-the-simulator")
    place = {(r, c): divmod(i, 8) for i, (r, c) in enumerate(zip(rows.flat, columns.flat, strict=True))}
    expected = [(lane, e // 2, e % 2) for lane, e in (place[element] for element in ELEMENTS)]
    for part, name in enumerate(PARTS):
        mine, right = [one[part] for one in given], [one[part] for one in expected]
        demand(all(value is not None for value in mine), f"there is still a gap: {name} is None.", "gap")
        no_number = next((value for value in mine if not is_whole(value)), 0)
        demand(
            is_whole(no_number), f"the {name} is {no_number!r:.40}, which is no whole number.", "no-number"
        )
        for cause, what, formula in MISTAKES[name]:
            same = all(value == formula(*element) for value, element in zip(mine, ELEMENTS, strict=True))
            demand(not same, f"the {name} {what}.", cause)
        for element, value, truth in zip(ELEMENTS, mine, right, strict=True):
            text = f"the {name} of row {element[0]}, k = {element[1]} is {truth}, not {value!r:.20}."
            demand(value == truth, text, f"other-{name}")


def _used(function: Any, seen: frozenset = frozenset()) -> Iterator[object]:
    """The names and values from outside that a function uses, and functions that it calls use."""
    if not inspect.isfunction(function) or function in seen:
        return
    names = inspect.getclosurevars(function)
    yield from names.unbound  # what it imports itself, too
    for value in (*names.nonlocals.values(), *names.globals.values()):
        yield value
        yield from _used(value, seen | {function})


def _is_of_simulator(value: Any, told: tuple[np.ndarray, np.ndarray]) -> bool:
    """Whether it is the simulator, a part of it, or what it has `told`, an array or both."""
    if isinstance(value, np.ndarray | tuple | list):
        parts = value if isinstance(value, tuple | list) else (value,)
        return any(
            isinstance(part, np.ndarray) and np.array_equal(part, each) for part in parts for each in told
        )
    room = value if isinstance(value, str) else getattr(value, "__module__", getattr(value, "__name__", ""))
    return str(room).partition(".")[0] == "ptxsim"


# --------------------------------------------------------------------------- 04.12, 04.13: B with rows along n


def _product(answer: Any, columns: int, ldmatrix: int = 0) -> None:
    """A kernel for C = A @ B, with one warp for 16 rows and so many columns of C, and at least so many `ldmatrix` a
    k-step. With the identity for A, C says which element of B each k of A met."""
    demand_kernel(answer)
    numbered = np.arange(1, 16 * columns + 1, dtype=np.float16).reshape(16, columns)
    C, _ = _multiplied(answer, np.eye(16, dtype=np.float16), numbered, columns)
    if np.isnan(C).any():
        stored, _ = _multiplied(answer, np.eye(16, dtype=np.float16), numbered, columns, before=0)
        text = f"{np.isnan(stored).sum()} of {C.size} elements of C are NaN, which is no number."
        demand(not np.isnan(stored).any(), text, "no-element")
        fail(f"{np.isnan(C).sum()} of {C.size} elements of C are never written.", "not-stored")
    for k, n in sorted(
        np.argwhere(numbered != C), key=lambda at: (at[1] // 8, at[0] // 8, *at)
    ):  # by matrices
        where = f"k = {k} of A, column {n} of C"
        if C[k, n] not in numbered:
            fail(f"{where}: what it met is no single element of B.", "no-element", f"at-{k}-{n}")
        row, column = divmod(int(C[k, n]) - 1, columns)
        met = f"at-{k}-{n}-met-{row}-{column}"
        if column != n:
            fail(f"{where}: it met k = {row}, column {column} of B.", met, f"at-{k}-{n}", "other-column")
        fail(f"k = {k} of A meets k = {row} of B, in column {n} of C.", f"{k}-met-{row}", "other-k")
    random = np.random.default_rng(0)
    A, B = (random.integers(-4, 5, shape).astype(np.float16) for shape in ((32, 80), (80, 3 * columns)))
    C, report = _multiplied(answer, A, B, columns)
    right = np.array_equal(C, (A.astype(np.float32) @ B.astype(np.float32)).astype(np.float16))
    demand(right, "right for one k-tile and one block, and wrong for more of them.", "only-one-block")
    apart = Untried(answer)
    for k_tiles in apart.k_tiles(16, (1, 5)):
        A, B = (
            random.integers(-1, 2, shape).astype(np.float16)
            for shape in ((16, 16 * k_tiles), (16 * k_tiles, columns))
        )
        sums, _ = _multiplied(answer, A, B, columns)
        text = f"right for 5 k-tiles, and wrong for {k_tiles}."
        demand(np.array_equal(sums, A.astype(np.float32) @ B.astype(np.float32)), text, "many-k-tiles")
    for down, across in untried_grids(apart, (16, columns), (2, 3)):
        A, B = (
            random.integers(-4, 5, shape).astype(np.float16)
            for shape in ((16 * down, 16), (16, columns * across))
        )
        sums, _ = _multiplied(answer, A, B, columns)
        text = f"right with few blocks, and not with {down} x {across} of them."
        demand(np.array_equal(sums, A.astype(np.float32) @ B.astype(np.float32)), text, "many-blocks")
    demand_tensor_cores(report, Launch((16, columns, 16), 32), 80 // 16, ldmatrix)


def _multiplied(
    kernel, A: np.ndarray, B: np.ndarray, columns: int, before: float = np.nan
) -> tuple[np.ndarray, Report]:
    """What the kernel leaves in C, which was full of `before`, and the report."""
    (M, K), N = A.shape, B.shape[1]
    C = np.full((M, N), before, np.float16)
    sizes = map(np.int32, (M, N, K))
    report = simulate(kernel, (M // 16, N // columns), (32,), (A, B, C, *sizes), max_steps=100_000)
    demand_no_hazard(report)
    return C, report


def _packed(answer: Any) -> None:
    _product(answer, 8)


def _turned(answer: Any) -> None:
    _product(answer, 16, ldmatrix=2)


# --------------------------------------------------------------------------- 04.14: stores that fill their sectors


def _whole(answer: Any) -> None:
    """Right, with each sector moved once, and no more `mma` than needed."""
    kernel = checked_gemm(answer, Launch((16, 16, 16), 32), "float16")
    gemm = Gemm(32, 32, 32, "float16")
    total = simulate(kernel, (2, 2), (32,), gemm.arguments(*gemm.inputs)).counters.total
    enough = 4 * (2 * 16 * 32 + 16 * 16) * 2 // 32  # of four blocks
    text = f"the numbers are right, but {total.global_sectors} sectors move where {enough} are enough."
    demand(total.global_sectors <= enough, text, "many-sectors")
    demand(total.mma <= 16, f"{total.mma} mma are made where 16 are enough.", "many-mma")
    demand(total.mma == 16, f"{total.mma} mma are made: the sums are not made by tensor cores.", "few-mma")


EXERCISES = {"04.11": _holder, "04.12": _packed, "04.13": _turned, "04.14": _whole}
