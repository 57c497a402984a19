"""Which k of A meets which k of B: said of products that are wrong in a known way."""

import numpy as np
import pytest

from course_lib.check.mistakes import Mistake
from course_lib.check.pairing import who_meets_whom

M, N, K = 32, 16, 32
ROW, COLUMN, DEEP = np.arange(M), np.arange(N), np.arange(K)


def said(of_a=lambda A: A, of_b=lambda B: B, of_c=lambda C: C):
    """What is said of a kernel that multiplies something else than A and B, or stores C elsewhere."""
    why = who_meets_whom(lambda A, B: of_c(of_a(A).astype(float) @ of_b(B).astype(float).T), M, N, K)
    return why or Mistake("", "")


def shuffled(matrix):
    """Chunks of rows 2, 3, 6, 7, ... exchanged in pairs: read as a swizzle that is not there."""
    rows = np.arange(len(matrix)) // 2 % 2 * 8
    return matrix[np.arange(len(matrix))[:, None], DEEP ^ rows[:, None]]


def with_k(k):
    return lambda matrix: matrix[:, k]


SAID = {
    ("", ""): dict(),
    ("wrong-places", "Each number of C is there, and some stand in a wrong place"): dict(
        of_c=lambda C: C[::-1]
    ),
    ("unused-b", "k = 8 to 15 of B is never multiplied, and k = 16 to 23 more than once: look at B"): dict(
        of_b=with_k(np.where(DEEP // 8 == 1, DEEP + 8, DEEP))
    ),
    ("unused-a", "k = 24 to 31 of A is never multiplied, and k = 0 to 7 more than once: look at A"): dict(
        of_a=with_k(DEEP % 24)
    ),
    ("no-k-step", "k = 16 to 23 of A and B is never multiplied: a k-step is missing"): dict(
        of_a=with_k(DEEP[:16]), of_b=with_k(DEEP[:16])
    ),
    ("other-row-of-a", "Row 8 of C is made with row 0 of A (k = 0 to 7): look at A"): dict(
        of_a=lambda A: A[ROW % 8]
    ),
    ("other-row-of-b", "Column 1 of C is made with row 0 of B (k = 0 to 7): look at B"): dict(
        of_b=lambda B: B[COLUMN // 2]
    ),
    (
        "other-row-of-b",
        "Column 8 of C is made with row 0 of B (k = 0 to 7 of A meets its k = 8 to 15): look",
    ): dict(of_b=lambda B: np.where(COLUMN[:, None] < 8, B, np.roll(B, 8, 0)[:, DEEP ^ 8])),
    (
        "other-k-of-a",
        "In row 2, column 0 of C k = 8 to 15 of A meets k = 0 to 7 of B; other rows of C are right. The copy of A",
    ): dict(of_a=shuffled),
    (
        "other-k-of-b",
        "In row 0, column 2 of C k = 8 to 15 of A meets k = 0 to 7 of B; other columns of C are right. The copy of B",
    ): dict(of_b=shuffled),
    ("other-k", "elsewhere in C k meets k. A and B are both written in one way"): dict(
        of_a=shuffled, of_b=shuffled
    ),
    ("other-order", "A and B bring the same k, each in another order"): dict(of_b=with_k(DEEP ^ 8)),
}


@pytest.mark.parametrize(("cause", "words"), SAID)
def test_what_is_said_of_a_mistake(cause, words):
    found, text = said(**SAID[cause, words])
    assert found == cause and words in text and bool(words) == bool(text)
    assert text.count("\n") == bool(text)


def test_the_same_order_in_both_is_no_mistake():
    assert said(of_a=with_k(DEEP ^ 8), of_b=with_k(DEEP ^ 8)).text == ""


def test_matrices_of_a_that_change_places_are_a_mistake_of_a():
    """Rows 8 to 15, k 0 to 7 against rows 0 to 7, k 8 to 15: some k come twice for a row, some never."""

    def exchanged(A):
        A = A.copy()
        A[8:16, :8], A[:8, 8:16] = A[:8, 8:16].copy(), A[8:16, :8].copy()
        return A

    assert "Row 8 of C is made with row 0 of A" in said(of_a=exchanged).text


@pytest.mark.parametrize("shape", [(8, 8, 12), (512, 8, 64)])
def test_nothing_is_said_of_a_k_tile_without_whole_chunks_or_of_numbers_that_halves_cannot_hold(shape):
    assert who_meets_whom(lambda A, B: np.zeros((len(A), len(B))), *shape) is None


def test_nothing_is_said_where_c_is_not_written():
    assert said(of_c=lambda C: C * np.nan).text == ""
