"""A model's tensor cores laid on the k-tiles of a record."""

import pytest

from course_lib import lesson_kernel, timeline
from course_lib.check.gemm import Gemm
from course_lib.notebooks.figures.tensor_rows import ROW, STORES, STORES_ROW, UNIT, laid, with_tensor_cores
from course_lib.timelines.events import Event, Shown
from course_lib.timelines.timeline import Timeline
from course_lib.timelines.timeline_chart import comparison


def turns(begins, first=30, warps=(0, 4)):
    """Both warpgroups begin the math of k-tiles at these times, the second one a little later."""
    math = ((warp, at, begin) for at, begin in enumerate(begins) for warp in warps)
    return [
        Event(warp, "math", first + at, begin + 5 * warp, begin + 5 * warp + 50) for warp, at, begin in math
    ]


def test_work_comes_as_long_behind_the_begin_of_a_k_tile_as_in_the_model():
    record = Shown(tuple(turns([300, 1500, 2300], first=28)), 3300)
    model = Shown(
        tuple(turns([0, 1000, 2000])), 3000, {"tensor cores": [[40, 640], [1040, 1640], [2040, 2640]]}
    )
    assert laid(record, model) == {ROW: [[340, 940], [1540, 2140], [2340, 2940]]}


def test_work_ends_where_the_record_begins_the_next_k_tile():
    record = Shown(tuple(turns([300, 700])), 1000)
    model = Shown(tuple(turns([0, 1000])), 1900, {"tensor cores": [[40, 640], [1040, 1640]]})
    assert laid(record, model) == {ROW: [[340, 700], [740, 1000]]}


def test_what_reaches_the_edges_of_the_model_goes_on():
    record = Shown(tuple(turns([300, 1500])), 3300)
    assert laid(record, Shown(tuple(turns([0, 1000])), 2000, {"tensor cores": [[0, 2000]]})) == {
        ROW: [[0, 3300]]
    }


def test_of_a_seam_k_tiles_are_the_same_and_the_last_epilogue_counts():
    def seam(rest):
        early, late = Event(0, "epilogue", 61, 900, rest), Event(4, "epilogue", 61, 1100, rest + 200)
        return (*turns([0, 500], first=60), early, late, *turns([rest + 50], first=62))

    model = Shown(seam(rest=3000), 4000, {"tensor cores": [[0, 1110], [3060, 4000]], "L2": [[0, 10]]})
    assert laid(Shown(seam(rest=9000), 9500), model) == {ROW: [[0, 1110], [9060, 9500]]}


def test_nothing_is_laid_where_nothing_fits():
    record = Shown(tuple(turns([300, 1500])), 3300)
    assert laid(record, Shown(tuple(turns([0, 1000])), 2000, {"arithmetic": [[0, 2000]]})) == {}
    assert laid(Shown((), 0), Shown(tuple(turns([0])), 2000, {"tensor cores": [[0, 2000]]})) == {}


def test_stores_have_a_row_of_their_own_where_they_are_asked_for():
    record = Shown(tuple(turns([300, 1500])), 3300)
    model = Shown(tuple(turns([0, 1000])), 2000, {"tensor cores": [[40, 640]], "stores": [[20, 1100]]})
    assert laid(record, model) == {ROW: [[340, 940]]}
    assert laid(record, model, (UNIT, STORES)) == {ROW: [[340, 940]], STORES_ROW: [[320, 1600]]}


def test_in_complete_stores_reach_into_the_next_tiles_math():
    kernel, launch = lesson_kernel("08_never_a_pause", "complete")
    gemm = Gemm(4096, 4096, 4096, "float16")
    shown = with_tensor_cores(timeline(kernel, gemm, launch), kernel, gemm, launch, stores=True)
    spans, events = shown.parts["seam"].spans, shown.parts["seam"].events
    next_math = min(event.begin for event in events if event.phase == "math" and event.k_tile == 64)
    ((begin, end),) = spans[STORES_ROW]
    assert begin < next_math < end and "tensor cores, stores: model of an H100" in shown.below


def test_without_a_record_there_is_no_model():
    none = Timeline("none", ("math",))
    assert with_tensor_cores(none, None, None, None) is none


@pytest.mark.parametrize("notebook, name, part, share", [
    ("07_hopper", "one_slot", "steady", 0.40), ("07_hopper", "ring", "steady", 1.0),
    ("08_never_a_pause", "cluster", "seam", 0.27), ("08_never_a_pause", "complete", "seam", 0.65),
])  # fmt: skip
def test_the_tensor_cores_of_a_lessons_record(notebook, name, part, share):
    """A k-tile's wgmma take 1,024 cycles; in `complete` they rest from the products' end to the next tile's."""
    kernel, launch = lesson_kernel(notebook, name)
    gemm = Gemm(4096, 4096, 4096, "float16")
    shown = with_tensor_cores(timeline(kernel, gemm, launch), kernel, gemm, launch)
    works = shown.parts[part].spans[ROW]
    length = shown.parts[part].length
    assert sum(end - begin for begin, end in works) / length == pytest.approx(share, abs=0.03)
    assert all(0 <= begin < end <= length for begin, end in works)
    _, words = comparison([shown], part)
    assert "tensor cores: model of an H100, laid on these k-tiles" in words
    assert f"tensor cores, model {sum(end - begin for begin, end in works) / length:.0%}" in words
