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


def test_the_barriers_arrows_do_not_cross():
    def side(point, begin, end) -> float:
        (x, y), (x0, y0), (x1, y1) = point, begin, end
        return (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0)

    edge = lesson_11._edge
    full = edge("slots", "bottom"), edge("multiplying thread", "top")
    empty = edge("tensor cores", "top"), edge("copy thread", "bottom")
    assert side(empty[0], *full) * side(empty[1], *full) > 0


def test_the_steps_are_an_order_and_no_counts():
    figure, _ = lesson_11.who_tells_whom()
    said = [text.get_text() for text in figure.axes[0].texts]
    assert sorted(words[:2] for words in said if words[:1].isdigit()) == [f"{step}:" for step in range(1, 7)]


def test_the_marked_sum_lies_at_its_address():
    figure, words = lesson_11.tensor_memory()
    lane, column = lesson_11.ONE
    mark = figure.axes[0].patches[2]
    assert mark.get_x() < column < mark.get_x() + mark.get_width()
    assert mark.get_y() < lane < mark.get_y() + mark.get_height()
    assert any(text.get_text().endswith(f"{lane} << 16 | {column}") for text in figure.axes[0].texts)
    assert f"lane {lane}, column {column}" in words


def test_a_tile_fills_as_many_columns_as_its_words_say():
    figure, words = lesson_11.tensor_memory(128)
    tile = figure.axes[0].patches[1]
    assert tile.get_width() == 128 and "columns 0 to 127" in words and "384 columns are free" in words


def test_a_half_is_multiplied_anew_when_it_has_been_fetched():
    math, fetched = lesson_11._two_halves(6)
    assert all(math[tile][0] >= fetched[tile - 2][1] for tile in range(2, 6))
    assert all(fetched[tile][0] >= math[tile][1] for tile in range(6))
    assert all(
        fetched[tile][0] < math[tile + 1][1] and math[tile + 1][0] < fetched[tile][1] for tile in range(5)
    )
