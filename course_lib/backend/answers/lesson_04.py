"""The exercises of lesson 04."""

from __future__ import annotations

import numpy as np

from ...gemm import CheckFailed, Gemm
from ...report import simulate
from .common import checked_gemm

_NARROW = {"tile": (32, 8, 32), "threads": 32}


def _narrow(answer: object) -> None:
    """A product of one warp. Of wrong numbers it says which operand brings them."""
    try:
        checked_gemm(answer, **_NARROW, dtype="float16")
    except CheckFailed as error:
        if "no hazard" not in str(error):
            raise
        raise CheckFailed(f"{error}\nTo blame: {_to_blame(answer)}") from None


def _to_blame(kernel: object) -> str:
    """C, A or B, or k: found with one operand full of ones, which hides its order."""
    gemm, random = Gemm(*_NARROW["tile"], "float16"), np.random.default_rng(4)
    A, B = (random.integers(-4, 5, (rows, gemm.K)).astype(np.float16) for rows in (gemm.M, gemm.N))

    def made(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        args = gemm.arguments(A, B)
        simulate(kernel, (1, 1), (_NARROW["threads"],), args)
        return args[2].astype(float), A.astype(float) @ B.astype(float).T

    found, expected = made(A, B)
    if np.array_equal(np.sort(found, None), np.sort(expected, None)):
        return "C"
    for name, operands in ("A", (A, np.ones_like(B))), ("B", (np.ones_like(A), B)):
        if not np.array_equal(*made(*operands)):
            return name
    return "k"


EXERCISES = {
    "04.1": (_narrow, {
        "misaligned": "an `ldmatrix` row begins at a multiple of 8 halves, a `__half2` of C in an even column.",
        "uninitialised-read|out-of-bounds": "an address leaves the tile: rows of B are 0 to 7, those of A 0 to "
        "31, and each lane names the first of 8 halves.",
        "block-conflict": "lanes of two blocks write one element of C: a lane's row is 0 to 7, its column 0 to 6.",
        "To blame: C": "the numbers are right and lie in the wrong places: four lanes share a row of C.",
        "To blame: A": "the fragments of A are wrong, those of B are not: matrices 0 and 1 lie below each other, "
        "2 and 3 to the right of them, and a k-step is 16 columns.",
        "To blame: B": "the fragments of B are wrong, those of A are not: the four matrices are the same 8 rows, and "
        "k-step s uses matrices 2 s and 2 s + 1.",
        "To blame: k": "A and B bring different columns to one `mma`: k-step s is columns 16 s to 16 s + 15 of both.",
        "": "lane l names row l % 8 of matrix l / 8; the pictures of A and B show where each matrix belongs."}),
}  # fmt: skip
