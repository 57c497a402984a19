"""The exercises of lesson 03."""

from collections.abc import Sequence
from functools import partial
from math import inf, prod
from typing import Any, NamedTuple

import numpy as np

from course_lib.check.gemm import Gemm
from course_lib.check.verdict import MOST, CheckFailed, Verdict
from cupy_or_sim.launch import Launch
from cupy_or_sim.simulate import simulate
from ptxsim import Report
from ptxsim.observe.events import Barrier, Commit, Copy, Event, Load, Store, Wait, Work, in_flight

from .common import checked, demand, demand_kernel, fail, for_every_count, is_whole
from .needless import needless_barrier
from .untried import untried

SMALL = Launch((64, 64, 16), 256)
PADDED_BY_1 = 2 * 8 * 4 * (129 + 129)  # bytes of the tiles in shared memory: two buffers, 8 columns each
BYTES = 2 * 32 * 16  # that a warp copies of it
FLOATS = 64  # of a tile in the pipeline of 03.6
NOTHING_ON_ITS_WAY = "the product is right, but no copy is on its way during the math."
NO_COPY = ("none", "-", "")  # or None itself


def _simulated(kernel: Any, k_tiles: int) -> Report:
    """A block of the small kernels, with so many k-tiles."""
    gemm = Gemm(64, 64, k_tiles * 16)
    return simulate(kernel, (1, 1), (256,), gemm.arguments(*gemm.inputs))


# --------------------------------------------------------------------------- 03.1: four turns on paper


def _row(name: str, given: Any, right: Sequence[object]) -> None:
    """One of the lists: four entries, the right ones."""
    listed = isinstance(given, (list, tuple, np.ndarray)) and len(given) == 4
    demand(listed, f"{name} is a list of four, one for each turn, and not {given!r:.60}.", "wrong-form")
    for turn, (mine, value) in enumerate(zip(given, right)):
        nothing = mine is None or (isinstance(mine, str) and mine.strip().lower() in NO_COPY)
        if not nothing and not is_whole(mine):
            fail(f"{name} in turn {turn}: {mine!r:.30} is no number.", "no-number")
        demand(nothing if value == "none" else mine == value, f"{name} in turn {turn} is not {mine}.", name)


def _four_turns(answer: tuple) -> None:
    three = isinstance(answer, tuple) and len(answer) == 3
    text = "the answer is (multiplied_from, issued, issued_to); no part of it is a kernel."
    demand(three and not any(hasattr(part, "code") for part in answer), text, "no-three-lists")
    _row("multiplied_from", answer[0], [0, 1, 0, 1])
    _row("issued", answer[1], [1, 2, 3, "none"])
    _row("issued_to", answer[2], [1, 0, 1, "none"])


# --------------------------------------------------------------------------- 03.2, 03.4: loops written from a blank


def _copied(report: Report) -> float:
    """Bytes that the first warp copies."""
    return sum(event.bytes for event in report.events[0] if isinstance(event, Copy))


def _waits(report: Report) -> int:
    """How often the first warp waits for copies."""
    return sum(isinstance(event, Wait) for event in report.events[0])


def _told_apart(kernel: Any, error: CheckFailed) -> tuple[str, str] | None:
    """Why a copy is read before it has landed, in a word and in words: the report of fewer k-tiles, the waits and the
    copies say it."""
    found = {hazard.kind for hazard in error.hazards}
    if "uninitialised-read" in found and 0 < _copied(_simulated(kernel, 4)) <= BYTES:
        return "one-k-tile-copied", "only one k-tile is ever copied"
    if "out-of-bounds" in found and "out-of-bounds" not in {
        one.kind for one in _simulated(kernel, 17).hazards
    }:
        return "fixed-count", "with more k-tiles no copy lies outside"
    if "unwaited-copy" not in found:
        return None
    alone = _simulated(kernel, 1)  # then there is no next k-tile
    kinds = {hazard.kind for hazard in alone.hazards}
    four = _simulated(kernel, 4)
    waits = _waits(four)
    if "unwaited-copy" in kinds and _nothing_committed_before_the_last_wait(four.events[0]):
        return "last-group-missing", "in the last turn no group is closed"
    if "unwaited-copy" in kinds and waits and not _waits(alone):
        return "last-not-awaited", "the last k-tile is not waited for"
    if "unwaited-copy" in kinds:
        return "first-not-awaited", "the first k-tile is not waited for"
    if "uninitialised-read" in kinds:
        return "other-buffer", "the other buffer is read"
    if waits < 4:
        return "not-all-awaited", "not every k-tile is waited for"
    if _copied(four) > 4 * BYTES:
        return "copied-again", "k-tiles are copied again and again"
    return "next-in-the-way", "the next k-tile is in the way"


def _nothing_committed_before_the_last_wait(events: Sequence[Event]) -> bool:
    """Whether each wait leaves the newest groups open, and before the last one no group has been closed as before the
    others, so that the newest is the one that is needed."""
    steps = [event for event in events if isinstance(event, Commit | Wait)]
    leaves = all(event.keep for event in steps if isinstance(event, Wait))
    last = [type(event) for event in steps[-3:]]
    return leaves and last[1:] == [Wait, Wait] and Commit in last[:1]


def math_without_a_copy(events: Sequence[Event], k_tiles: int, fmas: float, part: float = inf) -> list[float]:
    """FMAs, or mma, of each k-tile that a warp does while nothing of its own is on its way: no copy, and no plain load
    beyond that k-tile. Of one k-tile: `fmas`, and `part`, the bytes that come by plain loads."""
    bare, done, loaded = [0.0] * k_tiles, 0.0, 0.0
    for event, groups, current in in_flight(events):
        loaded += event.bytes if isinstance(event, Load) else 0.0
        if not isinstance(event, Work) or not event.math:
            continue
        begin, done = done, done + event.math
        for k_tile in range(
            min(int(begin // fmas), k_tiles - 1), k_tiles
        ):  # work may go on into the next one
            end = fmas * (k_tile + 1) if k_tile < k_tiles - 1 else inf
            ahead = sum(groups) + current or loaded > part * (k_tile + 1)
            bare[k_tile] += 0.0 if ahead else max(min(done, end) - max(begin, fmas * k_tile), 0.0)
    return bare


def _copies_behind(events: Sequence[Event], fmas: float) -> bool:
    """Whether a warp copies when so many FMAs of it are done."""
    done = 0.0
    for event in events:
        if isinstance(event, Work):
            done += event.fma
        elif isinstance(event, Copy) and done >= fmas:
            return True
    return False


def demand_overlap(all_events: list[list[Event]], k_tiles: int, launch: Launch, part: float) -> None:
    """Each k-tile is copied once, by cp.async alone, and a copy is on its way during the math of every k-tile but the
    last. `part`: of a k-tile's math; so much without a copy is too much."""
    tile_m, tile_n, tile_k = launch.tile
    tile = 4 * (tile_m + tile_n) * tile_k
    fmas = tile_m * tile_n * tile_k // prod(launch.block)
    plain = sum(event.bytes for events in all_events for event in events if isinstance(event, Load))
    demand(not plain, "the product is right, but A or B is also read without cp.async: its value is waited for.",
           "plain-copy")  # fmt: skip
    copied = sum(e.bytes for events in all_events for e in events if isinstance(e, Copy))
    demand(copied, NOTHING_ON_ITS_WAY, "nothing-on-its-way")
    only_in_the_last = copied <= (k_tiles + 1) * tile and all(
        _copies_behind(events, (k_tiles - 1) * fmas) for events in all_events
    )
    demand(
        copied <= k_tiles * tile,
        f"the product is right, but {copied / tile:.3g} k-tiles are copied where there are {k_tiles}.",
        *(["copied-in-the-last-turn"] if only_in_the_last else []),
        "copied-again",
    )
    for warp, events in enumerate(all_events):
        bare = math_without_a_copy(events, k_tiles, fmas)[:-1]
        turns = [turn for turn, without in enumerate(bare) if without >= part * fmas]
        if not turns:
            continue
        covered = 1 - min(bare[turn] for turn in turns) / fmas  # of the math, at the best
        during = f"a copy is on its way only during {covered:.0%} of the math"
        during = (
            during
            if covered >= 0.01
            else f"no copy{f' of warp {warp}' * (warp > 0)} is on its way during the math"
        )
        some = f"in {len(turns)} of {len(bare)} turns (the first: turn {turns[0]}) " * (
            len(turns) < len(bare)
        )
        cause = "short-overlap" if covered >= 0.01 else "not-every-turn" if some else "nothing-on-its-way"
        fail(f"the product is right, but {some}{during}.", cause)


def _two_buffers(answer: Any) -> str | None:
    """A right product with the next k-tile on its way during the math of every turn. A needless barrier is told."""
    kernel, verdict = _overlapping(answer)
    return needless_barrier(kernel, verdict.events, MOST, _overlapping)


def _overlapping(answer: Any) -> tuple[Any, Verdict]:
    kernel, verdict = _checked(answer)
    for_every_count(kernel, verdict, SMALL, partial(demand_overlap, launch=SMALL, part=0.3))
    return kernel, verdict


def _checked(answer: Any) -> tuple[Any, Verdict]:
    """The kernel and the verdict, if the product is right and without a hazard; of a wrong one, why a copy is read too
    early."""
    try:
        return checked(answer, SMALL)
    except CheckFailed as error:
        kernel = answer[0] if isinstance(answer, tuple) else answer
        if why := _told_apart(kernel, error):
            cause, text = why
            raise CheckFailed(f"{error}\nTold apart: {text}.", causes=(cause,)) from None
        raise


# A thread leaves a mark whenever it calls `load` and `multiply`: a read of global memory by k + 1 lanes for k-blocks of
# buffer 0, by k + 17 for those of buffer 1; a write by k + 1 lanes. The events say how many bytes these were.
LOAD = "auto load = [&](int k, int buffer) {"
MULTIPLY = "auto multiply = [&](int k) {"
LOAD_MARK = " if (threadIdx.x % 32 <= k + 16 * buffer) *(const volatile float*)A;"
MULTIPLY_MARK = " if (threadIdx.x % 32 <= k) ((volatile float*)C)[threadIdx.x % 32] = 0;"
K_BLOCKS = 16  # of a k-tile
LAST_OF_EIGHT = 7
"""The last k-block of the lesson's own k-tiles, which the prediction asks for."""


def _calls(kernel: Any, k_tiles: int) -> list[tuple[str, int]]:
    """The calls of the first warp, in order: ("load", k + 16 * buffer), ("multiply", k) and ("barrier", 0)."""
    source = kernel.code
    if LOAD not in source or MULTIPLY not in source:
        fail("load and multiply are not as they were given.", "lambdas-changed")
    marked = source.replace(LOAD, LOAD + LOAD_MARK).replace(MULTIPLY, MULTIPLY + MULTIPLY_MARK)
    watched = type(kernel)(marked, kernel.name, options=kernel.options)
    found: list[tuple[str, int]] = []
    for event in _simulated(watched, k_tiles).events[0]:
        if isinstance(event, Load):
            found.append(("load", round(event.bytes / 4) - 1))
        elif isinstance(event, Barrier):
            found.append(("barrier", 0))
        elif isinstance(event, Store) and sum(name == "multiply" for name, _ in found) < K_BLOCKS * k_tiles:
            found.append(("multiply", round(event.bytes / 4) - 1))
    return found


class _Fragments(NamedTuple):
    """How a kernel of 03.4 goes through its k-blocks; `late` ones are counted through all k-tiles."""

    old: bool
    """Whether some k-block 0 takes its fragments out of the buffer of the k-tile before."""
    late: list[int]
    """k-blocks whose fragments are loaded only after the math of the k-block before."""
    ahead: bool
    """Whether any load brings the k-block after the one that is multiplied next."""
    met: set[int]
    """k-blocks before whose math a barrier stands, the prologue's left out."""


def _fragments(kernel: Any, k_tiles: int) -> _Fragments:
    # set of fragments -> the buffer of its load, multiplications before it
    last: dict[int, tuple[int, int]] = {}
    old, late, ahead, met, done = False, [], False, set(), 0
    for name, value in _calls(kernel, k_tiles):
        if name == "load":
            last[value % 2] = value // K_BLOCKS, done
            ahead = ahead or value % K_BLOCKS == (done + 1) % K_BLOCKS
        elif name == "barrier":
            met |= {done % K_BLOCKS} if done else set()
        else:
            buffer, before = last.get(value % 2, (0, 0))
            old = old or (done % K_BLOCKS == 0 and buffer != done // K_BLOCKS % 2)
            late += [done] if done and before >= done else []
            done += 1
    return _Fragments(old, late, ahead, met)


def _fragments_ahead(answer: Any) -> str | None:
    """As before, and each k-block's fragments are loaded before the math of the k-block before it."""
    kernel, verdict = _loaded_ahead(answer)
    if told := needless_barrier(kernel, verdict.events, MOST + 1, _loaded_ahead):
        return told
    met = sorted(_fragments(kernel, 4).met)
    where = "every k-block" if len(met) == K_BLOCKS else f"k-blocks {' and '.join(map(str, met))}"
    return f"But all meet before {where}; once in a k-tile is enough." if len(met) > 1 else None


def _loaded_ahead(answer: Any) -> tuple[Any, Verdict]:
    kernel = answer[0] if isinstance(answer, tuple) else answer
    try:
        verdict = _checked(answer)[1]
    except CheckFailed as error:
        if hasattr(kernel, "code") and "= [&]" in kernel.code and not _unfinished(error):
            try:
                found = _fragments(kernel, 4)
            except CheckFailed:
                raise error from None
            if cause := _why_not_ahead(found):
                raise CheckFailed(str(error), causes=(cause,)) from None
        raise
    late = _fragments(kernel, 4).late
    demand(
        not late,
        f"the product is right, but the fragments of {len(late)} of {4 * K_BLOCKS - 1} k-blocks are loaded only after "
        "the math of the k-block before.",
        "no-fragments-ahead",
    )
    for_every_count(kernel, verdict, SMALL, partial(demand_overlap, launch=SMALL, part=0.5))
    return kernel, verdict


def _why_not_ahead(found: _Fragments) -> str | None:
    """In a word that the hints know."""
    if found.old:
        return "old-buffer"
    if not found.ahead:
        return "no-fragments-ahead"
    return "last-of-eight" if found.met == {LAST_OF_EIGHT} else None


def _unfinished(error: CheckFailed) -> bool:
    """Whether the kernel did not run to its end, so that its calls say nothing."""
    kinds = {hazard.kind for hazard in error.hazards}
    return bool(kinds & {"deadlock", "step-limit", "out-of-bounds", "beyond-shared-memory"})


def _a_k_tile_ahead(all_events: list[list[Event]], k_tiles: int) -> bool:
    """Whether each warp loads its part of the next k-tile, with plain loads, before it multiplies one."""
    tile_m, tile_n, tile_k = SMALL.tile
    fmas, part = (
        tile_m * tile_n * tile_k // prod(SMALL.block),
        4 * (tile_m + tile_n) * tile_k // len(all_events),
    )
    for events in all_events:
        loaded, done = 0.0, 0.0
        for event in events:
            if isinstance(event, Load):
                loaded += event.bytes
            elif isinstance(event, Work) and event.fma:
                done += event.fma
                if loaded < part * min(round(done / fmas) + 1, k_tiles):
                    return False
    return True


def _demand_both_between_barriers(all_events: list[list[Event]]) -> None:
    """While a k-tile is copied with plain loads, another one is multiplied: between two barriers stand both."""
    alone = 0
    for events in all_events[:1]:
        loads = math = False
        for event in (*events, Barrier(0, None)):
            loads = loads or isinstance(event, Load)
            math = math or (isinstance(event, Work) and event.fma > 0)
            if isinstance(event, Barrier):
                alone += loads and not math
                loads = math = False
    demand(alone <= 1, "the product is right, but copies and math take turns: nothing is copied between the barriers "
           "where a k-tile is multiplied.", "in-turn")  # fmt: skip


# --------------------------------------------------------------------------- 03.3, 03.6, 03.7: pages to repair


def _pipeline(kernel: Any) -> None:
    """Tiles of 64 floats; each result is a sum of one float of every tile, in their order."""
    demand_kernel(kernel)
    dynamic = 0 if kernel.shared_size_bytes else 2 * 4 * FLOATS
    for tiles in (5, 2, 3, 1, *untried(kernel, 1, (1, 2, 3, 5), 2)):
        data = np.arange(1.0, FLOATS * tiles + 1, dtype=np.float32).reshape(tiles, FLOATS)
        out, expected = np.full(FLOATS, np.nan, np.float32), np.zeros(FLOATS, np.float32)
        for tile in data:
            expected = 2 * expected + tile[::-1]
        report = simulate(kernel, (1,), (FLOATS,), (data, out, np.int32(tiles)), dynamic)
        if not report.ok:
            words = f"with {tiles} tile{'s' * (tiles > 1)}"
            if tiles == 1:
                causes = [hazard.cause for hazard in report.hazards]  # no kinds: they would point elsewhere
                raise CheckFailed(f"{words}: {report}", causes=(*causes, "one-tile"))
            raise CheckFailed(f"{words}: {report}", report.hazards)
        wrong = int((out != expected).sum())
        demand(not wrong, f"with {tiles} tiles: {wrong} of {FLOATS} results are wrong.")
        demand(report.counters.total.shared_loads, "no tile lies in shared memory.", "no-shared-memory")
        if tiles == 5:
            _demand_a_tile_ahead(report, tiles)


def _demand_a_tile_ahead(report: Report, tiles: int) -> None:
    """Whenever a tile is used, the next one is loaded already: it has a stage of its own."""
    loaded, used = 0.0, 0.0
    for event in report.events[0]:
        if isinstance(event, Load):
            loaded += event.bytes / (32 * 4)
        elif isinstance(event, Work) and event.fma:
            needed = min(used + 2, tiles)
            demand(loaded >= needed, "the results are right, but a tile is used before the next one is loaded: "
                   "nothing is one tile ahead.", "nothing-ahead")  # fmt: skip
            used += event.fma


def _taking_turns(answer: Any) -> str | None:
    kernel, verdict = _repaired(answer)
    return needless_barrier(kernel, verdict.events, MOST, _repaired)


def _repaired(answer: Any) -> tuple[Any, Verdict]:
    try:
        kernel, verdict = checked(answer, SMALL)
    except CheckFailed as error:
        if "k-tile-ahead" in error.causes:  # its hazard would point to a barrier
            raise CheckFailed(str(error), causes=error.causes) from None
        if hasattr(answer, "code") and _empty_behind_the_loop(answer):
            raise CheckFailed(str(error), causes=("behind-the-loop",)) from None
        raise
    for_every_count(kernel, verdict, SMALL, _demand_both_at_once)
    return kernel, verdict


def _demand_both_at_once(all_events: list[list[Event]], k_tiles: int) -> None:
    """A k-tile is copied before another one is multiplied, or between the same barriers."""
    if not _a_k_tile_ahead(all_events, k_tiles):
        _demand_both_between_barriers(all_events)


def _empty_behind_the_loop(kernel: Any) -> bool:
    """Whether an empty buffer is read with one k-tile, for which the loop makes no turn, and none with more."""
    empty = [
        any(hazard.kind == "uninitialised-read" for hazard in _simulated(kernel, k_tiles).hazards)
        for k_tiles in (1, 4)
    ]
    return empty == [True, False]


def _one_ahead(answer: Any) -> None:
    kernel, verdict = checked(answer, SMALL)
    for_every_count(kernel, verdict, SMALL, _demand_k_tile_ahead)


def _demand_k_tile_ahead(all_events: list[list[Event]], k_tiles: int) -> None:
    text = "the product is right, but a k-tile is multiplied before the next one is copied: nothing is one ahead."
    demand(_a_k_tile_ahead(all_events, k_tiles), text, "not-ahead")


def _padded_by_1(kernel: Any) -> None:
    demand_kernel(kernel)
    shared = kernel.shared_size_bytes
    if shared != PADDED_BY_1:
        fail(f"the tiles take {shared} bytes, with columns of 129 floats {PADDED_BY_1}.", "other-padding")
    launch = Launch((128, 128, 8), 256)
    verdict = checked(kernel, launch)[1]
    for_every_count(kernel, verdict, launch, partial(demand_overlap, launch=launch, part=0.3))


EXERCISES = {
    "03.1": _four_turns,
    "03.2": _two_buffers,
    "03.3": _taking_turns,
    "03.4": _fragments_ahead,
    "03.5": _padded_by_1,
    "03.6": _pipeline,
    "03.7": _one_ahead,
}
