"""Points that were measured on a GPU, of a kernel in tests/kernels/timed."""

import json
from types import ModuleType


def measured(timed: ModuleType) -> list[dict]:
    """The points of this kernel: its parameters, and what it measured."""
    return json.loads(timed.FILE.read_text(encoding="utf-8"))["points"]


def named(point: dict) -> str:
    """For the name of a test."""
    return "-".join(map(str, point.values()))
