"""What stands beside ptxsim/docs/clock.md is made from the records."""

import numpy as np

from tools.author import clock, marked


def test_the_predictions_are_those_that_were_committed():
    assert clock.written("put_aside") == clock.put_aside(), "run python -m tools.author.clock"
    modelled, measured = clock.MODELLED["kernels"], clock.MEASURED["kernels"]
    assert list(modelled) == list(measured)
    off = [abs(each["us"] / measured[name]["us"] - 1) for name, each in modelled.items() if each["us"]]
    page = " ".join(clock.PAGE.read_text(encoding="utf-8").split())
    said = f"mean error of {len(off)} predictions is {np.mean(off):.1%}, the median {np.median(off):.1%}"
    assert said.replace("%", " %") in page


def test_a_row_for_each_kernel_is_in_the_page():
    page = clock.PAGE.read_text(encoding="utf-8")
    rows = page.partition(clock.HEADER[-1])[2].partition("<!--")[0].strip().splitlines()
    assert page == marked.between(page, "lessons", "\n".join([*clock.HEADER, *rows]))
    times = [[float(cell) for cell in row.split("|")[3:5]] for row in rows]
    off = [abs(modelled / measured - 1) for measured, modelled in times]
    assert f"mean error {100 * np.mean(off):.1f} %" in page and len(off) == 30


def test_the_turns_are_as_far_off_as_the_page_says():
    header, *rows = clock.written("timelines")
    off = [abs(float(row[header.index("model / recorded")]) - 1) for row in rows]
    assert f"Turns of {len(rows)} recorded timelines are off by {100 * np.mean(off):.1f} %" in " ".join(
        clock.PAGE.read_text(encoding="utf-8").split()
    )
