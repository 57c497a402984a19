"""docs/timelines.csv and the words about it: they are the records', and it says of each timeline what does not hold."""

from course_lib.timelines import marks
from course_lib.timelines.events import Event, to_rows
from tests.sample import in_long
from tools.author import marked, timelines

ENTRY = {
    "kernel": "k", "shape": [4096, 4096, 4096], "shared_mem": 0, "us": 300.0, "mhz": 1900, "turn": 1000,
    "noting": 0.002, "turn_drawn": 1040, "left_out": [], "shares": {"wait": 0.3, "math": 0.6},
    "ncu": {"wait": 0.25, "barrier": 0.0},
    "disturbance": {"wait.begin": [0, 0.01], "wait.end": [1, -0.02]},
    "parts": {"steady": {"rows": [], "length": 1040}},
}  # fmt: skip


MODELLED = timelines.HEADER.index("modelled")


def remarks(**changes) -> str:
    return timelines.row("05", ENTRY | changes)[-1]


def test_the_page_says_what_the_rows_say():
    page, told = timelines.PAGE.read_text(encoding="utf-8"), timelines.told(timelines.written())
    assert page == marked.between(page, "measured", told), "run python -m tools.author.timelines"


@in_long
def test_every_row_is_made_from_the_records():
    made = [timelines.row(lesson, entry, timelines.modelled(entry)) for lesson, entry in timelines.entries()]
    assert timelines.written() == made, "run python -m tools.author.timelines"


def test_rows_are_made_from_the_records():
    """All but the modelled turns, which take long."""
    written = timelines.written()
    for (lesson, entry), cells in zip(timelines.entries(), written, strict=True):
        made = timelines.row(lesson, entry)
        made[MODELLED] = cells[MODELLED]
        assert cells == made, "run python -m tools.author.timelines"


def test_no_point_is_drawn_that_disturbs_more_than_the_limit():
    for lesson, entry in timelines.entries():
        for point, (way, by) in entry["disturbance"].items():
            drawn = point not in entry["left_out"] and point not in entry["references"]
            assert not drawn or abs(by) <= marks.LIMIT, (lesson, entry["kernel"], point)
            assert way in range(16), "the bits of TRACE_WAY"


def test_what_is_beyond_a_limit_is_said():
    assert remarks() == ""
    assert remarks(turn_drawn=1060) == "the turn drawn is +6.0% of the one by the speed"
    assert remarks(ncu={"wait": 0.45}) == "waits 30% in the picture, 45% by Nsight Compute"
    rows = to_rows([Event(0, "wait", 7, 0, 350), Event(0, "math", 7, 310, 1040), Event(1, "math", 7, 0, 900)])
    overlap = remarks(parts={"steady": {"rows": rows, "length": 1040}})
    assert overlap == "two phases of a warp overlap by 40 cycles, so a mark moved one of them"
    more = ENTRY["disturbance"] | {"math.end": [3, 0.08]}
    assert remarks(disturbance=more, left_out=["math.end"]) == "left out, math.end (+8.0%)"
    pale = ENTRY["disturbance"] | {"math.end": [3, -0.04]}
    assert remarks(disturbance=pale) == "drawn pale, math.end (-4.0%)"
    both = remarks(disturbance=pale, turn_drawn=1060)
    assert both == "the turn drawn is +6.0% of the one by the speed; drawn pale, math.end (-4.0%)"


def test_the_row_has_the_range_of_what_is_drawn():
    more = ENTRY["disturbance"] | {"math.end": [3, 0.08]}
    cells = timelines.row("05", ENTRY | {"disturbance": more, "left_out": ["math.end"]})
    assert cells == [
        "05", "k", "0", "4096", "300", "1,900", "-2.0% to +1.0%", "+0.2%", "1,000", "1,040 (+4.0%)", "", "30%", "25%",
        "left out, math.end (+8.0%)",
    ]  # fmt: skip
    assert timelines.row("05", ENTRY, 950.0)[MODELLED] == "950 (-5.0%)"


def test_what_the_rows_say_together_is_counted():
    fine, far = timelines.row("05", ENTRY, 950.0), timelines.row("05", ENTRY | {"turn_drawn": 1060}, 1100.0)
    said = timelines.told([fine, far])
    assert "2 timelines" in said and "2 turns are modelled, 7.5 % off on average and 10.0 % at most." in said
    assert "| the turn drawn is more than 5 % off | 1 |" in said and "| nothing of this | 1 |" in said


MEAN, MOST = 0.07, 0.21


def test_modelled_turns_are_near():
    """Of all kernels that the clock can follow, with one and with two blocks on an SM, at three sizes."""
    rows = timelines.written()
    off = timelines.offs(rows)
    assert len(off) > 35
    assert sum(off) / len(off) < 100 * MEAN and max(off) < 100 * MOST
