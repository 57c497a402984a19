"""The exercises of lesson 06 about fused epilogues: 06.4, and one more, in a ring."""

from collections.abc import Callable
from functools import partial
from math import erf, pi, sqrt
from typing import Any

import numpy as np

from cupy_or_sim.simulate import compiled, simulate
from ptxsim import Report
from ptxsim.observe.events import Load

from .common import MOST_STEPS, demand, demand_also, demand_kernel, demand_no_hazard, fail, untried_grids
from .untried import Untried

ROWS, COLUMNS = 6, 96
FLOAT, HALF = 2e-6, 5e-3
"""What a few roundings may add: of float32, and of a half below 16."""
CLOSE = 0.03
"""Relative: a result this near to the right one is GELU, computed or rounded in another way."""


def _share(x: np.ndarray) -> np.ndarray:
    """Of normally distributed numbers, those below x."""
    return 0.5 * (1 + np.vectorize(erf, otypes=[float])(x / sqrt(2)))


def _gelu(x: np.ndarray) -> np.ndarray:
    return x * _share(x)


def _tanh(x: np.ndarray) -> np.ndarray:
    return x * 0.5 * (1 + np.tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))


def _sigmoid(x: np.ndarray, factor: float) -> np.ndarray:
    return x / (1 + np.exp(-factor * x))


MISTAKES: list[tuple[str, str, Callable[[np.ndarray, np.ndarray], np.ndarray]]] = [
    ("bias-behind", "is GELU of the sum, and then the bias", lambda sum, bias: _gelu(sum) + bias),
    ("no-bias", "is GELU of the sum, without the bias", lambda sum, bias: _gelu(sum)),
    ("no-gelu", "is the sum and its bias, without GELU", lambda sum, bias: sum + bias),
    ("relu", "is ReLU", lambda sum, bias: np.maximum(sum + bias, 0)),
    ("twice", "is twice what it must be", lambda sum, bias: 2 * _gelu(sum + bias)),
    ("share", "is the share itself", lambda sum, bias: _share(sum + bias)),
    ("erf-of-x", "has erf(x)", lambda sum, bias: _gelu((sum + bias) * sqrt(2)) / sqrt(2)),
    ("erf-of-x-times-root", "has erf(√2 x)", lambda sum, bias: _gelu((sum + bias) * 2) / 2),
    ("erf-of-half-x", "has erf(x / 2)", lambda sum, bias: _gelu((sum + bias) / sqrt(2)) * sqrt(2)),
    ("no-1", "lacks the 1 of 1 + erf", lambda sum, bias: (sum + bias) * (_share(sum + bias) - 0.5)),
    ("silu", "is x sigmoid(x)", lambda sum, bias: _sigmoid(sum + bias, 1)),
    ("sigmoid", "is x sigmoid(1.702 x)", lambda sum, bias: _sigmoid(sum + bias, 1.702)),
    ("less-bias", "is GELU of the sum less the bias", lambda sum, bias: _gelu(sum - bias)),
]
"""(a word for what a wrong epilogue does, that in words, what it would then give). A hint for each stands below."""


def _wrong(given: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Where `given` is not `expected`, rounded to a half once. NaN is wrong."""
    step = np.spacing(np.abs(expected).astype(np.float16)).astype(np.float64)
    return ~(np.abs(given - expected) <= 0.51 * step + FLOAT)


def _epilogue(kernel: Any) -> None:
    """GELU of each sum and its column's bias, rounded to a half once."""
    demand_kernel(kernel)
    random = np.random.default_rng(0)
    x = random.permutation(np.linspace(-9, 9, ROWS * COLUMNS)).reshape(ROWS, COLUMNS)
    bias = random.uniform(-2, 2, COLUMNS).astype(np.float16)
    sums, C = (x - bias).astype(np.float32), np.full((ROWS, COLUMNS), np.nan, np.float16)
    report = simulate(kernel, (ROWS,), (32,), (sums, bias, C, np.int32(COLUMNS)), max_steps=100_000)
    demand_no_hazard(report)
    _demand_gelu(sums, bias, C)


def _demand_gelu(sums: np.ndarray, bias: np.ndarray, C: np.ndarray) -> None:
    """Of each sum and its column's bias, rounded to a half once; else raise what is known of what C holds."""
    both = sums.astype(np.float64), bias.astype(np.float64)
    added = both[0] + both[1]
    given, right = C.astype(np.float64), _gelu(added)
    wrong = _wrong(given, right)
    if not wrong.any():
        return
    for cause, mistake, formula in MISTAKES:
        same = np.allclose(given, formula(*both), rtol=1e-3, atol=HALF)
        demand(not same, f"what is stored {mistake}.", cause)
    demand(_wrong(given, _tanh(added)).any(), "what is stored is the form with tanh.", "tanh")
    i, j = np.argwhere(wrong)[0]
    where = f"for a sum of {sums[i, j]:.4f} and a bias of {bias[j]:.4f} it is {C[i, j]:.6g}"
    where += f", and must be {right[i, j]:.6g}"
    near = np.abs(given - right) <= CLOSE * np.abs(right) + 0.01
    some = f"{wrong.sum()} of {C.size} results"
    demand(not near.all(), f"{some} are near GELU, and not GELU rounded once: {where}.", "near")
    fail(f"{some} are wrong: {where}.")


def _is_gelu(sums: np.ndarray, bias: np.ndarray, C: np.ndarray) -> bool:
    """Whether C holds, roughly, GELU of these."""
    return np.allclose(C.astype(np.float64), _gelu(sums.astype(np.float64) + bias), rtol=1e-2, atol=HALF)


# --------------------------------------------------------------------------- 06.16: in a ring

TILE, SHARED_MEM = 64, 3 * 2 * 64 * 32 * 2
"""Rows and columns of C that a block makes; bytes of three slots."""
SHAPES = [(64, 64, 96), (61, 71, 40), (130, 66, 72), (1, 1, 8)]
"""(M, N, K): a whole tile first; then edges, more rows than columns, and one number."""
M, N = 4, 5
"""Of the kernel's parameters (A, B, bias, C, M, N, K)."""
OF_A_LANE = 16
"""Columns of C in which the sums of a lane stand."""


def _fused(answer: Any) -> None:
    """GELU at any size, out of the ring, each bias loaded once and no sum in local memory."""
    demand_kernel(answer)
    first, *_ = [_demand_layer(answer, *shape) for shape in SHAPES]
    ring = first.counters.total.mma and first.counters.total.cp_async
    demand(ring, "the numbers are right, but nobody copies or multiplies as the ring did.", "no-ring")
    loads = max(sum(isinstance(event, Load) for event in warp) for warp in first.events)
    text = f"right, but each lane loads {loads} times from `bias`, and its sums stand in {OF_A_LANE} columns."
    demand(loads <= OF_A_LANE, text, "loaded-again")
    local = compiled(answer).code.program.local_bytes
    text = f"right, and each bias is loaded once; but a thread has {local} bytes of local memory."
    demand(not local, text, "local-memory")
    for down, across in untried_grids(Untried(answer), (TILE, TILE), (3, 2), (M, N)):
        more = partial(_demand_layer, answer, TILE * down, TILE * across, 8)
        demand_also(more, f"right with few blocks, and not with {down} x {across}", "many-blocks")


def _demand_layer(answer: Any, rows: int, columns: int, k: int) -> Report:
    random = np.random.default_rng(rows + columns)
    A, B = (random.integers(-1, 2, (size, k)).astype(np.float16) for size in (rows, columns))
    bias = random.uniform(-2, 2, columns).astype(np.float16)
    sums, C = A.astype(np.float64) @ B.astype(np.float64).T, np.full((rows, columns), np.nan, np.float16)
    grid = -(-rows // TILE), -(-columns // TILE)
    args = A, B, bias, C, *map(np.int32, (rows, columns, k))
    report = simulate(answer, grid, (32,), args, SHARED_MEM, 8 * MOST_STEPS)
    demand_no_hazard(report)
    told = f"(M = {rows}, N = {columns}, K = {k})"
    never = np.isnan(C).sum()
    demand(not never, f"{never} of {C.size} results are never stored {told}.", "not-stored")
    if rows <= columns:
        of_its_row = _is_gelu(sums, bias[:rows, None], C) and rows > 1
        demand(not of_its_row, f"what is stored has the bias of its row {told}.", "bias-of-row")
    in_its_tile = columns > TILE and _is_gelu(sums, bias[np.arange(columns) % TILE], C)
    demand(
        not in_its_tile,
        f"what is stored has in each tile the biases of the first one {told}.",
        "bias-of-tile",
    )
    _demand_gelu(sums, bias, C)
    return report


EXERCISES = {"06.4": _epilogue, "06.16": _fused}
