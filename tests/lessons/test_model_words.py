"""What deeper/00_model says of the simulator's clock agrees with the clock's own page."""

import itertools
import re

from course_lib.lessons import sources


def test_what_is_said_of_the_model_is_in_its_table():
    """ptxsim/docs/clock.md has the times of the lessons' kernels, measured and modelled."""
    table = (sources.NOTEBOOKS.parent / "ptxsim/docs/clock.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (0\d) \| (\w+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| \d \|$", table, re.MULTILINE
    )
    ratios = {name: float(ratio) for _, name, _, _, ratio in rows}
    outside = {name for name, ratio in ratios.items() if not 0.76 <= ratio <= 1.35}
    pairs = [
        (float(slow[2]) / float(fast[2]), float(fast[3]) / float(slow[3]))
        for slow, fast in itertools.permutations(rows, 2)
        if slow[0] == fast[0] and float(slow[2]) > 1.05 * float(fast[2])
    ]
    wrong = [(measured, modelled) for measured, modelled in pairs if modelled >= 1]
    h100, model = (round(100 * max(gaps) - 100) for gaps in zip(*wrong, strict=True))
    said = (sources.NOTEBOOKS / "deeper/00_model.ipynb").read_text(encoding="utf-8")
    assert outside == {"naive"} and 2.9 < ratios["naive"] < 3.1 and len(wrong) == 5
    assert f"for {len(rows) - 1} of {len(rows)} kernels" in said
    assert f"gaps of up to {model} % in the model and {h100} % on the H100" in said
