"""Instruments that one or two lessons use: `from course_lib.instruments import show_k_blocks`."""

from cupy_or_sim.headers import in_one_piece

from .lessons.sources import body
from .matmul.comparisons import (
    bias_and_relu,
    in_pieces,
    layer_times,
    noted,
    persistent_times,
    sms_at_work,
    stream_k_times,
)
from .matmul.single import at_any_size, check_finish, parts, product, sectors_of_a_layer, tried, whole_numbers
from .measure.full_unit import full_units
from .measure.k_block import k_block, show_k_blocks
from .measure.loads_ahead import loads_ahead, show_loads_ahead
from .measure.pauses import pause, tile_of
from .measure.tensor_share import tensor_shares

__all__ = [
    "at_any_size",
    "bias_and_relu",
    "body",
    "check_finish",
    "full_units",
    "in_one_piece",
    "in_pieces",
    "k_block",
    "layer_times",
    "loads_ahead",
    "noted",
    "parts",
    "pause",
    "persistent_times",
    "product",
    "sectors_of_a_layer",
    "show_k_blocks",
    "show_loads_ahead",
    "sms_at_work",
    "stream_k_times",
    "tensor_shares",
    "tile_of",
    "tried",
    "whole_numbers",
]
