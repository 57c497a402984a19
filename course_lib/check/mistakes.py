"""How a wrong C is wrong: where, and which common mistake makes it so."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from cupy_or_sim.kernel import Array

Order = Literal["C", "F"]


class Mistake(NamedTuple):
    """What makes a product wrong: a word for it, and lines of their own that tell it."""

    cause: str
    text: str


def product(A: Array, B: Array) -> Array:
    """A @ B.T in float64."""
    return A.astype("float64") @ B.astype("float64").T


def where_wrong(C: Array, expected: Array, limit: Array | float, name: str = "C") -> str:
    """Where C differs by more than `limit` (a number, or one for each element) or is NaN; "" when nowhere. `name`: what
    it is called. Works for NumPy and CuPy arrays."""
    with np.errstate(over="ignore", invalid="ignore"):  # halves that differ by more than 65504 differ enough
        wrong = ~(abs(C - expected) <= limit)
    if not wrong.any():
        return ""
    rows, columns = wrong.nonzero()
    at, never = (int(rows[0]), int(columns[0])), int((C != C).sum())
    text = (
        f"{len(rows)} of {C.size} elements of {name} are wrong: rows {int(rows.min())} to {int(rows.max())}, "
        f"columns {int(columns.min())} to {int(columns.max())}.\nThe first is row {at[0]}, column {at[1]}: "
        f"expected {float(expected[at]):g}, got {float(C[at]):g}."
    )
    return text + (f"\n{never} elements are NaN: never written, or computed from NaN." if never else "")


def guess(
    C: np.ndarray, A: np.ndarray, B: np.ndarray, tile: tuple[int, int, int], order: Order
) -> Mistake | None:
    """The mistake that makes exactly the written part of C; None when it is none of the known ones."""
    written = ~np.isnan(C)
    for cause, words, mistaken in _mistakes(A, B, tile, order) if written.any() else ():
        with np.errstate(over="ignore"):  # a sum that is too long may be too large for a half
            rounded = mistaken.astype(C.dtype)
        if np.array_equal(C[written], rounded[written]):
            if cause == "rest-missing" and not written.all():
                row, column = np.argwhere(~written)[0]
                words += f"; row {row}, column {column} is the first"
            return Mistake(cause, f"\nWhat was written equals {words}.")
    return None


def _mistakes(
    A: np.ndarray, B: np.ndarray, tile: tuple, order: Order
) -> Iterator[tuple[str, str, np.ndarray]]:
    """What common mistakes make of C: a word for each, in words, and in numbers."""
    m, n, k = np.arange(len(A)), np.arange(len(B)), np.arange(A.shape[1])
    (tile_m, tile_n, tile_k), right = tile, product(A, B)
    last = len(k) - tile_k
    ahead, behind = np.where(k < last, k + tile_k, k), np.maximum(k - tile_k, k % tile_k)
    for cause, words, used in (
        ("no-last-k-tile", f"without the last k-tile (k = {last} to {len(k) - 1})", k[:last]),
        ("no-first-k-tile", f"without the first k-tile (k = 0 to {tile_k - 1})", k[tile_k:]),
        ("first-k-tile-always", "with the first k-tile in the place of every k-tile", k % tile_k),
        ("k-tile-behind", "one k-tile late (the first twice, the last never)", behind),
        ("k-tile-ahead", "one k-tile ahead (the first never, the last twice)", ahead),
        ("no-last-k", "without the last k of every k-tile", k[k % tile_k != tile_k - 1]),
        ("no-first-k", "without the first k of every k-tile", k[k % tile_k != 0]),
    ):
        yield cause, f"A @ B.T {words}", product(A[:, used], B[:, used])

    # Whoever mixes up rows and columns takes memory in one order for memory in the other.
    def turned(matrix: np.ndarray, order: Order) -> np.ndarray:
        return matrix.ravel(order=order).reshape(matrix.shape, order="C" if order == "F" else "F")

    as_if = "read as if it was transposed: look at the index of"
    both = product(turned(A, order), turned(B, order))
    stored = turned(right, "C" if order == "F" else "F")
    yield "rest-missing", "A @ B.T: only the rest is missing", right
    yield "a-turned", f"A @ B.T with A {as_if} A", product(turned(A, order), B)
    yield "b-turned", f"A @ B.T with B {as_if} B", product(A, turned(B, order))
    yield "a-and-b-turned", "A @ B.T with A and B read as if transposed", both
    yield "c-turned", "A @ B.T stored transposed: look at the index of C", stored
    rows, columns = right[m % tile_m], right[:, n % tile_n]
    yield "one-block-row", "block row 0 of A @ B.T in every block row: look at blockIdx.x", rows
    yield "one-block-column", "block column 0 of A @ B.T in every block column: look at blockIdx.y", columns
    for name, step, axis in (("M", tile_m, 0), ("N", tile_n, 1)):
        yield "tile-too-far", f"A @ B.T one tile too far along {name}", np.roll(right, step, axis)
        yield "tile-short", f"A @ B.T one tile short along {name}", np.roll(right, -step, axis)
