"""The figures of lesson 04: what a place costs, and when nobody multiplies."""

import pytest

from course_lib.notebooks.figures import lesson_04
from course_lib.notebooks.figures.lesson_04 import _idle


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (lambda row, chunk: 4 * row + chunk, "4 wavefronts. Each row keeps its own four seats"),
        (lambda row, chunk: 4 * row + (chunk + row // 2) % 4, "1 wavefront. Each row keeps"),
        (lambda row, chunk: 4 * row + (chunk ^ row // 2 % 4), "1 wavefront. Each row keeps"),
        (lambda row, chunk: 4 * row + (chunk ^ row % 4), "2 wavefronts. Each row keeps"),
        (lambda row, chunk: 5 * row + chunk, "1 wavefront. Row 1 leaves its own four seats"),
        (lambda row, chunk: chunk * 8 + row, "1 wavefront. Row 0 leaves"),
        (lambda row, chunk: 4 * row + (row // 2 % 4), "1 wavefront. Two chunks share"),
        (
            lambda row, chunk: 4 * row + ((chunk ^ row // 2 % 4) if chunk == 0 else chunk),
            "1 wavefront (chunk 1: 4)",
        ),
    ],
)
def test_what_a_place_costs(place, said):
    assert f"Chunk 0 of eight rows: {said}" in lesson_04.banks(place)[1]


@pytest.mark.parametrize(
    "place", [lambda row, chunk: row / 2, lambda row, chunk: -1, lambda row, chunk: 1000 * row]
)
def test_a_place_that_is_no_seat_is_told(place):
    with pytest.raises(ValueError, match="a seat is a whole number from 0 to 63"):
        lesson_04.banks(place)


@pytest.mark.parametrize(
    "name", ["fragment_a", "fragments_b_and_c", "ldmatrix", "plain_and_swizzled", "hierarchy"]
)
def test_a_figure_has_words(name):
    figure, words = getattr(lesson_04, name)()
    assert figure.axes and len(words) > 100


def test_when_nobody_multiplies():
    assert _idle([(10, 20), (15, 40), (60, 90)], 100) == [(0, 10), (40, 60), (90, 100)]
    assert _idle([(-5, 50), (50, 120)], 100) == []
