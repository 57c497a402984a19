"""Points that a script in tests/golden measured on a GPU, beside the clock."""

import json
from collections.abc import Callable
from types import ModuleType

import numpy as np


def measured(record: ModuleType) -> list[dict]:
    """The points in the file of this script: its parameters, and what it measured."""
    return json.loads((record.HERE / record.FILE).read_text(encoding="utf-8"))["points"]


def named(point: dict) -> str:
    """For the name of a test."""
    return "-".join(map(str, point.values()))


def table(points: list[dict], modelled: Callable[..., float], what: str = "cycles", digits: int = 0) -> None:
    """Print each point, what the clock says, and how far off that is."""
    errors = []
    for point in points:
        says = modelled(**point)
        errors.append(says / point[what] - 1)
        print(*point.values(), f"{says:.{digits}f} {errors[-1]:+.1%}", flush=True)
    print(f"{len(errors)} points, mean error {np.abs(errors).mean():.1%}, most {np.abs(errors).max():.1%}")
