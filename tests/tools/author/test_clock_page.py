"""What stands beside ptxsim/docs/clock.md is made from the records."""

from itertools import permutations

import numpy as np
import pytest

from tests.sample import one_in
from tools.author import clock


def test_the_predictions_are_those_that_were_committed():
    assert clock.written("put_aside") == clock.put_aside(), "run python -m tools.author.clock"
    modelled, measured = clock.MODELLED["kernels"], clock.MEASURED["kernels"]
    assert list(modelled) == list(measured)
    off = [abs(each["us"] / measured[name]["us"] - 1) for name, each in modelled.items() if each["us"]]
    page = " ".join(clock.PAGE.read_text(encoding="utf-8").split())
    said = f"mean error of {len(off)} predictions is {np.mean(off):.1%}, the median {np.median(off):.1%}"
    assert said.replace("%", " %") in page


def test_the_page_tells_how_far_it_is_from_the_lessons_kernels():
    _, *rows = clock.written("lessons")
    off = [abs(float(modelled) / float(measured) - 1) for _, _, measured, modelled, _ in rows]
    page = " ".join(clock.PAGE.read_text(encoding="utf-8").split())
    said = f"The {len(rows)} kernels of the lessons, 4096³, on an H100: mean error {np.mean(off):.1%}, "
    assert f"{said}{max(off):.0%} at most".replace("%", " %") in page


def test_the_turns_are_as_far_off_as_the_page_says():
    header, *rows = clock.written("timelines")
    off = [abs(float(row[header.index("model / recorded")]) - 1) for row in rows]
    assert f"Turns of {len(rows)} recorded timelines are off by {100 * np.mean(off):.1f} %" in " ".join(
        clock.PAGE.read_text(encoding="utf-8").split()
    )


MEMORY = {row[0]: row for row in clock.written("memory")[1:]}
KERNELS = {point.name: point for point in clock.memory_kernels.points()}


@pytest.mark.parametrize("name", one_in(12, KERNELS))
def test_the_clock_says_of_a_kernel_that_is_no_product_what_the_table_says(name):
    assert clock.memory([KERNELS[name]])[1] == MEMORY[name], "run python -m tools.author.clock"


def test_the_page_tells_how_far_it_is_from_kernels_that_are_no_products():
    assert set(MEMORY) == set(KERNELS) == set(clock.PREDICTED["kernels"]) == set(clock.TIMED["kernels"])
    timed, predicted = (
        {name: each["us"] for name, each in found["kernels"].items()}
        for found in (clock.TIMED, clock.PREDICTED)
    )
    assert all(MEMORY[name][1:3] == [f"{timed[name]:.1f}", f"{predicted[name]:.1f}"] for name in MEMORY)
    off = [abs(predicted[name] / timed[name] - 1) for name in timed]
    apart = [pair for pair in permutations(timed, 2) if 1.1 * timed[pair[0]] < timed[pair[1]]]
    wrong = sum(predicted[one] >= predicted[other] for one, other in apart)
    now = np.mean([abs(float(row[5]) - 1) for row in MEMORY.values()])
    page = " ".join(clock.PAGE.read_text(encoding="utf-8").split())
    for said in (
        f"{len(off)} such kernels were predicted before they were timed on an H200",
        f"mean error is {np.mean(off):.1%}, the median {np.median(off):.1%}",
        f"of {len(apart):,} pairs that are 10 % apart {wrong} stand in the wrong order",
        f"Now it is {now:.1%}",
    ):
        assert said.replace("%", " %").replace("  %", " %") in page, said
