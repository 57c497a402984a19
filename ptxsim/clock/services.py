"""When units of an SM work for one block, by when its warps issued their instructions.

What a unit does is done in the order of the instructions that ask for it, at the unit's own rate; how long requests of
other blocks hold it up is not counted.
"""

from collections.abc import Sequence
from typing import get_args

from ..gpus import SUB_CORES
from .core import Op, Unit
from .memory import Rates

Spans = dict[str, list[tuple[float, float]]]
"""Unit -> [begin, end] of each use, in cycles."""
UNITS: tuple[Unit, ...] = get_args(Unit)
OF_A_SUB_CORE = frozenset(["arithmetic", "tensor cores"])
"""Those of the first one are shown."""
PAUSE = 24.0
"""Cycles: what is shorter is no pause of a unit."""


def spans_of(warps: Sequence[Sequence[Op]], times: Sequence[Sequence[float]], rates: Rates) -> Spans:
    """`warps`: what those of the block issue, the first on the first sub-core; `times`: when."""
    asked: dict[str, list[tuple[float, float]]] = {unit: [] for unit in UNITS}
    for number, (ops, issued) in enumerate(zip(warps, times)):
        for op, time in zip(ops, issued):
            for unit, cycles in op.asks(rates):
                if unit not in OF_A_SUB_CORE or number % SUB_CORES == 0:
                    asked[unit].append((time, cycles))
    return {unit: _served(sorted(found)) for unit, found in asked.items() if found}


def _served(asked: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """One request after the other, each as soon as it is made and the unit is free."""
    spans: list[tuple[float, float]] = []
    free = 0.0
    for time, cycles in asked:
        begin = max(time, free)
        if spans and begin - free < PAUSE:
            spans[-1] = spans[-1][0], begin + cycles
        else:
            spans.append((begin, begin + cycles))
        free = begin + cycles
    return spans
