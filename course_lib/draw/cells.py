"""Drawings made of cells, one for each bank, element or chunk; and the lanes of one warp that they show."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cupy_or_sim import style
from ptxsim import NO_LANE
from ptxsim.gpus import WARP


def one_warp(offsets: Sequence[int], size: int) -> np.ndarray:
    """Byte offsets of 32 lanes, NO_LANE where one takes no part. Raises ValueError for what no warp can do."""
    given = np.asarray(offsets, np.int64).reshape(-1)
    if size not in (1, 2, 4, 8, 16) or (given[given >= 0] % size).any():
        raise ValueError(
            f"a lane moves 1, 2, 4, 8 or 16 bytes, at a multiple of them; got {size} at {offsets}"
        )
    if len(given) > WARP or not (given >= 0).any():
        raise ValueError(f"offsets are those of 1 to {WARP} lanes, in bytes; got {offsets}")
    return np.pad(np.where(given < 0, NO_LANE, given), (0, WARP - len(given)), constant_values=NO_LANE)


def counted(number: int, thing: str) -> str:
    """ "1 register", "2 registers"."""
    return f"{number} {thing}" + ("" if number == 1 else "s")


def grid(figure: style.Figure, width: int, height: int, every: int = 1) -> style.Axes:
    """Axes of width x height cells, the first one at the top left."""
    axes = style.axes(figure)
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.set_xticks(np.arange(0, width, every) + 0.5, range(0, width, every))
    axes.set_yticks(np.arange(0, height, every) + 0.5, range(0, height, every))
    return axes


def write(axes: style.Axes, x: float, y: float, text: Any, **look: Any) -> None:
    """Write into the cell in column x, row y."""
    axes.text(x + 0.5, y + 0.53, text, ha="center", va="center", **look)
