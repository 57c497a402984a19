"""The shadow of a launch that is only computed (`Flags.judged`): nobody looks."""

from typing import Any

import numpy as np

from .shadow import NOBODY, Race, Shadow


def _ignore(*_: Any, **__: Any) -> None: ...


class Unwatched(Shadow):
    """It hears of all accesses, and keeps none."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.dependent = None

    leave_to_system = _ignore
    on_access = on_read_only = on_clash = on_chance = _ignore
    on_issue = on_flight = on_land = on_update = on_changed = on_late_arrival = _ignore
    on_async_read = on_async_touch = on_begin_of_read = on_read_over = on_late_read = empty = _ignore

    def on_start(self, *_: Any) -> int:
        return 0

    def writers(self, unit: np.ndarray, size: int) -> np.ndarray:
        return np.full(len(unit), NOBODY)

    def flights(self, unit: np.ndarray) -> np.ndarray:
        return np.zeros(len(unit), int)

    def unwritten(self, unit: np.ndarray, size: int) -> np.ndarray:
        return np.zeros((len(unit), size), bool)

    def unfenced(self, *_: Any) -> list[Race]:
        return []
