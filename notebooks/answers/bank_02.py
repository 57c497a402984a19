"""The exercises of the bank for lesson 02."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from course_lib.check.verdict import CheckFailed
from course_lib.lessons.sources import kernel_source
from cupy_or_sim import device
from cupy_or_sim.simulate import clean_side_by_side, simulate
from ptxsim import Report
from ptxsim.observe.events import Arrive, Barrier, Copy, Event, Load, Store, in_flight
from ptxsim.observe.rounds import counted_twice

from .common import demand, demand_from_tile, demand_kernel, fail, kernel_and_numbers
from .untried import untried

NOTEBOOK = "exercises/02_producer_consumer"
MOST_STEPS = 100_000
"""Of a launch here, which takes some hundreds."""
MANY = 17  # pieces: far more than there are slots
AHEAD = 3
"""Turns before its use in which 02.12 copies a piece; no exercise here has more."""
PIECES = 2
"""Of a kernel's parameters (in, out, pieces)."""
LOOKS = ("first", "second", "third")


def _groups(answer: Any) -> None:
    kernel, *said = kernel_and_numbers(
        answer, *(f"the number of pieces at the {look} look" for look in LOOKS)
    )
    x, y = np.arange(128, dtype=np.float32), np.full(3 * 128, np.nan, np.float32)
    simulate(kernel, (1,), (32,), (x, y), max_steps=MOST_STEPS)
    landed = (y.reshape(3, 4, 32) == x.reshape(4, 32)).all(axis=2).sum(axis=1)
    for look, mine, counted in zip(LOOKS, said, landed):
        if mine != counted:
            fail(f"at the {look} look {mine} is not how many pieces are sure to have landed.", f"{look}-look")


def _on_their_way(events: Iterable[Event], at: type[Event], pieces: int, last: int) -> int:
    """How many groups with copies are on their way at each event of the class `at`, in a warp, at the least; those of
    the `last` pieces not counted, when there is nothing left to copy."""
    found = [
        sum(map(bool, groups)) + bool(current)
        for event, groups, current in in_flight(events)
        if isinstance(event, at)
    ]
    return min(found[: len(found) * (pieces - last) // pieces], default=0)


@dataclass(frozen=True)
class _Pieces:
    """What a kernel of one block is given: pieces of `size` floats; for each it makes `results` as long."""

    size: int
    block: int
    right: Callable[[np.ndarray], np.ndarray]
    results: int = 1

    def args(self, pieces: int) -> tuple:
        x = np.random.default_rng(2).integers(-99, 100, pieces * self.size).astype(np.float32)
        return x, np.full(self.results * x.size, np.nan, np.float32), np.int32(pieces)

    def wrong(self, x: np.ndarray, y: np.ndarray, pieces: int) -> int:
        """How many elements of y are not what they should be."""
        expected = self.right(x.reshape(pieces, 1, self.size))
        return int((y.reshape(pieces, self.results, self.size) != expected).sum())

    def report(self, kernel: Any, pieces: int) -> tuple[Report, tuple]:
        args = self.args(pieces)
        return simulate(kernel, (1,), (self.block,), args, max_steps=MOST_STEPS * (1 + pieces // MANY)), args


def _demand_right(
    kernel: Any, given: _Pieces, counts: tuple[int, ...], cause: Callable[[Report], None] = lambda _: None
) -> dict[int, list[list[Event]]]:
    """As `_right`, in every order of the warps."""
    found = _right(kernel, given, counts, cause)
    twice = counted_twice(found[MANY])
    demand(not twice, f"all is right in this order of the warps. {twice}", "counted-twice")
    return found


def _right(
    kernel: Any, given: _Pieces, counts: tuple[int, ...], cause: Callable[[Report], None]
) -> dict[int, list[list[Event]]]:
    """What each warp does with MANY pieces, and with the most of those that the kernel treats apart, if it is right
    for them and for these others; else the finding of the first of these. `cause` may raise a better one."""
    demand_kernel(kernel)
    more = untried(kernel, 1, (*counts, MANY), PIECES, AHEAD)
    most = [pieces for pieces in [max(more, default=0)] if pieces > MANY]
    launches = [((1,), given.args(pieces)) for pieces in (MANY, *counts, *more)]
    steps = MOST_STEPS * len(launches)
    events = clean_side_by_side(kernel, launches, (given.block,), max_steps=steps)
    if events is not None and not any(given.wrong(*args) for _, args in launches):
        return {MANY: events} | {pieces: given.report(kernel, pieces)[0].events for pieces in most}
    found = {}
    for pieces in (*counts, MANY, *more):
        report, args = given.report(kernel, pieces)
        if not report.ok:
            if pieces > MANY:
                text = f"right with up to {MANY} pieces, and not with {pieces}: {report.brief()}."
                raise CheckFailed(text, causes=("many-pieces",))
            cause(report)
            raise CheckFailed(f"with {pieces} pieces: {report}", report.hazards)
        wrong = given.wrong(*args)
        text = f"with {pieces} pieces: {wrong} of {args[1].size} elements are wrong or missing."
        demand(not wrong, text, *["many-pieces"] * (pieces > MANY))
        found[pieces] = report.events
    return {pieces: found[pieces] for pieces in (MANY, *most)}


def _ring(kernel: Any) -> None:
    given = _Pieces(64, 64, lambda x: 2 * x)
    for pieces, events in _demand_right(kernel, given, (9, 1, 2, 3, 4, 6), _plain_loads).items():
        right = "the numbers are right, but" + f" with {pieces} pieces" * (pieces != MANY)
        all_events = [event for mine in events for event in mine]
        barriers = any(isinstance(event, Barrier) for event in all_events)
        demand(not barriers, f"{right} there is a barrier.", "needless-barrier")
        if sum(event.bytes for event in all_events if isinstance(event, Copy)) != 4 * pieces * 64:
            fail(f"{right} cp.async does not bring each piece, once.", "not-by-copies")
        demand_from_tile(events, "slots")
        ahead = min(_on_their_way(mine, Store, pieces, last=3) for mine in events)
        are = "is" if ahead == 1 else "are"
        text = f"{right} only {ahead} of the pieces after it {are} on the way when one is used."
        demand(ahead >= 2, text, "few-on-their-way")


def _plain_loads(report: Report) -> None:
    """The finding, where a plain load brings a piece."""
    if any(isinstance(event, Load) for mine in report.events for event in mine):
        raise CheckFailed(f"{report}\nA plain load brings a piece.", causes=("not-by-copies",))


def _turned(x: np.ndarray) -> np.ndarray:
    return x[:, :, ::-1]


READERS = _Pieces(32, 96, lambda x: np.concatenate([_turned(x), 2 * _turned(x)], axis=1), results=2)
"""The second one doubles."""


BOTH_WAIT = "But at barrier {} both sides wait: who only has something to say may arrive, and go on."


@cache
def _reported() -> int:
    """The line where the producer waits, as the report on the kernel as given says."""
    given = device.cp.RawKernel(kernel_source(NOTEBOOK, "two_readers"), "two_readers", options=device.OPTIONS)
    said = str(READERS.report(given, 4)[0])
    return int(re.findall(r"thread 0 of block 0 among them, at line (\d+)", said)[0])


def _two_readers(answer: Any) -> str | None:
    kernel, line, threads = kernel_and_numbers(answer, "the line", "the number of threads")
    demand(line == _reported(), f"the producer does not wait in line {line}.", "other-line")
    demand(threads == 96, f"{threads} is not how many threads come to that barrier.", "other-number")
    events = _demand_right(kernel, READERS, (1,))[MANY]
    demand_from_tile(events[1:], "slot")
    for warp, mine in enumerate(events[1:], start=1):
        stored = sum(isinstance(event, Store) for event in mine)
        text = f"the numbers are right, but warp {warp} writes {stored} of the {MANY} results of a consumer."
        demand(stored == MANY, text, "one-consumer")
    producer, *consumers = ({event.id for event in mine if isinstance(event, Barrier)} for mine in events)
    both = producer.intersection(set().union(*consumers))
    return BOTH_WAIT.format(min(both)) if both else None


def _one_ahead(kernel: Any) -> None:
    for pieces, events in _demand_right(
        kernel, _Pieces(32, 64, _turned), (8, 1, 2, 3, 4, 6), _barrier_0
    ).items():
        demand_from_tile(events[1:], "slots")
        ahead = max(_on_their_way(mine, Arrive, pieces, last=1) for mine in events)
        right = "the numbers are right, but" + f" with {pieces} pieces" * (pieces != MANY)
        demand(ahead >= 1, f"{right} no copy is on its way while the producer goes on.", "nothing-on-its-way")


def _barrier_0(report: Report) -> None:
    """The finding, where somebody arrives at barrier 0, which is no slot's: they begin at 1."""
    if any(isinstance(event, Arrive) and event.id == 0 for mine in report.events for event in mine):
        raise CheckFailed(f"{report}\nThe producer arrives at barrier 0.", causes=("barrier-0",))


EXERCISES = {"02.11": _groups, "02.12": _ring, "02.13": _two_readers, "02.14": _one_ahead}
