"""The figures of lesson 11: what their words say is what is drawn."""

import numpy as np
import pytest

from course_lib.notebooks.figures import lesson_11


def distance(point, begin, end) -> float:
    """Of a point from the stretch between two others."""
    point, begin, end = map(np.array, (point, begin, end))
    along = np.clip(np.dot(point - begin, end - begin) / np.dot(end - begin, end - begin), 0, 1)
    return float(np.linalg.norm(point - begin - along * (end - begin)))


@pytest.mark.parametrize(
    ("barrier", "tells", "told"),
    [("2: full", "slots", "multiplying thread"), ("4: empty", "tensor cores", "copy thread")],
)
def test_a_barrier_s_name_stands_at_its_own_arrow(barrier, tells, told):
    figure, words = lesson_11.who_tells_whom()
    (at,) = [text.get_position() for text in figure.axes[0].texts if text.get_text() == barrier]
    own = lesson_11._edge(tells, "bottom" if tells == "slots" else "top")
    assert distance(at, own, lesson_11._edge(told, "top" if tells == "slots" else "bottom")) < 0.1
    assert f"mbarrier {barrier.split()[1]}" in words


def test_a_tile_fills_as_many_columns_as_its_words_say():
    figure, words = lesson_11.tensor_memory(128)
    _, tile = figure.axes[0].patches
    assert tile.get_width() == 128 and "columns 0 to 127" in words and "384 columns are free" in words


def test_a_half_is_multiplied_anew_when_it_has_been_fetched():
    math, fetched = lesson_11._two_halves(6)
    assert all(math[tile][0] >= fetched[tile - 2][1] for tile in range(2, 6))
    assert all(fetched[tile][0] >= math[tile][1] for tile in range(6))
    assert all(
        fetched[tile][0] < math[tile + 1][1] and math[tile + 1][0] < fetched[tile][1] for tile in range(5)
    )
