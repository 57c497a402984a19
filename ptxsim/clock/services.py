"""When units of an SM work for one block, by when its warps issued their instructions.

What a unit does is done in the order of the instructions that ask for it, at the unit's own rate; how long requests of
other blocks hold it up is not counted.
"""

from collections.abc import Sequence

from ..gpus import SECTOR, SUB_CORES
from .costs import (
    BULK,
    BULK_SHARE,
    BULK_STORE,
    COPY,
    FMA,
    LOAD,
    MEMORY,
    PRODUCT,
    SHARED,
    STORE,
    TENSOR,
    VARIABLE,
    Op,
)
from .sm import Rates

Spans = dict[str, list[tuple[float, float]]]
"""Unit -> [begin, end] of each use, in cycles."""
ARITHMETIC, TENSOR_CORES, SHARED_MEMORY, L2, STORES = UNITS = (
    "arithmetic", "tensor cores", "shared memory", "L2", "stores",
)  # fmt: skip
"""The FMA units and the tensor cores of the first sub-core, the port of shared memory and L1, the SM's way from L2, and
to it."""
PAUSE = 24.0
"""Cycles: what is shorter is no pause of a unit."""


def spans_of(warps: Sequence[Sequence[Op]], times: Sequence[Sequence[float]], rates: Rates) -> Spans:
    """`warps`: what those of the block issue, the first on the first sub-core; `times`: when."""
    asked: dict[str, list[tuple[float, float]]] = {unit: [] for unit in UNITS}
    for number, (ops, issued) in enumerate(zip(warps, times)):
        for op, time in zip(ops, issued):
            for unit, cycles in _asks(op, rates, number % SUB_CORES == 0):
                asked[unit].append((time, cycles))
    return {unit: _served(sorted(found)) for unit, found in asked.items() if found}


def _asks(op: Op, rates: Rates, first_core: bool) -> list[tuple[str, float]]:
    """The units that an instruction asks for, and for how many cycles of each."""
    sectors = SECTOR * len(op.sectors)
    if op.pipe == FMA or op.pipe == TENSOR or op.kind == PRODUCT:
        halves = rates.costs.fma_halves
        unit, cycles = (ARITHMETIC, op.interval / halves) if op.pipe == FMA else (TENSOR_CORES, op.interval)
        return [(unit, cycles)] if first_core else []
    if op.kind == SHARED or (op.kind == VARIABLE and op.pipe == MEMORY):
        return [(SHARED_MEMORY, op.amount)]
    if op.kind in (COPY, LOAD):
        through_port = [(SHARED_MEMORY, op.amount)] if op.amount else []
        return [*through_port, (L2, sectors / rates.l2_bytes)]
    if op.kind == BULK:
        return [(L2, BULK_SHARE * op.interval * op.amount / rates.l2_bytes)]
    if op.kind == STORE:
        return [(SHARED_MEMORY, op.amount), (STORES, SECTOR * op.latency / rates.store_bytes)]
    if op.kind == BULK_STORE:
        return [(SHARED_MEMORY, op.amount / 128), (STORES, op.amount / rates.store_bytes)]
    return []


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
