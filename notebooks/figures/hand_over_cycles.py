"""What the hand-over of lesson 02's producer and consumer warps takes, in cycles, by the marks of its timeline."""

from collections.abc import Iterable
from statistics import median

from course_lib.timelines.timeline import Timeline


def hand_over_cycles(trace: Timeline) -> dict[str, int]:
    """Medians of its steps; {} without a record. A consumer's barrier is FULL, a producer's EMPTY."""
    if not trace.parts:
        return {}
    events = trace.parts["steady"].events
    at = {(event.warp, event.phase, event.k_tile): event for event in events}
    consumers, producers = ({one.warp for one in events if one.phase == phase} for phase in ("math", "copy"))

    def between(warps: set[int], phase: str, later: str, turns: int) -> list[int]:
        """From the end of a phase to the begin of another one, so many turns later."""
        ends = [(w, k, one.end) for (w, name, k), one in at.items() if w in warps and name == phase]
        return [at[w, later, k + turns].begin - end for w, k, end in ends if (w, later, k + turns) in at]

    def edges(warps: set[int], phase: str, edge: str) -> dict[int, list[int]]:
        """K-tile -> when each of these warps begins or ends a phase."""
        found: dict[int, list[int]] = {}
        for (warp, name, k_tile), one in at.items():
            if warp in warps and name == phase:
                found.setdefault(k_tile, []).append(getattr(one, edge))
        return found

    come, landed = edges(consumers, "barrier", "begin"), edges(producers, "copy", "end")
    go_on = edges(producers, "barrier", "begin")
    waits = [one.end - one.begin for (w, name, _), one in at.items() if w in consumers and name == "barrier"]
    return {
        "consumers, from math to FULL": _median(between(consumers, "math", "barrier", 1)),
        "consumers, at FULL": _median(waits),
        "consumers, from FULL to math": _median(between(consumers, "barrier", "math", 0)),
        "from landed to the consumers at FULL": _median(
            min(come[k]) - max(landed[k]) for k in come.keys() & landed.keys()
        ),
        "from the consumers at FULL to the producers' next turn": _median(
            min(go_on[k + 1]) - max(come[k]) for k in come if k + 1 in go_on
        ),
    }


def _median(cycles: Iterable[int]) -> int:
    return round(median([*cycles] or [0]))
