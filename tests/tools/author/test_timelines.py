"""The table of docs/timelines.md: it is the records', and it says of each timeline what does not hold."""

import re

from course_lib.measure import marks
from course_lib.measure.events import Event, to_rows
from tests.sample import in_long, one_in
from tools.author import marked, timelines

ENTRY = {
    "kernel": "k", "shape": [4096, 4096, 4096], "shared_mem": 0, "us": 300.0, "mhz": 1900, "turn": 1000,
    "noting": 0.002, "turn_drawn": 1040, "left_out": [], "shares": {"wait": 0.3, "math": 0.6},
    "ncu": {"wait": 0.25, "barrier": 0.0},
    "disturbance": {"wait.begin": [0, 0.01], "wait.end": [1, -0.02]},
    "parts": {"steady": {"rows": [], "length": 1040}},
}  # fmt: skip


MODELLED = 10
"""A row's cell, the bar before it counted."""


def remarks(**changes) -> list[str]:
    return timelines._line("05", ENTRY | changes)[1]


@in_long
def test_the_page_is_made_from_the_records():
    page = timelines.PAGE.read_text(encoding="utf-8")
    assert page == marked.between(page, "measured", timelines.table()), "run python -m tools.author.timelines"


@in_long
def test_rows_of_the_page_are_made_from_the_records():
    """Each but its modelled turn; one of ten with it."""
    page = timelines.PAGE.read_text(encoding="utf-8").splitlines()
    rows = page[page.index(timelines.HEADER[-1]) + 1 :]
    entries = timelines.entries()
    again = one_in(10, range(len(entries)))
    for at, ((lesson, entry), row) in enumerate(zip(entries, rows, strict=False)):
        turn = timelines.modelled(entry) if at in again else None
        cells, made = row.split("|"), timelines._line(lesson, entry, turn)[0].split("|")
        if at not in again:
            made[MODELLED] = cells[MODELLED]
        assert cells == made, "run python -m tools.author.timelines"


def test_no_point_is_drawn_that_disturbs_more_than_the_limit():
    for lesson, entry in timelines.entries():
        for point, (way, by) in entry["disturbance"].items():
            drawn = point not in entry["left_out"] and point not in entry["references"]
            assert not drawn or abs(by) <= marks.LIMIT, (lesson, entry["kernel"], point)
            assert way in range(16), "the bits of TRACE_WAY"


def test_what_is_beyond_a_limit_is_said():
    assert remarks() == []
    assert remarks(turn_drawn=1060) == ["05 `k`: the turn drawn is +6.0% of the one by the speed"]
    assert remarks(ncu={"wait": 0.45}) == ["05 `k`: waits 30% in the picture, 45% by Nsight Compute"]
    rows = to_rows([Event(0, "wait", 7, 0, 350), Event(0, "math", 7, 310, 1040), Event(1, "math", 7, 0, 900)])
    assert remarks(parts={"steady": {"rows": rows, "length": 1040}}) == [
        "05 `k`: two phases of a warp overlap by 40 cycles, so a mark moved one of them"
    ]
    more = ENTRY["disturbance"] | {"math.end": [3, 0.08]}
    assert remarks(disturbance=more, left_out=["math.end"]) == ["05 `k`: left out, math.end (+8.0%)"]
    pale = ENTRY["disturbance"] | {"math.end": [3, -0.04]}
    assert remarks(disturbance=pale) == ["05 `k`: drawn pale, math.end (-4.0%)"]


def test_the_row_has_the_range_of_what_is_drawn():
    more = ENTRY["disturbance"] | {"math.end": [3, 0.08]}
    line, _ = timelines._line("05", ENTRY | {"disturbance": more, "left_out": ["math.end"]})
    assert (
        line
        == "| 05 | `k` | 4096 | 300 | 1,900 | -2.0% to +1.0% | +0.2% | 1,000 | 1,040 (+4.0%) |  | 30% | 25% |"
    )
    assert "| 1,040 (+4.0%) | 950 (-5.0%) | 30% |" in timelines._line("05", ENTRY, 950.0)[0]


MEAN, MOST = 0.07, 0.21


def test_modelled_turns_are_near():
    """Of all kernels that the clock can follow, with one and with two blocks on an SM, at three sizes."""
    page = timelines.PAGE.read_text(encoding="utf-8")
    off = [float(part) / 100 for part in re.findall(r"\) \| [\d,]+ \(([+-][\d.]+)%\) \|", page)]
    assert len(off) > 35
    assert sum(map(abs, off)) / len(off) < MEAN and max(map(abs, off)) < MOST
