"""Choose the menu of `matmul` for Hopper GPUs from timed plans: `python -m tools.author.hopper_fit COUNT SWEEP...`

Prints COUNT plans with a factor each, as matmul/hopper_plans.py has them, and what they lose. A SWEEP is a file of
hopper_sweep.py, or several of them: a rule that was fitted to one chooses plans that this one did not time, so sweep
again with each new menu, until it is right about problems that it has not seen.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from matmul.hopper_plans import HopperPlan, cost, plans
from matmul.plans import Shape

SPREAD = 0.03
"""Plans whose costs are so near each other count as chosen alike, while factors are fitted."""
HOLD = 10.0
"""How much a factor's logarithm is held at 0: what a plan with few times has is chance."""
STEPS, RATE = 300, 0.004
SLOW, DEAR = 0.9, 4.0
"""Choices slower than SLOW of cuBLAS cost so much more."""
FEWEST = 12
"""Times of a plan that is on the menu."""
UPRIGHT = 0.15
"""The weight of a problem once more without plans that turn C, which not every problem allows."""


@dataclass(frozen=True)
class Times:
    """Timed plans, problem by problem: of each row its problem, its plan, what the rule says without a factor (the
    logarithm of microseconds), how much it loses to the best and to SLOW of cuBLAS; of each problem its first row and
    its weight."""

    menu: Sequence[HopperPlan]
    problem: np.ndarray
    plan: np.ndarray
    expected: np.ndarray
    loss: np.ndarray
    first: np.ndarray
    weight: np.ndarray

    @cached_property
    def count(self) -> np.ndarray:
        """Times of each plan."""
        return np.bincount(self.plan, minlength=len(self.menu))

    def chosen(self, factors: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """The row that the rule chooses for each problem."""
        costs = np.where(kept[self.plan], self.expected + factors[self.plan], np.inf)
        least = np.minimum.reduceat(costs, self.first)[self.problem]
        rows = np.flatnonzero(costs == least)
        return rows[np.unique(self.problem[rows], return_index=True)[1]]

    def lost(self, rows: np.ndarray) -> float:
        """The mean of what these choices lose, a part of the time."""
        return float((self.weight * self.loss[rows]).sum() / self.weight.sum())


def read(files: Iterable[str]) -> dict[Shape, tuple[float, dict[HopperPlan, float]]]:
    """Of each problem cuBLAS's time, and each plan's; of several times the mean of their logarithms."""
    found: dict[Shape, tuple[list[float], dict[HopperPlan, list[float]]]] = {}
    for file in files:
        for shape, theirs, times in json.loads(Path(file).read_text(encoding="utf-8"))["problems"]:
            of_cublas, of_plans = found.setdefault(tuple(shape), ([], {}))
            of_cublas.append(theirs)
            for (tile, *rest), us in times:
                of_plans.setdefault(HopperPlan(tuple(tile), *rest), []).append(us)
    return {
        shape: (_mean(theirs), {one: _mean(us) for one, us in times.items()})
        for shape, (theirs, times) in found.items()
    }


def _mean(times: list[float]) -> float:
    return float(np.exp(np.mean(np.log(times))))


def gathered(problems: dict[Shape, tuple[float, dict[HopperPlan, float]]]) -> Times:
    """The rows of those plans that the rule allows."""
    rows: list[tuple[int, HopperPlan, float, float]] = []
    first, weight = [], []
    for shape, (theirs, times) in problems.items():
        allowed = set(plans(*shape, [replace(one, split=1) for one in times]))
        known = {one: us for one, us in times.items() if one in allowed}
        upright = {one: us for one, us in known.items() if not one.turned}
        for some, worth in ((known, 1.0), (upright, UPRIGHT)):
            if len(some) < 2:
                continue
            best, number = min(some.values()), len(first)
            first.append(len(rows))
            weight.append(worth)
            for one, us in some.items():
                slow = DEAR * max(SLOW - theirs / us, 0) * (worth == 1)
                rows.append((number, one, np.log(plain_cost(one, shape)), np.log(us / best) + slow))
    menu = sorted({replace(one, split=1) for _, one, _, _ in rows}, key=repr)
    place = {one: number for number, one in enumerate(menu)}
    problem, which, expected, loss = zip(*rows)
    plan = [place[replace(one, split=1)] for one in which]
    return Times(menu, *map(np.array, (problem, plan, expected, loss, first, weight)))


def plain_cost(one: HopperPlan, shape: Shape) -> float:
    """Microseconds by the rule, without the plan's factor."""
    return cost(one, *shape, factor=False)


def fitted(times: Times, kept: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Factors (logarithms) with which what is chosen loses little: steps down the slope of the mean loss, where each
    plan counts by how likely it is to be chosen."""
    mean, square = np.zeros_like(factors), np.zeros_like(factors)
    weight = times.weight[times.problem]
    for step in range(1, STEPS + 1):
        near = np.where(kept[times.plan], -(times.expected + factors[times.plan]) / SPREAD, -np.inf)
        near = np.exp(near - np.maximum.reduceat(near, times.first)[times.problem])
        likely = near / np.add.reduceat(near, times.first)[times.problem]
        all_lost = np.add.reduceat(likely * times.loss, times.first)[times.problem]
        slope = -weight * likely * (times.loss - all_lost) / SPREAD
        slope = np.bincount(times.plan, slope, len(factors)) + HOLD * factors
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        size = np.sqrt(square / (1 - 0.99**step)) + 1e-9
        factors = factors - RATE * (1 - 0.7 * step / STEPS) * mean / (1 - 0.9**step) / size
    return factors


def pruned(times: Times, kept: np.ndarray, factors: np.ndarray, count: int) -> np.ndarray:
    """So many plans: again and again those go without which least is lost."""
    kept = kept.copy()
    while (more := kept.sum() - count) > 0:
        rows = times.chosen(factors, kept)
        own = times.plan == times.plan[rows][times.problem]
        costs = np.where(kept[times.plan] & ~own, times.expected + factors[times.plan], np.inf)
        least = np.minimum.reduceat(costs, times.first)
        others = np.flatnonzero((costs == least[times.problem]) & np.isfinite(costs))
        second = np.full(len(rows), -1)
        second[times.problem[others][::-1]] = others[::-1]
        alone = second < 0  # the only one for this problem
        worse = times.weight * np.where(alone, np.inf, times.loss[second] - times.loss[rows])
        without = np.zeros(len(factors))
        np.add.at(without, times.plan[rows], worse)
        without[~kept] = np.inf
        kept[np.argsort(without, kind="stable")[: max(int(more) // 10, 1)]] = False
    return kept


def menu_of(times: Times, count: int) -> dict[HopperPlan, float]:
    """So many plans, each with its factor."""
    factors, kept = np.zeros(len(times.menu)), times.count >= min(FEWEST, times.count.max())
    for some in (4 * count, 2 * count, count, count):
        factors = fitted(times, kept, factors)
        kept = pruned(times, kept, factors, some)
    factors = fitted(times, kept, factors)
    print(
        f"{len(times.first)} choices of {len(times.loss)} times lose {times.lost(times.chosen(factors, kept)):.1%}"
    )
    return {times.menu[at]: round(float(np.exp(factors[at])), 3) for at in np.flatnonzero(kept)}


def lines(menu: dict[HopperPlan, float]) -> list[str]:
    """As hopper_plans.py has them."""
    found: dict[tuple, dict[tuple, float]] = {}
    for one, factor in menu.items():
        clusters = found.setdefault((one.turned, one.tile, one.slots), {})
        clusters[one.below, one.across, one.together] = factor
    return [
        f"    **menu({tile}, {slots}, {dict(sorted(clusters.items()))}{', turned=True' * turned}),"
        for (turned, tile, slots), clusters in sorted(found.items())
    ]


def main(count: int, *files: str) -> None:
    print("\n".join(lines(menu_of(gathered(read(files)), count))))


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
