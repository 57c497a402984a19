"""Instruments that one or two lessons use: `from course_lib.instruments import show_k_blocks`."""

from .measure.k_block import k_block, show_k_blocks
from .measure.loads_ahead import loads_ahead, show_loads_ahead

__all__ = ["k_block", "loads_ahead", "show_k_blocks", "show_loads_ahead"]
