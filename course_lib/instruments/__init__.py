"""Instruments that one or two lessons use: `from course_lib.instruments import waves, profile, show_k_blocks`.

waves, spans, span_chart   which SM works on what
timed                      calls compared, such as `matmul` with cuBLAS; a launch that is no GEMM, modelled
profile, full_unit         what Nsight Compute counts, and which unit is full
sass, order, loads_ahead   machine code beside its source, and in which order it stands
bubbles                    where every cycle went, by source line and reason; by Nsight Compute or modelled
k_block                    what a warp does for one k-block, counted
checklist, evidence        twelve properties of a good kernel, ticked
tensor_share, pauses       when the tensor cores work, and where they rest
single                     one kernel of `matmul` by itself: to break it, to count and to time it
programs                   a whole program run, its kernels in the simulator
comparisons                lesson 06's kernels beside each other, `matmul` and cuBLAS
"""

from cupy_or_sim.headers import in_one_piece

from ..lessons.sources import body
from ..measure.ncu import ncu
from .bubbles import bubbles
from .checklist import checklist
from .comparisons import (
    bias_and_relu,
    in_pieces,
    layer_times,
    noted,
    persistent_times,
    sms_at_work,
    stream_k_times,
)
from .full_unit import full_units
from .k_block import k_block, show_k_blocks
from .loads_ahead import loads_ahead, show_loads_ahead
from .pauses import pause, tile_of
from .profile import profile
from .programs import run_program
from .sass import sass
from .single import at_any_size, check_finish, parts, product, sectors_of_a_layer, tried, whole_numbers
from .spans import spans
from .tensor_share import tensor_shares
from .timed import modelled_us, timed
from .waves import waves

__all__ = [
    "at_any_size",
    "bias_and_relu",
    "body",
    "bubbles",
    "check_finish",
    "checklist",
    "full_units",
    "in_one_piece",
    "in_pieces",
    "k_block",
    "layer_times",
    "loads_ahead",
    "modelled_us",
    "ncu",
    "noted",
    "parts",
    "pause",
    "persistent_times",
    "product",
    "profile",
    "run_program",
    "sass",
    "sectors_of_a_layer",
    "show_k_blocks",
    "show_loads_ahead",
    "sms_at_work",
    "spans",
    "stream_k_times",
    "tensor_shares",
    "tile_of",
    "timed",
    "tried",
    "waves",
    "whole_numbers",
]
