"""Improve the menu of `matmul` for Hopper GPUs by timed plans: `python -m research.matmul_fit MORE SWEEP...`

Prints the plans of matmul/hopper_menu.json with factors fitted anew, up to MORE others that gain most, and not those
that are never chosen; and what the menu loses before and after. A SWEEP is a file of matmul_sweep.py; a problem that
stands in several, or in one that is named twice, counts as often. What is chosen and was not timed counts as a little
slower than what the menu chose before: sweep again with each new menu, until it is right about problems that it has
not seen.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from matmul.hopper_plans import MENU, HopperPlan, cost, plans
from matmul.plans import Shape

SLOW, DEAR = 0.9, 6.0
"""Choices slower than SLOW of cuBLAS cost so much more."""
UNKNOWN = 0.01
"""What a choice that was not timed loses, beyond what the menu's choice loses."""
FEWEST = 8
"""Times of a plan that may come on the menu."""
UPRIGHT = 0.15
"""The weight of a problem once more without plans that turn C, which not every problem allows."""
FACTORS = np.log(np.arange(0.8, 1.45, 0.005))
PASSES = 3


class Timed(NamedTuple):
    """A problem's times, in microseconds: cuBLAS's, each plan's; and how often it was timed."""

    theirs: float
    ours: Mapping[HopperPlan, float]
    often: int


def read(files: Iterable[str]) -> dict[Shape, Timed]:
    """Of several times the mean of their logarithms."""
    found: dict[Shape, tuple[list[float], dict[HopperPlan, list[float]]]] = {}
    for file in files:
        for shape, theirs, times in json.loads(Path(file).read_text(encoding="utf-8"))["problems"]:
            of_peer, of_plans = found.setdefault(tuple(shape), ([], {}))
            of_peer.append(theirs)
            for (tile, *rest), us in times:
                of_plans.setdefault(HopperPlan(tuple(tile), *rest), []).append(us)
    return {
        shape: Timed(_mean(theirs), {one: _mean(us) for one, us in times.items()}, len(theirs))
        for shape, (theirs, times) in found.items()
    }


def _mean(times: list[float]) -> float:
    return float(np.exp(np.mean(np.log(times))))


@dataclass
class Fit:
    """Plans with a factor each (its logarithm), those that are kept on the menu, and for each problem (a row) and plan
    (a column) what the rule says without a factor, the logarithm of microseconds, and what that choice would lose: to
    the best that was timed, and to SLOW of cuBLAS."""

    plans: Sequence[HopperPlan]
    factors: np.ndarray
    kept: np.ndarray
    costs: np.ndarray
    losses: np.ndarray
    weights: np.ndarray

    def chosen(self, without: int | None = None) -> np.ndarray:
        """The column that the rule chooses in each row."""
        columns = np.flatnonzero(self.kept)
        columns = columns[columns != without]
        return columns[(self.costs[:, columns] + self.factors[columns]).argmin(1)]

    def lost(self) -> float:
        """The mean of what the choices lose."""
        return float(self.weights @ self._of(self.losses, self.chosen()))

    @staticmethod
    def _of(what: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return what[np.arange(len(what)), columns]

    def best_factor(self, plan: int) -> tuple[float, float]:
        """What is lost less with this plan on the menu than without it, below zero, and the factor that makes it so:
        as the factor falls, one row after the other changes over to it."""
        others = self.chosen(without=plan)
        change = self._of(self.costs, others) + self.factors[others] - self.costs[:, plan]
        rows = np.argsort(-change)
        gains = np.cumsum((self.weights * (self.losses[:, plan] - self._of(self.losses, others)))[rows])
        counts = np.searchsorted(-change[rows], -FACTORS)
        after = np.where(counts > 0, gains[counts - 1], 0)
        best = int(after.argmin())
        return float(after[best]), float(FACTORS[best])

    def tune(self) -> None:
        """Each plan's factor anew, where that helps."""
        for plan in np.flatnonzero(self.kept):
            before, factor = self.lost(), self.factors[plan]
            self.factors[plan] = self.best_factor(plan)[1]
            if self.lost() >= before:
                self.factors[plan] = factor

    def widen(self, more: int) -> None:
        """So many plans more, each the one that helps most."""
        for _ in range(more):
            (gain, factor), plan = min((self.best_factor(plan), plan) for plan in np.flatnonzero(~self.kept))
            if gain >= 0:
                break
            self.kept[plan], self.factors[plan] = True, factor


def gathered(problems: Mapping[Shape, Timed], menu: Mapping[HopperPlan, float]) -> Fit:
    """The menu, and what is known of other plans."""
    times = Counter(replace(one, split=1) for timed in problems.values() for one in timed.ours)
    others = [one for one, count in times.items() if one not in menu and count >= FEWEST]
    every = [*menu, *others]
    costs = np.full((len(problems), len(every)), np.inf)
    losses = np.full_like(costs, np.nan)
    place = {one: number for number, one in enumerate(every)}
    for row, (shape, timed) in enumerate(problems.items()):
        best = min(timed.ours.values())
        for one in plans(*shape, every):
            column, expected = place[replace(one, split=1)], np.log(cost(one, *shape, factor=False))
            if expected < costs[row, column] and not (one.turned and shape[1] % 8):
                us = timed.ours.get(one, np.nan)
                costs[row, column] = expected
                losses[row, column] = np.log(us / best) + DEAR * np.maximum(SLOW - timed.theirs / us, 0)
    turned = np.array([one.turned for one in every])
    costs, losses = np.vstack([costs, np.where(turned, np.inf, costs)]), np.vstack([losses, losses])
    often = np.array([timed.often for timed in problems.values()], float)
    weights = np.concatenate([often, UPRIGHT * often])
    factors = np.log([menu.get(one, 1.0) for one in every])
    fit = Fit(
        every, factors, np.array([one in menu for one in every]), costs, losses, weights / weights.sum()
    )
    now = Fit._of(losses, fit.chosen())
    now = np.where(np.isnan(now), np.nanmedian(now), now)
    fit.losses = np.where(np.isnan(losses), now[:, None] + UNKNOWN, losses)
    fit.losses[np.arange(len(now)), fit.chosen()] = now
    return fit


def improved(fit: Fit, more: int) -> dict[HopperPlan, float]:
    """The menu with so many plans more, and no more than are chosen; each with its factor."""
    before = fit.lost()
    fit.tune()
    fit.widen(more)
    for _ in range(1, PASSES):
        fit.tune()
    used = np.unique(fit.chosen())
    print(f"lost, with what slow choices cost: {before:.1%}, now {fit.lost():.1%}; {len(used)} plans")
    return {fit.plans[column]: round(float(np.exp(fit.factors[column])), 3) for column in used}


def rows(menu: Mapping[HopperPlan, float]) -> list[str]:
    """As matmul/hopper_menu.json has them."""
    return [
        json.dumps([*one.tile, one.slots, one.below, one.across, one.together, one.turned, factor])
        for one, factor in sorted(
            menu.items(), key=lambda each: (each[0].turned, each[0].tile, each[0].slots)
        )
    ]


def main(more: int, *files: str) -> None:
    print(",\n".join(rows(improved(gathered(read(files), MENU), more))))


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
