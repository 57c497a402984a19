"""A timeline put together from marks: of a made-up block whose times are known, with jitter and clocks that wrap."""

import numpy as np
import pytest

from course_lib.timelines.assembled import (
    WIDE,
    Distances,
    Marks,
    behind_barriers,
    events_of,
    parts_of,
    since,
    turn_of,
)
from course_lib.timelines.events import PHASES, Event

TURN, WAIT, WARPS, K_TILES = 1000, 300, 3, 64
MATH, EPILOGUE = (2 * PHASES.index(phase) for phase in ("math", "epilogue"))


def times(point: str, warp: int, k_tile: int) -> float:
    """When a warp of the block passes a point: copies run two k-tiles ahead, each warp 10 cycles behind the last."""
    start = 5000 + k_tile * TURN + 10 * warp
    ahead = max(k_tile - 2, -1) * TURN + 5000 + 10 * warp + 100 * (k_tile - 2 if k_tile < 2 else 0)
    return {
        "reference": start,  # a wait ends
        "wait begin": start - WAIT,
        "copy begin": ahead + 100,
        "copy end": ahead + 190,
        "math begin": start + 20,
        "math end": start + TURN - WAIT - 30,
        "epilogue begin": 5000 + K_TILES * TURN + 10 * warp,
        "epilogue end": 5000 + K_TILES * TURN + 700 + 10 * warp,
    }[point]


def buffers(point: str | None, slower: float = 0.0, later: bool = False, launches: int = 3, jitter: int = 20):
    """What launches with marks at a point write: each sample starts at another count of the clock, near its end."""
    random = np.random.default_rng(len(point or ""))
    for _ in range(launches):
        rows = np.zeros((8, WARPS, K_TILES, 4), np.uint32)
        for block in range(8):
            zero = 2**32 - int(random.integers(60_000))
            for warp in range(WARPS):
                last = 0, 0
                passed = [("reference", k, times("reference", warp, k)) for k in range(K_TILES)]
                if point:
                    k_tiles = [0] if "epilogue" in point else range(K_TILES)
                    passed += [(point, k, times(point, warp, k)) for k in k_tiles]
                for name, k, time in sorted(passed, key=lambda one: one[2]):
                    clock = int(zero + time * (1 + slower) + random.integers(-jitter, jitter + 1)) % 2**32
                    if name != "reference" and not later:
                        rows[block, warp, k, 0] = clock
                    elif name != "reference":
                        last = clock, k + 1
                    else:
                        rows[block, warp, k, 2] = clock
                        if later:
                            rows[block, warp, k, :2] = last
        yield rows


def marks(point, **how) -> Marks:
    return Marks.of(buffers(point, **how))


@pytest.fixture(scope="module")
def alone():
    return marks(None)


def whole(part: str, alone, points: dict):
    events, length = events_of(parts_of(K_TILES, K_TILES)[part], alone, points)
    return {(event.warp, event.phase, event.k_tile): event for event in events}, length


def test_a_clock_that_wraps():
    assert since(np.array([5.0]), np.array([2**32 - 5.0])) == 10
    assert since(np.array([2**32 - 5.0]), np.array([5.0])) == -10


def test_the_turn_of_the_steady_state(alone):
    assert turn_of(alone, parts_of(K_TILES, K_TILES)["steady"]) == pytest.approx(TURN, rel=0.002)


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("part, first", [("start", 0), ("steady", None), ("end", None)])
def test_events_lie_where_they_were(alone, part, first, later):
    """Though launches with marks are 3 % slower."""
    points = {
        0: Distances.of(marks("copy begin", slower=0.03, later=later)),
        1: Distances.of(marks("copy end", slower=0.03, later=later)),
        2: Distances.of(marks("wait begin", slower=0.03)),
        3: Distances.of(Marks(alone.reference, alone.reference)),
        MATH: Distances.of(marks("math begin", slower=0.02)),
        MATH + 1: Distances.of(marks("math end", slower=0.03)),
        EPILOGUE: Distances.of(marks("epilogue begin")),
        EPILOGUE + 1: Distances.of(marks("epilogue end")),
    }
    found, length = whole(part, alone, points)
    stretch = parts_of(K_TILES, K_TILES)[part]
    names = {
        "copy": ("copy begin", "copy end"),
        "wait": ("wait begin", "reference"),
        "math": ("math begin", "math end"),
    }
    names["epilogue"] = "epilogue begin", "epilogue end"
    zero = times("reference", WARPS - 1, stretch.first)
    if stretch.opens:
        zero = min(times("copy begin", 0, 1 if later else 0), times("wait begin", 0, 0))
    for (warp, phase, k_tile), event in found.items():
        begin, end = (times(name, warp, k_tile) - zero for name in names[phase])
        assert (event.begin, event.end) == pytest.approx((begin, end), abs=50), (warp, phase, k_tile)
        assert event.begin_spread <= 40
    phases = {phase for _, phase, _ in found}
    assert phases == {"copy", "wait", "math"} | ({"epilogue"} if part == "end" else set())
    assert len([1 for warp, phase, _ in found if phase == "math" and warp == 0]) in (WIDE - 1, WIDE, WIDE + 1)
    if part == "steady":
        assert length == pytest.approx(WIDE * TURN, rel=0.01)


def test_a_missing_edge_is_the_neighbours(alone):
    """Where the begin of math was left out, it begins where the wait ends."""
    points = {
        2: Distances.of(marks("wait begin")),
        3: Distances.of(Marks(alone.reference, alone.reference)),
        MATH + 1: Distances.of(marks("math end")),
    }
    found, _ = whole("steady", alone, points)
    maths = [event for event in found.values() if event.phase == "math" and event.begin >= 0]
    assert maths and all(
        event.end - event.begin == pytest.approx(TURN - WAIT - 30, abs=15) for event in maths
    )


def test_nothing_begins_while_its_warp_stands_at_a_barrier():
    barrier, other = Event(0, "barrier", 3, 100, 150), Event(1, "math", 3, 110, 300)
    early, later = Event(0, "math", 3, 105, 300), Event(0, "copy", 4, 150, 160)
    found = behind_barriers([barrier, early, other, later])
    assert found == [barrier, Event(0, "math", 3, 150, 300), other, later]


def test_parts_of_a_persistent_block():
    parts = parts_of(256, 64)
    assert parts["seam"].first == 62 and parts["end"].first == 253
    assert all(64 <= first < 124 for first in parts["steady"].windows)
    assert "seam" not in parts_of(64, 64)
    assert parts_of(4, 4)["steady"].windows == (1,)
