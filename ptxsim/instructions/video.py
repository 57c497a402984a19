"""SIMD video instructions (PTX ISA: SIMD Video Instructions): vabsdiff2 and vabsdiff4, of a family of eighteen.

NVRTC emits these two for `__vabsdiffu4`, `__vsadu2` and their kin, and other instructions for all other intrinsics.
"""

import numpy as np

from ..ptx.opcode import Opcode, UnsupportedInstruction
from .forms import as_type
from .registry import Pure, pure


@pure("vabsdiff2")
def vabsdiff2(op: Opcode) -> Pure:
    return _absolute_difference(op, 16)


@pure("vabsdiff4")
def vabsdiff4(op: Opcode) -> Pure:
    return _absolute_difference(op, 8)


def _absolute_difference(op: Opcode, bits: int) -> Pure:
    """|a - b| of each part of a word; with .add the sum of them plus c. (c is for masks, which are not simulated.)"""
    op.only("add")
    if op.types != ("u32", "u32", "u32"):
        raise UnsupportedInstruction(f"{op.text}: only unsigned parts are simulated (.u32.u32.u32)")

    def compute(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        result = c if op.has("add") else np.zeros(1, np.uint32)
        for shift in range(0, 32, bits):
            x, y = (as_type(word >> shift, f"u{bits}").astype(np.uint32) for word in (a, b))
            difference = np.maximum(x, y) - np.minimum(x, y)
            result = result + (difference if op.has("add") else difference << shift)
        return result

    return Pure(compute, op.types, ("u32",))
