"""A timeline put together from many launches, each of which marked one point of each k-tile and the reference.

All times of a sample (one block in one launch) come from the clock of one SM, so differences of them are exact. What
is taken from each launch is the distance of its point from the reference nearest to it; the references' own times come
from the launches that marked nothing else. Edges are means, so lengths add up to the turn; their spread is kept.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from .events import PHASES, Event, Part, Phase, in_order

WIDE = 4  # k-tiles that a part shows
NEAR = 8  # k-tiles before and behind a part that its events may belong to
_HALF = 2**31


@dataclass(frozen=True)
class Marks:
    """Clocks of every sample, float64 [sample, warp, k-tile], NaN where no mark was; modulo 2^32."""

    point: np.ndarray
    reference: np.ndarray

    @staticmethod
    def of(buffers: Iterable[np.ndarray]) -> Marks:
        """From what launches wrote: uint32 [block, warp, k-tile, 4] each, as timeline.cuh says."""
        rows = np.concatenate(list(buffers))
        return Marks(_by_k_tile(rows[..., 0], rows[..., 1]), _by_k_tile(rows[..., 2], rows[..., 3]))


def _by_k_tile(clock: np.ndarray, label: np.ndarray) -> np.ndarray:
    times = np.full(clock.shape, np.nan)
    sample, warp, row = np.nonzero(clock)
    k_tile = label[sample, warp, row].astype(int)
    times[sample, warp, np.where(k_tile > 0, k_tile - 1, row)] = clock[sample, warp, row]
    return times


def since(times: np.ndarray, origin: np.ndarray) -> np.ndarray:
    """Cycles from `origin` to `times`, of clocks that count modulo 2^32."""
    return (times - origin + _HALF) % 2**32 - _HALF


@dataclass(frozen=True)
class Distances:
    """Of one point: the k-tile of the nearest reference, [warp, k-tile], and the cycles from there: the mean and half
    of what lies between the 10th and the 90th percentile. NaN and -1 where there is no such point."""

    nearest: np.ndarray
    mean: np.ndarray
    spread: np.ndarray

    @staticmethod
    def of(marks: Marks) -> Distances:
        near = np.stack([_nearest(*pair) for pair in zip(marks.point, marks.reference, strict=True)])
        usual = _mode(near)
        rows = np.arange(usual.shape[0])[:, None]
        apart = since(marks.point, marks.reference[:, rows, np.maximum(usual, 0)])
        apart[near != usual] = np.nan
        apart[:, usual < 0] = np.nan
        low, high = _quietly(np.nanpercentile, apart, (10, 90), axis=0)
        return Distances(usual, _quietly(np.nanmean, apart, axis=0), (high - low) / 2)

    def softer(self, cycles: float) -> Distances:
        """The same, with edges at least so soft."""
        return replace(self, spread=np.fmax(self.spread, cycles))


def _nearest(point: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """For each point of a sample [warp, k-tile] the k-tile of the reference nearest in time; -1 where there is none."""
    found = np.full(point.shape, -1)
    for warp, (marked, passed) in enumerate(zip(point, reference, strict=True)):
        k_tiles, known = np.flatnonzero(~np.isnan(marked)), np.flatnonzero(~np.isnan(passed))
        if not len(k_tiles) or not len(known):
            continue
        begin = passed[known[0]]
        times, at = since(passed[known], begin), since(marked[k_tiles], begin)
        behind = (
            np.clip(np.searchsorted(times, at), 1, len(known) - 1)
            if len(known) > 1
            else np.zeros(len(at), int)
        )
        before = np.maximum(behind - 1, 0)
        closer = np.where(np.abs(times[before] - at) <= np.abs(times[behind] - at), before, behind)
        found[warp, k_tiles] = known[closer]
    return found


def _mode(values: np.ndarray) -> np.ndarray:
    """The most frequent value along the first axis."""
    found = np.sort(values, axis=0)
    best, most = found[0].copy(), np.zeros(found.shape[1:], int)
    run = np.zeros(found.shape[1:], int)
    for before, now in pairwise(found):
        run = np.where(now == before, run + 1, 0)
        better = run > most
        best[better], most[better] = now[better], run[better]
    return best


def _quietly(function: Callable, *args: Any, **options: Any) -> Any:
    """NumPy warns of slices that hold nothing but NaN; here such a slice is a point that is not there."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return function(*args, **options)


@dataclass(frozen=True)
class Stretch:
    """Where a part of the timeline lies: its first k-tile, and the first k-tiles of all windows that are averaged."""

    first: int
    windows: tuple[int, ...]
    opens: bool = False  # it begins with the block's first event
    closes: bool = False  # it ends with the block's last event


def parts_of(k_tiles: int, tile: int) -> dict[Part, Stretch]:
    """The parts of a block with this many k-tiles, `tile` of them for each tile of C.

    The steady state is the mean of all k-tiles of a tile but the first and the last ones: of the only tile, or of a
    persistent block's second one. Not of its middle alone: with two blocks on an SM a block was measured to be
    slow at first and fast later (docs/tuning.md, Timelines).
    """
    begin = tile if k_tiles > tile else 0
    low, high = begin + min(WIDE, tile // 4), begin + tile - WIDE
    windows = tuple(range(low, max(high - WIDE, low + 1), WIDE))
    found: dict[Part, Stretch] = {
        "start": Stretch(0, (0,), opens=True),
        "steady": Stretch(windows[len(windows) // 2], windows),
        "end": Stretch(max(k_tiles - WIDE + 1, 0), (max(k_tiles - WIDE + 1, 0),), closes=True),
    }
    if k_tiles > tile:
        found["seam"] = Stretch(tile - WIDE // 2, (tile - WIDE // 2,))
    return found


def references(alone: Marks, part: Stretch) -> tuple[np.ndarray, int]:
    """Mean cycles from the anchor to each reference [warp, k-tile - part.first + NEAR], and the anchor's warp: of those
    with the most references the last, which is no producer that runs ahead; at the part's first k-tile."""
    times = alone.reference
    count = (~np.isnan(times)).sum((0, 2))
    anchor = int(np.flatnonzero(count == count.max())[-1])
    padded = np.pad(times, ((0, 0), (0, 0), (NEAR, NEAR + WIDE)), constant_values=np.nan)
    cut = [
        since(padded[:, :, k : k + 2 * NEAR + WIDE], padded[:, anchor, k + NEAR, None, None])
        for k in part.windows
    ]
    return _quietly(np.nanmean, np.concatenate(cut), axis=0), anchor


def turn_of(alone: Marks, part: Stretch) -> float:
    """Mean cycles of a turn in a part: over WIDE k-tiles in each of its windows, of the warps that have them."""
    passed = [since(alone.reference[:, :, k + WIDE], alone.reference[:, :, k]) for k in part.windows]
    return float(_quietly(np.nanmean, np.stack(passed)) / WIDE)


def edges(
    of_part: np.ndarray, distances: Distances, stretch: Stretch
) -> dict[tuple[int, int], tuple[float, float]]:
    """(warp, k-tile) -> (time, spread) of one point in a part, in cycles from its anchor: over all windows, from the
    reference that is the nearest in most of them."""
    seen = defaultdict(list)
    for window in stretch.windows:
        column = distances.nearest - window + NEAR
        near = (distances.nearest >= 0) & (column >= 0) & (column < of_part.shape[1])
        for warp, k_tile in zip(*map(np.ndarray.tolist, np.nonzero(near)), strict=True):
            seen[warp, k_tile - window].append((int(column[warp, k_tile]), k_tile))
    found = {}
    for (warp, ahead), places in seen.items():
        usual = Counter(column for column, _ in places).most_common(1)[0][0]
        k_tiles = [k_tile for column, k_tile in places if column == usual]
        time = of_part[warp, usual] + np.mean(distances.mean[warp, k_tiles])
        if not np.isnan(time):
            found[warp, stretch.first + ahead] = float(time), float(np.mean(distances.spread[warp, k_tiles]))
    return found


def events_of(
    stretch: Stretch, alone: Marks, points: dict[int, Distances], through: Mapping[int, int] | None = None
) -> tuple[list[Event], int]:
    """The events of a part, and its length in cycles. `points`: those that were measured, by their number (twice the
    phase, and 1 for its end), from the references that were marked alone; `through`: from which other point instead.
    Events reach over the part's ends.

    Where a phase has one measured end, its other end is where its warp's neighbouring event begins or ends.
    """
    through = through or {}
    of_part, anchor = references(alone, stretch)
    direct = {point: distances for point, distances in points.items() if point not in through}
    found = {point: edges(of_part, distances, stretch) for point, distances in direct.items()}
    for point, other in through.items():
        passed = np.full_like(of_part, np.nan)
        for (warp, k_tile), (time, _) in found[other].items():
            if 0 <= (column := k_tile - stretch.first + NEAR) < passed.shape[1]:
                passed[warp, column] = time
        found[point] = edges(passed, points[point], stretch)
    events = []
    for at, phase in enumerate(PHASES):
        begins, ends = found.get(2 * at, {}), found.get(2 * at + 1, {})
        for warp, k_tile in begins.keys() | ends.keys():
            events.append((warp, phase, k_tile, begins.get((warp, k_tile)), ends.get((warp, k_tile))))
    first = -np.inf if stretch.opens else of_part[anchor, NEAR]
    last = np.inf if stretch.closes else of_part[anchor, NEAR + WIDE]
    whole = behind_barriers(_completed(events))
    shown = [event for event in whole if event.end > first and event.begin < last]
    if stretch.opens:
        first = min((event.begin for event in shown), default=0)
    if stretch.closes:
        last = max((event.end for event in shown), default=0)
    return in_order(event.moved(-first) for event in shown), round(last - first)


def _completed(events: list[tuple]) -> list[Event]:
    """Events with both edges. A missing one is the neighbour's. An event without such a neighbour is left out, and
    one that would lie over another one of its warp: where the border of two phases was not measured, the later one
    has the time of both."""
    whole = [_event(*event) for event in events if None not in event]
    for warp, phase, k_tile, begin, end in reversed([event for event in events if None in event]):
        mine = [event for event in events if event[0] == warp and event[1:3] != (phase, k_tile)]
        if begin is None:
            begin = max((other[4] for other in mine if other[4] and other[4][0] <= end[0]), default=None)
        if end is None:
            end = min((other[3] for other in mine if other[3] and other[3][0] >= begin[0]), default=None)
        if begin and end:
            made = _event(warp, phase, k_tile, begin, end)
            if not any(_overlap(made, other) for other in whole if other.warp == warp):
                whole.append(made)
    return whole


def overlap(events: Iterable[Event]) -> int:
    """The most cycles that two phases of one warp share; a warp is in one phase at a time."""
    most: float = 0
    busy: dict[int, float] = defaultdict(lambda: -np.inf)  # until when each warp is in a phase
    for event in sorted(events, key=lambda one: (one.begin, one.end)):
        most = max(most, min(busy[event.warp], event.end) - event.begin)
        busy[event.warp] = max(busy[event.warp], event.end)
    return int(most)


def behind_barriers(events: list[Event]) -> list[Event]:
    """The events, none of which begins while its warp stands at a barrier: a mark behind one may be read early."""
    cut = []
    for event in events:
        stood = [
            one.end
            for one in events
            if one.phase == "barrier" and one.warp == event.warp and one.begin <= event.begin < one.end
        ]
        begin = event.begin if event.phase == "barrier" else max(stood, default=event.begin)
        cut.append(replace(event, begin=begin, end=max(begin, event.end)))
    return cut


def _event(
    warp: int, phase: Phase, k_tile: int, begin: tuple[float, float], end: tuple[float, float]
) -> Event:
    """From two (time, spread)."""
    times = round(begin[0]), round(max(begin[0], end[0]))
    return Event(warp, phase, k_tile, *times, round(begin[1]), round(end[1]))


def _overlap(made: Event, other: Event) -> bool:
    """Whether an event that was completed shares more with another one than soft edges."""
    shared = min(made.end, other.end) - max(made.begin, other.begin)
    return shared > 0.1 * (made.end - made.begin)
