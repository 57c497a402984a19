"""Modelled timelines beside the recorded ones of the lessons' kernels, 4096^3 on an H100 (assets/measurements).

`python -m tools.author.clock` writes ptxsim/docs/clock_timelines.csv.
"""

from functools import cache

import pytest

from course_lib import kernel_source, timeline
from course_lib.check.gemm import Gemm
from course_lib.timelines.timeline import Timeline
from tests.lessons import DTYPES, GEMMS, kernel
from tests.sample import one_in

SIZE = 4096
MOST = 0.15
"""By what part a turn may be off."""
POINTS = 0.16
"""By what share of the time waits and barriers together may be off, but where `OTHER_WAIT` says why not."""
OTHER_WAIT = {
    ("07_hopper", "ring"): "copies and tensor cores take nearly as long: warps of the model wait for these"
}
MARKED = [key for key in GEMMS if "TRACE_ARG" in kernel_source(*key)]


@cache
def both(notebook: str, name: str) -> tuple[Timeline, Timeline] | None:
    """The recorded and the modelled one; None without a record."""
    launched = (
        kernel(kernel_source(notebook, name), name),
        Gemm(SIZE, SIZE, SIZE, DTYPES[notebook]),
        GEMMS[notebook, name],
    )
    recorded = timeline(*launched)
    return (recorded, timeline(*launched, model=True)) if recorded.turn else None


def off(notebook: str, name: str) -> float:
    """By what part the modelled turn is longer."""
    recorded, modelled = both(notebook, name)
    return modelled.turn / recorded.turn - 1


def waits(one: Timeline) -> float | None:
    """The share of waits and barriers; None where neither was measured."""
    found = [share for phase in ("wait", "barrier") if (share := one.share(phase)) is not None]
    return sum(found) if found else None


@pytest.mark.parametrize("key", one_in(4, MARKED), ids="/".join)
def test_a_turn_and_its_waits(key):
    if both(*key) is None:
        return
    recorded, modelled = both(*key)
    assert abs(off(*key)) < MOST
    apart = abs(waits(modelled) - waits(recorded))
    assert apart < POINTS or key in OTHER_WAIT, (waits(modelled), waits(recorded))


HALF_SECTORS = 8607, 10513
"""Cycles of the epilogue of lesson 08's `cluster`, 8192 x 8192 x 512, while all blocks store: of single warps on an
H100, 2026-11-22."""


def test_stores_of_half_sectors_take_as_long_as_recorded():
    raw, gemm = (
        kernel(kernel_source("08_never_a_pause", "cluster"), "cluster"),
        Gemm(8192, 8192, 512, "float16"),
    )
    modelled = timeline(raw, gemm, GEMMS["08_never_a_pause", "cluster"], model=True).cycles("epilogue")
    assert modelled == pytest.approx(sum(HALF_SECTORS) / 2, rel=0.2)
