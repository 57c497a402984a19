"""What a timeline is made of."""

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, field, replace
from typing import Literal, NotRequired, Protocol, TypedDict, get_args

Phase = Literal["copy", "wait", "barrier", "math", "epilogue", "softmax", "values"]
"""What a warp is in the middle of, in the order of the enum in timeline.cuh."""
PHASES: tuple[Phase, ...] = get_args(Phase)
Part = Literal["start", "steady", "end", "seam"]
"""Of a block's time: its first k-tiles, some in its middle, its last ones, and where a persistent block's second tile
begins."""
Source = Literal["measured", "recorded", "model", ""]
"""Where the events of a timeline come from: a GPU now, a GPU once, the simulator's clock; "": there are none."""


@dataclass(frozen=True)
class Event:
    """One phase of one warp in one k-tile. Cycles count from the first event of the part of the timeline that it
    belongs to. `begin_spread`, `end_spread`: the edge lies this much earlier or later in most blocks. `phase` is a
    Phase, or several as `together` names them."""

    warp: int
    phase: str
    k_tile: int
    begin: int
    end: int
    begin_spread: int = 0
    end_spread: int = 0

    def moved(self, cycles: float) -> "Event":
        """The same event so many cycles later."""
        return replace(self, begin=round(self.begin + cycles), end=round(self.end + cycles))


def to_rows(events: Iterable[Event]) -> list[list]:
    """As a record holds them: [warp, phase, k-tile, begin, end, spread of the begin, of the end]."""
    return [list(astuple(event)) for event in events]


def from_rows(rows: Iterable[list]) -> tuple[Event, ...]:
    return tuple(Event(*row) for row in rows)


def in_order(events: Iterable[Event]) -> list[Event]:
    """Sorted by their begin."""
    return sorted(events, key=lambda event: (event.begin, event.warp))


def together(events: Iterable[Event], phases: Iterable[Phase]) -> tuple[Event, ...]:
    """Events of which those in `phases` are one where they touch, named like "copy + math": marks of these phases were
    left out, so nobody knows where in such a stretch the one ends and the other begins."""
    unsure, name = frozenset(phases), " + ".join(phases)
    made: list[Event] = []
    latest: dict[int, int] = {}  # warp -> where its last event stands in `made`
    for event in in_order(events):
        last = made[latest[event.warp]] if event.warp in latest else None
        if event.phase in unsure:
            turn = event.k_tile if event.phase == "math" or not last else last.k_tile
            if last and last.phase == name and event.begin <= last.end:
                late = max(last, event, key=lambda one: one.end)
                made[latest[event.warp]] = replace(
                    last, k_tile=turn, end=late.end, end_spread=late.end_spread
                )
                continue
            event = replace(event, phase=name, k_tile=turn)
        latest[event.warp] = len(made)
        made.append(event)
    return tuple(made)


def shares(events: list[Event], length: int) -> dict[str, float]:
    """What part of this time the warps spend in each phase, on average over the warps that have events."""
    warps = {event.warp for event in events}
    spent: dict[str, float] = {}
    for event in events:
        inside = max(min(event.end, length) - max(event.begin, 0), 0)
        spent[event.phase] = spent.get(event.phase, 0.0) + inside
    return {phase: round(cycles / len(warps) / length, 3) for phase, cycles in spent.items()}


class KeptPart(TypedDict):
    """A part of a timeline as a record holds it; of a model also when which resource was used."""

    rows: list[list]
    length: int
    spans: NotRequired[dict[str, list[list[int]]]]


class Entry(TypedDict, total=False):
    """A timeline as a record holds it. What it says of its kernel, problem and launch comes from `records.about`."""

    kernel: str
    shape: list[int]
    dtype: str
    gpu: str
    date: str
    us: float
    mhz: int
    turn: int
    turn_drawn: int
    resident: int
    noting: float
    references: list[str]
    left_out: list[str]
    disturbance: dict[str, list]
    shares: dict[str, float]
    parts: dict[Part, KeptPart]
    ncu: dict[Phase, float]


@dataclass(frozen=True)
class Shown:
    """A part of a timeline: its events, which may reach over its ends at 0 and `length`, in cycles; of a model also
    `spans`, resource -> [begin, end] of each use."""

    events: tuple[Event, ...]
    length: int
    spans: Mapping[str, list[list[int]]] = field(default_factory=dict)

    @staticmethod
    def of(kept: KeptPart) -> "Shown":
        """From a record."""
        return Shown(from_rows(kept["rows"]), kept["length"], kept.get("spans", {}))


class Drawn(Protocol):
    """A timeline as its picture takes it."""

    title: str
    origin: str
    small_print: str
    phases: tuple[str, ...]
    source: Source
    parts: Mapping[Part, Shown]

    @property
    def turn(self) -> int | None: ...

    def cycles(self, phase: str) -> int: ...

    def share(self, phase: str) -> float | None: ...
