"""Functions of a header that a lesson shows folded."""

import pytest

from course_lib.notebooks.figures.header_functions import header_functions
from cupy_or_sim.headers import course_header


def test_functions_come_whole_with_the_comment_above_them():
    found = header_functions("attention.cuh", "sum_of_row(", "pack(")
    assert repr(found) == "sum_of_row, pack: from course/attention.cuh"
    first, second = found.text.split("\n\n")
    assert all(f"{each}\n" in course_header("attention.cuh") for each in (first, second))
    assert first.startswith("__device__ __forceinline__ float sum_of_row(float x)\n{") and first.endswith(
        "\n}"
    )
    assert second.startswith("// Weights, rounded") and second.count("\n}") == 1
    page = found._repr_html_()
    assert page.startswith("<details><summary>sum_of_row, pack: from course/") and "unsigned (&amp;P)" in page


@pytest.mark.parametrize(("begins", "count"), [("wgmma_m64n128k16", 2), ("nothing", 0)])
def test_one_that_is_not_there_once_is_refused(begins, count):
    with pytest.raises(ValueError, match=f"attention.cuh has {count} functions that begin with '{begins}'"):
        header_functions("attention.cuh", begins)
