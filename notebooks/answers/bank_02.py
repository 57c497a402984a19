"""The exercises of the bank for lesson 02."""

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache

import numpy as np

from course_lib.check.verdict import CheckFailed
from course_lib.lessons.sources import kernel_source
from cupy_or_sim import device
from cupy_or_sim.simulate import simulate
from ptxsim import Report
from ptxsim.observe.events import Arrive, Event, Store, in_flight

from .common import demand, demand_kernel, fail, kernel_and_numbers

NOTEBOOK = "exercises/02_producer_consumer"
MOST_STEPS = 100_000
"""Of a launch here, which takes some hundreds."""
LOOKS = ("first", "second", "third")


def _groups(answer: object) -> None:
    kernel, *said = kernel_and_numbers(
        answer, *(f"the number of pieces at the {look} look" for look in LOOKS)
    )
    x, y = np.arange(128, dtype=np.float32), np.full(3 * 128, np.nan, np.float32)
    simulate(kernel, (1,), (32,), (x, y), max_steps=MOST_STEPS)
    landed = (y.reshape(3, 4, 32) == x.reshape(4, 32)).all(axis=2).sum(axis=1)
    for look, mine, counted in zip(LOOKS, said, landed):
        if mine != counted:
            fail(f"at the {look} look not {mine} pieces are sure to have landed.", f"{look}-look")


def _on_their_way(events: Iterable[Event], after: type[Event]) -> int:
    """How many groups with copies are on their way at most events of the class `after`, in a warp."""
    found: Counter[int] = Counter()
    for event, groups, current in in_flight(events):
        if isinstance(event, after):
            found[sum(map(bool, groups)) + bool(current)] += 1
    return max(found, key=found.__getitem__, default=0)


def _pieces(kernel: object, pieces: int, size: int, block: int, results: int = 1) -> tuple[Report, tuple]:
    """A launch of one block on so many pieces of `size` floats; its report, and what went in and came out."""
    x = np.random.default_rng(2).integers(-99, 100, pieces * size).astype(np.float32)
    y = np.full(results * x.size, np.nan, np.float32)
    report = simulate(kernel, (1,), (block,), (x, y, np.int32(pieces)), max_steps=MOST_STEPS)
    return report, (x.reshape(pieces, size), y.reshape(pieces, results, size))


def _demand_right(report: Report, given: np.ndarray, expected: np.ndarray) -> None:
    if not report.ok:
        raise CheckFailed(f"with {len(given)} pieces: {report}", report.hazards)
    wrong = int((given != expected).sum())
    demand(not wrong, f"with {len(given)} pieces: {wrong} of {given.size} elements are wrong or missing.")


def _ring(kernel: object) -> None:
    demand_kernel(kernel)
    for pieces in 9, 1, 2, 3, 4, 6:
        report, (x, y) = _pieces(kernel, pieces, 64, 64)
        _demand_right(report, y[:, 0], 2 * x)
    report, _ = _pieces(kernel, 9, 64, 64)
    total = report.counters.total
    demand(not total.barriers, "the numbers are right, but there is a barrier.", "needless-barrier")
    if total.cp_async_bytes != 4 * 9 * 64:
        fail("the numbers are right, but cp.async does not bring each piece, once.", "not-by-copies")
    ahead = _on_their_way(report.events[0], after=Store)
    text = f"the numbers are right, but {ahead} later pieces are on their way when one is used."
    demand(ahead >= 2, text, "few-on-their-way")


@cache
def _reported() -> int:
    """The line where the producer waits, as the report on the kernel as given says."""
    given = device.cp.RawKernel(kernel_source(NOTEBOOK, "two_readers"), "two_readers", options=device.OPTIONS)
    said = re.search(r"thread 0 of block 0 among them, at line (\d+)", str(_pieces(given, 4, 32, 96, 2)[0]))
    return int(said[1])


def _two_readers(answer: object) -> None:
    kernel, line, threads = kernel_and_numbers(answer, "the line", "the number of threads")
    demand(line == _reported(), f"the producer does not wait in line {line}.", "other-line")
    demand(threads == 96, f"not {threads} threads come to that barrier.", "other-number")
    for pieces in 4, 1, 2, 7:
        report, (x, y) = _pieces(kernel, pieces, 32, 96, 2)
        _demand_right(report, y, np.stack([x[:, ::-1], 2 * x[:, ::-1]], axis=1))


def _one_ahead(kernel: object) -> None:
    demand_kernel(kernel)
    for pieces in 8, 1, 2, 3, 4:
        report, (x, y) = _pieces(kernel, pieces, 32, 64)
        named = {event.id for mine in report.events for event in mine if isinstance(event, Arrive)}
        if not report.ok and 0 in named:  # no slot's: they begin at 1
            raise CheckFailed(f"{report}\nThe producer arrives at barrier 0.", causes=("barrier-0",))
        _demand_right(report, y[:, 0], x[:, ::-1])
    report, _ = _pieces(kernel, 8, 32, 64)
    ahead = max(_on_their_way(mine, after=Arrive) for mine in report.events)
    text = "the numbers are right, but no copy is on its way while the producer goes on."
    demand(ahead >= 1, text, "nothing-on-its-way")


EXERCISES = {
    "02.11": _groups,
    "02.12": _ring,
    "02.13": _two_readers,
    "02.14": _one_ahead,
}
