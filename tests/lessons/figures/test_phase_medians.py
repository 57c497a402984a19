"""Cycles of phases, of all warps and of each."""

from course_lib.notebooks.figures.phase_medians import medians
from course_lib.timelines.timeline import Timeline, timeline_of

ROWS = [(0, "copy", 0, 0, 7), (1, "math", 0, 0, 10), (1, "math", 1, 10, 40), (2, "math", 0, 0, 50)]
ENTRY = {
    "kernel": "k", "shape": [1], "dtype": "f", "gpu": "", "date": "", "turn": 1900, "turn_drawn": 2000,
    "parts": {"steady": {"rows": ROWS, "length": 60}},
}  # fmt: skip


def test_each_warp_has_its_own(capsys):
    medians(timeline_of(ENTRY, ("copy", "math"), "recorded"), Timeline("nothing of it", ("math",)))
    assert capsys.readouterr().out.splitlines() == [
        "k, a turn of 2,000 cycles, 1,900 without marks; medians:",
        "  all: copy 7, math 30",
        "  warp 0: copy 7",
        "  warp 1: math 20",
        "  warp 2: math 50",
    ]
