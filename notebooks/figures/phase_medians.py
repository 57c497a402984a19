"""The cycles of a timeline's phases, of all its warps and of each that is drawn."""

from collections.abc import Sequence
from dataclasses import replace

from course_lib.timelines.timeline import Timeline


def of_warp(timeline: Timeline, warp: int) -> Timeline:
    """With what this warp did alone."""
    parts = {
        part: replace(shown, events=tuple(each for each in shown.events if each.warp == warp))
        for part, shown in timeline.parts.items()
    }
    phases = {each.phase for shown in parts.values() for each in shown.events}
    return replace(timeline, parts=parts, phases=tuple(each for each in timeline.phases if each in phases))


def medians(*timelines: Timeline) -> None:
    """Print what a turn takes, with marks and without, and the median cycles of its phases."""
    for each in timelines:
        if not each.parts:
            continue
        by_speed = each.about["turn"]
        name = each.title.partition(",")[0]
        print(f"{name}, a turn of {each.turn:,} cycles, {by_speed:,} without marks; medians:")
        print(f"  all: {_said(each, each.phases)}")
        for warp in sorted({event.warp for event in each.parts["steady"].events}):
            alone = of_warp(each, warp)
            print(f"  warp {warp}: {_said(alone, alone.phases)}")


def _said(timeline: Timeline, phases: Sequence[str]) -> str:
    return ", ".join(f"{phase} {timeline.cycles(phase):,}" for phase in phases if phase != "epilogue")
