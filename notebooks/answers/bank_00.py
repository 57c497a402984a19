"""The exercises of the bank for lesson 00."""

import re
from functools import cache
from typing import Any

import numpy as np

from course_lib.lessons.sources import kernel_source
from cupy_or_sim import device
from cupy_or_sim.simulate import compiled, simulate
from ptxsim import KINDS
from ptxsim.observe.events import Load

from .common import demand, demand_kernel, demand_no_hazard, demand_parts, fail, kernel_and_numbers
from .untried import Untried

NOTEBOOK = "exercises/00_start_here"
MOST_STEPS = 100_000
"""Of a launch here, which takes some hundreds: an endless loop ends after a second."""

KNOWN = {"no hazard"} | {kind.name for kind in KINDS}
"""All that a report says in brief, where it says one thing."""

MOST_READ = 65 + 3
"""Floats of x, by a block that needs 65; a few may be read twice, at its ends."""
MOST_N = 200
"""Elements of the first launches of 00.12, in four blocks."""
MOST_BLOCKS = 400
"""Of 00.12, far beyond: a small block takes little time."""
MOST_LOADS = 300
"""Of the warps of two blocks that add by halves: they take 50 to 200. One thread that adds all takes over 500."""


def _name_the_hazard(answer: Any) -> None:
    wanted = "(kernels, and for each of the five a kind of hazard or 'no hazard', in quotes)"
    fits = isinstance(answer, tuple) and len(answer) == 6 and isinstance(answer[0], list)
    if not fits or not all(isinstance(each, str) for each in answer[1:]):
        fail(f"the answer is {wanted}.", "wrong-form")
    kernels, *said = answer
    for name, kernel, mine in zip("abcde", kernels, said, strict=True):
        demand(mine in KNOWN, f"{mine!r:.40} is no kind of hazard.", "no-kind")
        x, y = np.arange(256, dtype=np.float32), np.full(256, np.nan, np.float32)
        found = simulate(kernel, (1,), (256,), (x, y), max_steps=MOST_STEPS).brief()
        demand(mine == found, f"the report on {name} does not say {mine!r}.", f"version-{name}")


def _smooth(answer: Any) -> None:
    kernel, thread, element = kernel_and_numbers(
        answer, "the number of the thread", "the number of the element"
    )
    named, place = _reported()
    demand(thread == named, f"the report does not name thread {thread}.", "other-thread")
    demand(element == place, f"the report does not name element {element} of the tile.", "other-element")
    more = Untried(kernel, threads=64).blocks({2: 1 / 64, "%ctaid.x": 1.0}, -(-MOST_N // 64), MOST_BLOCKS)
    for n in MOST_N, 128, 1, 65, *(64 * blocks for blocks in more):
        report, y = _smoothed(kernel, n)
        if n <= MOST_N:
            demand_no_hazard(report)
        text = f"right with up to {MOST_N} elements, and not with {n}: {report.brief()}."
        demand(report.ok, text, "many-elements")
        expected = np.append((_ramp(n)[:-1] + _ramp(n)[1:]) / 2, np.float32(-1))
        wrong = f"{(y != expected).sum()} of {n} elements are wrong."
        if n > MOST_N:
            wrong = f"right with up to {MOST_N} elements, and not with {n}: {wrong}"
        demand(np.array_equal(y, expected), wrong, *["many-elements"] * (n > MOST_N))
    # of one block alone: what several do in one go is their mean
    alone, _ = _smoothed(kernel, 65, blocks=1)
    read = sum(event.bytes for mine in alone.events for event in mine if isinstance(event, Load)) / 4
    text = f"the numbers are right, but block 0 reads floats of x {read:.0f} times; its results need 65 floats, once."
    demand(read <= MOST_READ, text, "past-the-tile")


@cache
def _reported() -> tuple[int, int]:
    """The thread, and the element of the tile, that the report on the kernel as given names."""
    given = device.cp.RawKernel(kernel_source(NOTEBOOK, "smooth"), "smooth", options=device.OPTIONS)
    said = str(_smoothed(given, 200)[0])
    thread, element = re.findall(r"thread (\d+) of block \d+ reads tile\[(\d+)\]", said)[0]
    return int(thread), int(element)


def _ramp(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.float32) ** 2


def _smoothed(kernel: Any, n: int, blocks: int | None = None) -> tuple:
    y = np.full(n, -1, np.float32)
    args = (_ramp(n), y, np.int32(n))
    return simulate(kernel, (blocks or -(-n // 64),), (64,), args, max_steps=MOST_STEPS), y


def _block_sum(kernel: Any) -> None:
    demand_kernel(kernel)
    x = np.random.default_rng(0).integers(-99, 100, 512).astype(np.float32)
    sums = np.full(2, np.nan, np.float32)
    report = simulate(kernel, (2,), (256,), (x, sums), max_steps=MOST_STEPS)
    demand_no_hazard(report)
    expected = x.reshape(2, 256).sum(axis=1)
    demand(np.array_equal(sums, expected), f"{(sums != expected).sum()} of 2 sums are wrong.")
    adds = any(each.opcode.root in ("atom", "red") for each in compiled(kernel).code.program.instructions)
    demand(not adds, "the sums are right, but threads add with atomics.", "atomics")
    demand_parts(report.events, Load, "brings")
    barriers = report.counters.total.barriers / 16  # of a warp
    if barriers > 9:
        fail(f"the sums are right, but a thread comes to {barriers:.0f} barriers.", "many-barriers")
    loads = report.counters.total.shared_loads
    if loads > MOST_LOADS:
        fail(f"the sums are right, but warps load {loads} times from shared memory.", "many-loads")
    text = "the sums are right, but not by halves: a number does not meet one other, then the sum of 2, then of 4, ..."
    demand(_by_halves(kernel), text, "not-by-halves")


def _by_halves(kernel: Any) -> bool:
    """Whether a number meets one other, then the sum of 2, of 4, ... 128. Beside 2^24 in a float, a single 1 is lost,
    and sums of 2 or more ones, if even, are kept: so 2^24 and 255 ones become 2^24 + 254 in this way."""
    places, large = (0, 37, 128, 255), np.float32(2**24)
    x = np.ones((len(places), 256), np.float32)
    x[range(len(places)), places] = large
    sums = np.full(len(places), np.nan, np.float32)
    simulate(kernel, (len(places),), (256,), (x.ravel(), sums), max_steps=MOST_STEPS)
    # added in double, and rounded at the end: no order can be seen
    return bool((sums == large + 254).all() or (sums == large + 256).all())


EXERCISES = {"00.11": _name_the_hazard, "00.12": _smooth, "00.13": _block_sum}
