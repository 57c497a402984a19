"""The figures of lessons 07 and 08: what their words say is what is drawn."""

import re
from itertools import pairwise

import pytest

from course_lib.notebooks.figures import lesson_07, lesson_08
from course_lib.timelines.events import Event, Shown
from course_lib.timelines.timeline import Timeline


def texts(figure) -> list[str]:
    return [text.get_text() for ax in figure.axes for text in ax.texts]


def test_who_copies_has_as_many_lines_as_its_words_say():
    figure, words = lesson_07.who_copies(drawn=96)
    assert len(figure.axes[0].lines) == 96 and "3,072 copies" in words
    assert sum("bytes\nmissing" in text for text in texts(figure)) == 1


@pytest.mark.parametrize("slots", [2, 3, 4])
def test_the_tensor_cores_of_a_ring_never_do_two_k_tiles_at_once(slots):
    bars, full, empty = lesson_07._schedule(slots, 9)
    math = [(begin, end) for kind, row, begin, end, _ in bars if kind == "math" and row == slots]
    assert all(before[1] <= after[0] + 1e-9 for before, after in pairwise(math))
    assert all(full[t] <= empty[t] - 1 + 1e-9 for t in range(9))
    copies = {int(label.split()[1]): (begin, end) for kind, _, begin, end, label in bars if kind == "copy"}
    assert all(copies[t][0] >= empty[t - slots] - 1e-9 for t in range(slots, 9)), (
        "a slot is filled that is read"
    )
    assert sum(begin < 0.5 for begin, _ in copies.values()) == slots - 1


def test_a_chunk_lies_where_the_swizzle_puts_it():
    figure, words = lesson_07.descriptor(row=5, k_step=1)
    assert "place 7, where chunk 2 lies" in words
    assert len(texts(figure)) > 72


def test_one_tile_gives_the_share_that_its_stretches_have():
    figure, words = lesson_08.one_tile("ring", {"first copy": 1000, "k-tiles": 4000, "C": 3000}, 4, 1000)
    assert "which is 50 % of them" in words and len(figure.axes[0].patches) == 3


def test_every_consumer_arrives_in_both_blocks():
    figure, words = lesson_08.cluster()
    arrows = [text for text in figure.axes[0].texts if getattr(text, "arrow_patch", None) is not None]
    assert len(arrows) == 8 + 4 + 2 + 2 and "four arrivals at each" in words


def test_a_pause_is_written_at_the_rest_of_the_tensor_cores():
    figure, words = lesson_08.epilogues("12,450 cycles", "?")
    assert {"12,450\ncycles", "?"} <= set(texts(figure)) and re.search(r"\(12,450 cycles\)", words)
    assert "?: not to scale" in figure.axes[1].get_title("left") and "(?, not drawn to scale)" in words


def test_a_half_is_written_when_the_one_before_has_been_read():
    figure, words = lesson_08.way_out()
    (ax,) = figure.axes
    bars = {
        text.get_text().replace("\n", " "): (bar.get_x(), bar.get_x() + bar.get_width())
        for bar in ax.patches
        for text in ax.texts
        if text.get_position()[0] == bar.get_x() + bar.get_width() / 2
        and bar.get_y() < text.get_position()[1] < bar.get_y() + bar.get_height()
    }
    assert bars["reads half 0"][1] <= bars["stmatrix: half 1"][0]
    assert bars["stmatrix: half 1"][1] < bars["reads half 1"][0]
    math = bars["math of the next tile"]
    assert math[0] < bars["reads half 1"][1] < math[1] and "while the threads are at the math" in words


def busy(*stretches: list[int]) -> dict[str, list[list[int]]]:
    return {"tensor cores": [*stretches]}


def test_consumers_in_turn_have_products_beside_results():
    shared = [
        (0, "math", 0, 900),
        (1, "math", 0, 900),
        (0, "epilogue", 1000, 1500),
        (1, "epilogue", 1000, 1400),
    ]
    events = tuple(Event(4 + 4 * consumer, phase, 0, begin, end) for consumer, phase, begin, end in shared)
    seam = Timeline("complete", (), "model", "H100", parts={"seam": Shown(events, 2000, busy([0, 990]))})
    rows = [(4, "math", 0, 300), (4, "math", 310, 500), (4, "wait", 500, 510), (4, "epilogue", 510, 700),
            (5, "math", 0, 600), (8, "wait", 0, 400), (8, "math", 400, 1000)]  # fmt: skip
    alone = tuple(Event(warp, phase, 0, begin, end) for warp, phase, begin, end in rows)
    assert lesson_08._consumers(alone) == [
        [("products", 0, 510), ("C", 510, 700)],
        [("products", 400, 1000)],
    ]
    turns = Timeline(
        "ping_pong", (), "model", "H100", parts={"end": Shown(alone, 1000, busy([0, 500], [510, 1000]))}
    )
    figure, words = lesson_08.in_turn(seam, turns)
    assert (
        "consumer 0 products 0 to 1,000, C 1,000 to 1,500; consumer 1 products 0 to 1,000, C 1,000" in words
    )
    assert "in turn: ping_pong: consumer 0 products 0 to 510, C 510 to 700; consumer 1" in words
    assert "; tensor cores at work 0 to 500, at work 510 to 1,000" in words
    assert [len(ax.patches) for ax in figure.axes] == [5, 5]
