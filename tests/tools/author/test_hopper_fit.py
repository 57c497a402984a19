"""The menu of plans for Hopper, improved by times that are made up: what is known of them comes out again."""

import json
import math
from dataclasses import astuple, replace

import numpy as np

from matmul.hopper_plans import MENU, HopperPlan, cost, plans
from tests.sample import in_long
from tools.author.hopper_fit import gathered, improved, lines, read
from tools.author.shapes import drawn

pytestmark = in_long

GOOD = {
    HopperPlan((128, 256), 4, 2): 0.9,
    HopperPlan((64, 128), 8, 4): 0.8,
    HopperPlan((192, 128), 4, 1, 2): 0.95,
}
"""With these factors they are the best for some problems each."""
START = dict.fromkeys([one for one in MENU if one not in GOOD][::3], 1.3)
"""A menu that has none of them, with what all others take."""


def sweep(path, among=(*START, *GOOD), seed=5):
    """A sweep's file: what takes as long as the rule says, but for a little, and the three good plans."""
    numbers = np.random.default_rng(0)
    found = []
    for shape in drawn(seed, 100):
        times = []
        for one in plans(*shape, dict.fromkeys(among)):
            factor = GOOD.get(replace(one, split=1), 1.3) * numbers.uniform(1, 1.02)
            times.append([astuple(one), cost(one, *shape, factor=False) * factor])
        found.append([shape, 1000.0, times])
    path.write_text(json.dumps({"problems": found}))
    return str(path)


def test_the_best_plans_and_their_factors(tmp_path):
    fit = gathered(read([sweep(tmp_path / "one.json")]), START)
    before = fit.lost()
    found = improved(fit, 3)
    assert set(GOOD) <= set(found) and len(found) <= len(START) + 3
    assert all(abs(found[one] / factor - 1) < 0.1 for one, factor in GOOD.items())
    assert before > 0.1 and fit.lost() < 0.05


def test_what_was_not_timed_is_no_gain(tmp_path):
    """Good plans on the menu, of which no time is known: with no factor do they help."""
    file = sweep(tmp_path / "one.json", START)
    fit = gathered(read([file]), START | dict.fromkeys(GOOD, 3.0))
    for plan in (fit.plans.index(one) for one in GOOD):
        assert fit.best_factor(plan)[0] >= 0


def test_a_sweep_named_twice_counts_twice(tmp_path):
    one, other = sweep(tmp_path / "one.json"), sweep(tmp_path / "other.json", seed=6)
    once, twice = read([one, other]), read([one, one, other])
    assert once.keys() == twice.keys()
    for shape, (theirs, times, often) in once.items():
        again = twice[shape]
        assert math.isclose(again.theirs, theirs) and again.often == often + (shape in read([one]))
        assert all(math.isclose(again.ours[plan], us) for plan, us in times.items())
    assert math.isclose(gathered(twice, START).weights[0], 2 / 3 / 100 / 1.15)


def test_the_lines_are_the_menu():
    text = "\n".join(lines(MENU))
    there = {}
    exec(f"from matmul.hopper_plans import menu\nMENU = {{\n{text}\n}}", there)
    assert there["MENU"] == MENU
