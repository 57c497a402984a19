"""What a notebook's own figures are drawn with: one style, one set of colours, and a description in words for each.

pictures                 what lanes do to banks and sectors
cells, fragment_charts   drawings made of cells; who holds what of a fragment
race_chart               a race, as two orders of one launch
explore, explore_chart   figures to drag: a pipeline, a hand-over
figures                  those of single lessons, by name: `figure("02.turn")`
"""

from cupy_or_sim.style import (
    BLUE,
    FACE,
    GREEN,
    GRID,
    ORANGE,
    PURPLE,
    SKY,
    TEXT,
    VERMILLION,
    axes,
    new_figure,
    show,
    styled,
)
from ptxsim import fragment

from .explore import handover, pipeline, schedule
from .figures import figure
from .pictures import bank_picture, fragment_picture, ldmatrix_picture, sector_picture
from .race_chart import orders

__all__ = [
    "BLUE", "FACE", "GREEN", "GRID", "ORANGE", "PURPLE", "SKY", "TEXT", "VERMILLION", "axes", "bank_picture",
    "figure", "fragment", "fragment_picture", "handover", "ldmatrix_picture", "new_figure", "orders", "pipeline",
    "schedule", "sector_picture", "show", "styled",
]  # fmt: skip
