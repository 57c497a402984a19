"""What the tests of several lessons share."""

from collections import Counter
from collections.abc import Iterable
from typing import NoReturn

import numpy as np

from course_lib.check.gemm import Gemm
from course_lib.check.job import Job
from course_lib.check.verdict import CheckFailed, Verdict, check
from course_lib.draw.pictures import sector_figure
from cupy_or_sim.launch import Launch
from ptxsim import Report, global_sectors
from ptxsim.observe.events import Copy, Event, Work, in_flight

MOST_STEPS = 250_000
"""Of one launch of a check: some two seconds, four times what the kernels of the lessons take."""


def demand(right: object, message: str, *causes: str) -> None:
    """Raise `message` as the finding, unless it is right. `causes`: words for it that hints know, the most telling
    first."""
    if not right:
        fail(message, *causes)


def fail(message: str, *causes: str) -> NoReturn:
    """Raise `message` as the finding; `causes` as `demand` takes them."""
    raise CheckFailed(message, causes=causes)


def demand_no_hazard(report: Report) -> None:
    """Raise its hazards as the finding, if it has any."""
    if not report.ok:
        raise CheckFailed(str(report), report.hazards)


def demand_all_landed(report: Report) -> None:
    """Raise it as the finding where the block may end while a copy into its shared memory is on its way."""
    cause = "copy-in-flight-at-exit"
    left = next((note for note in report.notes if note.cause == cause), "")
    demand(not left, f"the numbers are right, and a copy is left over: {left}.", cause)


def demand_whole_sectors(report: Report) -> None:
    """Raise the worst access to global memory, drawn, as the finding, if sectors move that need not."""
    total = report.counters.total
    if total.global_sectors <= total.global_sectors_ideal:
        return

    def waste(access: tuple[int, object]) -> float:
        (used,), (ideal,) = global_sectors(np.array([access[1].offsets]), access[1].size)
        return used / ideal

    found = [(line, one) for line, some in report.counters.global_patterns.items() for one in some]
    line, worst = max(found, key=waste)
    places = ", ".join(str(offset) for offset in worst.offsets[:3])
    raise CheckFailed(
        f"the numbers are right, but {total.global_sectors} sectors move where {total.global_sectors_ideal} are "
        f"enough: in line {line} the first lanes of a warp are at the bytes {places}, ...",
        causes=("wasted-sectors",),
        picture=sector_figure(*worst),
    )


def demand_kernel(answer: object) -> None:
    if not hasattr(answer, "code"):
        fail(f"the answer is a kernel, cp.RawKernel(...), and not {answer!r:.60}.", "no-kernel")


def whole_number(value: object, name: str) -> int:
    """The number that a learner gave, as any type of number; `name` says what it is."""
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not number or not float(value).is_integer():
        fail(f"{name} is a whole number, and not {value!r:.60}.", "no-whole-number")
    return int(value)


def kernel_and_numbers(answer: object, *names: str) -> tuple:
    """An answer that is a kernel and whole numbers, which `names` call in words."""
    form = f"(kernel, {', '.join(names)})"
    fits = isinstance(answer, tuple) and len(answer) == 1 + len(names)
    demand(fits, f"the answer is {form}, and not {answer!r:.60}.", "wrong-form")
    demand_kernel(answer[0])
    return answer[0], *(whole_number(value, name) for value, name in zip(answer[1:], names))


def results_of(answer: object, name: str, cases: Iterable[tuple]) -> list:
    """What the learner's Python function, called `name`, gives for each case."""
    if not callable(answer) or hasattr(answer, "code"):
        fail(f"what came is a kernel, a number or a text; pass the function itself: {name}.", "no-function")
    given = []
    for case in cases:
        try:
            given.append(answer(*case))
        except Exception as error:  # a learner's function may raise anything
            fail(f"your function stops with {type(error).__name__}: {error}.", "stops")
    if not all(value is not None for value in given):
        fail("there is still a gap: the function returns None.", "gap")
    return given


def checked_gemm(answer: object, right: Launch, dtype: str = "float32") -> object:
    """The kernel. The answer is a kernel for this launch, or a kernel and the launch that the learner chose for it."""
    return _checked(answer, right, dtype)[0]


def checked_block(answer: object, right: Launch, dtype: str = "float32") -> tuple[object, Report]:
    """The same, and the report of one block with MOST k-tiles, which takes a launch more."""
    kernel, verdict = _checked(answer, right, dtype)
    return kernel, verdict.one_block


def checked_events(answer: object, right: Launch, dtype: str = "float32") -> tuple[object, list[list[Event]]]:
    """The same, and what the warps of one block with MOST k-tiles do; without wavefronts and sectors."""
    kernel, verdict = _checked(answer, right, dtype)
    return kernel, verdict.events


def _checked(answer: object, right: Launch, dtype: str) -> tuple[object, Verdict]:
    kernel, launch = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, right)
    demand_kernel(kernel)
    if not isinstance(launch, Launch):
        fail(f"the launch is written Launch(tile=..., threads=...), and not {launch!r:.60}.", "wrong-launch")
    demand(launch == right, f"the launch is {launch}.", "wrong-launch")
    verdict = check(Job(kernel, Gemm(*(4 * size for size in right.tile), dtype), right), 0, MOST_STEPS)
    return kernel, verdict


def k_tiles_on_their_way(report: Report, k_tiles: int) -> int:
    """How many of its `k_tiles` k-tiles a warp copies while it multiplies another one, for most of its math."""
    math: Counter[int] = Counter()
    for events in report.events:
        copied = sum(event.bytes for event in events if isinstance(event, Copy)) or 1.0
        for event, groups, current in in_flight(events):
            if isinstance(event, Work) and event.math:
                math[round((sum(groups) + current) * k_tiles / copied)] += int(event.math)
    return max(math, key=math.__getitem__, default=0)
