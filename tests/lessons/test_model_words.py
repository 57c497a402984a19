"""What deeper/00_model says of the simulator's clock agrees with the clock's own page."""

import itertools
import re

import numpy as np

from course_lib.lessons import sources
from course_lib.measure.model import WITHIN

PAGE = (sources.NOTEBOOKS.parent / "ptxsim/docs/clock.md").read_text(encoding="utf-8")
SAID = (sources.NOTEBOOKS / "deeper/00_model.ipynb").read_text(encoding="utf-8")


def test_what_is_said_of_times_and_order_is_in_the_pages_table():
    """Its rows: lesson, kernel, ms on the H100 and of the model by machine code, their ratio, blocks, cycles."""
    number = r"([\d.,]+)"
    cells = r" \| ".join([r"(0\d)", r"(\w+)", number, number, number, r"\d", number])
    rows = re.findall(rf"^\| {cells} \|$", PAGE, re.MULTILINE)
    off = [abs(float(ratio) - 1) for *_, ratio, _ in rows]
    assert max(off) <= WITHIN
    said = f"within {100 * WITHIN:.0f} % of the time on an H100 for all {len(rows)} kernels of the lessons, "
    assert said + f"{100 * np.mean(off):.0f} % off on average" in SAID
    times = [(lesson, float(measured), float(modelled)) for lesson, _, measured, modelled, *_ in rows]
    wrong = [
        pair
        for pair in itertools.permutations(times, 2)
        if pair[0][0] == pair[1][0] and pair[0][1] > 1.05 * pair[1][1] and pair[0][2] <= pair[1][2]
    ]
    assert wrong == [] and "every pair inside a lesson that is 5 % apart on the H100 is in its order" in SAID


def test_what_is_said_of_turns_and_waits_is_in_the_pages_table():
    """Its rows: lesson, kernel, cycles of a turn recorded and modelled, their ratio, waits recorded and modelled."""
    rows = re.findall(
        r"^\| 0\d \| \w+ \| [\d,]+ \| [\d,]+ \| ([\d.]+) \| (\d+)% \| (\d+)% \|$", PAGE, re.MULTILINE
    )
    off = [abs(float(ratio) - 1) for ratio, *_ in rows]
    assert f"{100 * np.mean(off):.0f} % off on average, in {len(rows)} recorded timelines" in SAID
    near = sum(abs(int(recorded) - int(modelled)) <= 16 for _, recorded, modelled in rows)
    assert f"within 16 points of the record for {near} of the {len(rows)}" in SAID
