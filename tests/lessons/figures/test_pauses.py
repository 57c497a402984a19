"""Where the tensor cores rest: stretches of one tile, and the pause at the seam of two."""

from dataclasses import replace

from course_lib.notebooks.figures.pauses import at_seam, pause, rest, tile_of
from course_lib.timelines.events import Event, Shown
from course_lib.timelines.timeline import Timeline


def trace(turn: int = 1000, **parts: list[tuple]) -> Timeline:
    """A timeline of (warp, phase, k-tile, begin, end)."""
    shown = {
        part: Shown([Event(*event) for event in events], max(event[-1] for event in events))
        for part, events in parts.items()
    }
    return Timeline("t", ("math",), "recorded", "GPU", "today", shown, {"turn_drawn": turn})


def test_a_tile_is_its_first_copy_its_turns_and_the_way_of_c():
    one = trace(
        start=[(0, "wait", 0, 0, 900), (0, "math", 0, 900, 1900), (4, "math", 0, 950, 1900)],
        end=[(0, "epilogue", 7, 300, 5000), (4, "epilogue", 7, 100, 3000)],
    )
    assert tile_of(one, 8) == {"first copy": 900, "k-tiles": 8000, "C": 4800}
    assert tile_of(Timeline("t", ("math",)), 8) == {}


def test_a_pause_goes_from_the_end_of_one_tiles_math_to_the_next_tiles():
    two = trace(
        seam=[
            (4, "math", 7, 0, 100), (4, "epilogue", 7, 100, 900), (4, "math", 8, 1100, 1200),
            (8, "epilogue", 7, 200, 800), (8, "math", 9, 1500, 1600), (8, "math", 8, 1000, 1100),
            (0, "copy", 8, 50, 60),
        ]
    )  # fmt: skip
    assert pause(two) == 900
    assert pause(trace(start=[(0, "math", 0, 1, 2)])) is None


def test_what_is_said_of_a_seam_is_in_its_events_and_in_the_row_of_the_tensor_cores():
    two = trace(seam=[(6, "epilogue", 7, 100, 900), (9, "epilogue", 7, 250, 800), (9, "math", 8, 1000, 1600)])
    assert at_seam(two) == "t, recorded: ways out 800 in warp 6, 550 in warp 9; begun 150 apart"
    assert rest(two) is None
    row = {"tensor cores, model": [[0, 250], [300, 310], [1000, 1600]], "stores": [[0, 1], [9000, 9001]]}
    seen = replace(two, parts={"seam": replace(two.parts["seam"], spans=row)})
    assert rest(seen) == 690 and at_seam(seen).endswith("150 apart; tensor cores rest 690")
    assert rest(trace(start=[(0, "math", 0, 1, 2)])) is None
    assert "no record" in at_seam(Timeline("t", ("math",)))
