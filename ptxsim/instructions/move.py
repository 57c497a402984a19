"""Moves (PTX ISA: mov). Vector operands, `mov.b64 {a, b}, c` and back, are `unpack` and `pack`."""

from collections.abc import Sequence

import numpy as np

from ..ptx.opcode import DTYPES, Opcode
from .forms import BITS, FLOATS, INTEGERS, as_type, form, last, same, width
from .registry import Pure


@form("mov", "pred", *BITS, *INTEGERS, *FLOATS)
def mov(op: Opcode) -> Pure:
    """Copy a register, a constant or an address."""
    return same(np.copy, last(op), 1)


def pack(parts: Sequence[np.ndarray], kind: str) -> np.ndarray:
    """Join parts, the first one lowest, into one value of a bit type: `mov.b64 d, {a, b}`."""
    if kind == "b128":
        return np.ascontiguousarray(np.stack(np.broadcast_arrays(*parts), axis=1)).view(DTYPES[kind])[:, 0]
    bits = width(kind) // len(parts)
    result = DTYPES[kind].type(0)
    for i, part in enumerate(parts):
        result = result | as_type(part.view(f"u{bits // 8}"), kind) << bits * i
    return result


def unpack(x: np.ndarray, count: int) -> tuple[np.ndarray, ...]:
    """Cut a value of a bit type into `count` unsigned parts, the lowest first: `mov.b64 {d, e}, a`."""
    bits = x.itemsize * 8 // count
    if x.itemsize == 16:
        parts = np.ascontiguousarray(x).view(f"u{bits // 8}").reshape(-1, count)
        return tuple(np.ascontiguousarray(part) for part in parts.T)
    return tuple((x >> bits * i).astype(f"u{bits // 8}") for i in range(count))
