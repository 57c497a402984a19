"""The menu of plans for Hopper, chosen from times that are made up: what is known of them comes out again."""

import json
import math
from dataclasses import astuple, replace

import numpy as np

from matmul.hopper_plans import MENU, HopperPlan, cost, plans
from tools.author.hopper_fit import gathered, lines, menu_of, read
from tools.author.shapes import drawn

GOOD = {
    HopperPlan((128, 256), 4, 2): 0.9,
    HopperPlan((64, 128), 8, 4): 0.8,
    HopperPlan((192, 128), 4, 1, 2): 0.95,
}
"""With these factors they are the best for some problems each."""


def sweep(path):
    """A sweep's file: what takes as long as the rule says, but for a little, and the three good plans."""
    among = dict.fromkeys((*MENU, *GOOD))
    numbers = np.random.default_rng(0)
    found = []
    for shape in drawn(5, 200):
        times = []
        for one in plans(*shape, among):
            factor = GOOD.get(replace(one, split=1), 1.3) * numbers.uniform(1, 1.02)
            times.append([astuple(one), cost(one, *shape, factor=False) * factor])
        found.append([shape, 1000.0, times])
    path.write_text(json.dumps({"problems": found}))


def test_the_best_plans_and_their_factors(tmp_path):
    sweep(tmp_path / "one.json")
    times = gathered(read([str(tmp_path / "one.json")]))
    assert len(times.loss) > 1000 and times.loss.min() == 0
    found = menu_of(times, 30)
    assert len(found) == 30 and set(GOOD) <= set(found)
    ratios = [math.log(found[one] / GOOD[one]) for one in GOOD]
    assert max(ratios) - min(ratios) < 0.1
    factors = np.array([math.log(found.get(one, 1)) for one in times.menu])
    kept = np.array([one in found for one in times.menu])
    assert times.lost(times.chosen(factors, kept)) < 0.02
    # with what each plan was said to take before, more is lost
    assert times.lost(times.chosen(np.zeros_like(factors), kept)) > 0.02


def test_two_sweeps_are_one(tmp_path):
    sweep(tmp_path / "one.json")
    once, twice = (read([str(tmp_path / "one.json")] * times) for times in (1, 2))
    assert once.keys() == twice.keys()
    for shape, (theirs, times) in once.items():
        again = twice[shape]
        assert math.isclose(again[0], theirs) and again[1].keys() == times.keys()
        assert all(math.isclose(again[1][one], us) for one, us in times.items())


def test_the_lines_are_the_menu():
    text = "\n".join(lines(MENU))
    there = {}
    exec(f"from matmul.hopper_plans import menu\nMENU = {{\n{text}\n}}", there)
    assert there["MENU"] == MENU
