"""A race as two orders of one launch: the one that the simulator saw, and the one that nothing forbids."""

from cupy_or_sim import style
from ptxsim import Hazard, Meeting, Report

ENDS = {
    "read-after-write": ("it reads what was written", "it reads what was there before"),
    "write-after-read": ("what was there was read", "what is new is read too early"),
    "write-after-write": ("the second value stays", "the first value stays"),
}
"""Kind of a race: what comes of it in the order that was seen, and in the other one."""


def orders(report: Report) -> None:
    """Draw the first race of a report: its two accesses, in both orders that are possible. Raises ValueError for a
    report without one."""
    style.show(*orders_figure(report))


@style.styled
def orders_figure(report: Report) -> style.Drawing:
    """The drawing for `orders`, and its description in words."""
    races = ((each, each.meeting) for each in report.hazards if each.kind in ENDS and each.meeting)
    race, meeting = next(races, (None, None))
    if race is None or meeting is None:
        raise ValueError(
            f"{report!r} has no race between two threads of a block to draw; "
            f"a report with one of {', '.join(ENDS)} is needed"
        )
    (did, does), threads = _accesses(race, meeting), (meeting.other, meeting.thread)
    seen, other = ENDS[race.kind]
    figure = style.new_figure(2.5)
    axes = style.axes(figure)
    for row, (title, first, end) in enumerate(
        (("what the simulator saw", 0, seen), ("as legal, and not seen", 1, other))
    ):
        top = 2.9 * row
        axes.text(0, top - 0.35, f"{title}: {end}", fontsize=9, weight="bold", va="center")
        for lane, (thread, access) in enumerate(zip(threads, (did, does), strict=True)):
            left = 3.2 if lane == first else 6.9
            axes.text(2.1, top + 0.5 + lane, thread, fontsize=8, ha="right", va="center")
            axes.hlines(top + 0.5 + lane, 2.3, 10.6, color=style.GRID, linewidth=0.8, zorder=0)
            look = {
                "facecolor": (style.SKY, style.ORANGE)[lane],
                "edgecolor": style.TEXT,
                "boxstyle": "round,pad=0.35",
            }
            axes.text(left, top + 0.5 + lane, access, fontsize=8, va="center", color=style.INK, bbox=look)
    axes.annotate("", (10.6, 5.0), (2.3, 5.0), arrowprops={"arrowstyle": "->", "color": style.TEXT})
    axes.text(10.7, 5.0, "time", fontsize=8, va="center")
    axes.set(xlim=(0, 11.6), ylim=(5.3, -0.8))
    axes.axis("off")
    axes.set_title(f"One launch, two orders. Both accesses touch {meeting.memory}.")
    return figure, (
        f"One launch in two orders; both accesses touch {meeting.memory}. What the simulator saw: "
        f"{threads[0]} {did}, then {threads[1]} {does}: {seen}. As legal, and not seen: "
        f"{threads[1]} {does}, then {threads[0]} {did}: {other}."
    )


def _accesses(race: Hazard, meeting: Meeting) -> tuple[str, str]:
    """What the thread that came first did, and the other one, each with its line."""
    second, first = race.kind.split("-after-")
    return f"{first}s in {meeting.other_place}", f"{second}s in {race.place}"
