"""The exercise of lesson 06's sitting about fused epilogues."""

from collections.abc import Callable
from math import erf, pi, sqrt
from typing import Any

import numpy as np

from cupy_or_sim.simulate import simulate

from .common import demand, demand_kernel, demand_no_hazard, fail

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


EXERCISES = {"06.4": _epilogue}
