"""Matrices in shared memory that a descriptor tells of (PTX ISA, "Shared Memory Matrix Layout").

A descriptor is here as wgmma takes it: bits 0 to 13 the first byte, 16 to 29 and 32 to 45 two distances, all in 16
bytes, and bits 62 and 63 the swizzle.
"""

from functools import cache

import numpy as np

from ..ground.memory import in_bytes
from ..units.async_reads import CHUNK
from ..units.mbarriers import Hopper
from .elements import values

K_BYTES = 32
"""Of a row, or a column, that one instruction takes."""
KINDS = {"f16": 2, "bf16": 2, "tf32": 4, "e4m3": 1, "e5m2": 1}
"""Types of A and B, and the bytes of an element."""
SWIZZLE_BYTES = (0, 128, 64, 32)
"""By the two highest bits of a descriptor (PTX ISA, "Matrix Descriptor Format")."""


def matrix(
    machine: Hopper, descriptor: int, rows: int, kind: str, trans: bool, base: int
) -> tuple[np.ndarray, np.ndarray, str]:
    """A matrix (rows, k) of the block whose shared memory begins at chunk `base` (outside: zeros), as float64; the
    chunks of 16 bytes that it lies in; and in words what of it lies outside, or ""."""
    data, inside, beyond = fetched(machine, chunks_of(descriptor, rows, KINDS[kind], trans), base)
    numbers = values(data.view(np.uint8).reshape(*data.shape, CHUNK), kind)
    numbers = numbers.reshape(data.shape[0], -1)
    if beyond:
        return (numbers.T if trans else numbers), np.unique(inside), beyond
    return (numbers.T if trans else numbers), _sorted_chunks(descriptor, rows, KINDS[kind], trans) + base, ""


def fetched(machine: Hopper, chunks: np.ndarray, base: int) -> tuple[np.ndarray, np.ndarray, str]:
    """What these chunks of a block hold (outside: zeros); those that lie in its memory; and in words what does not."""
    outside, beyond = chunks >= machine.shared.stride // CHUNK, ""
    if outside.any():
        beyond = (
            f"byte {int(chunks.max()) * CHUNK} of shared memory, of which the block has "
            f"{in_bytes(machine.shared.size)}"
        )
    chunks = np.where(outside, 0, chunks) + base
    data = np.ascontiguousarray(machine.shared.memory.units(CHUNK)[chunks])
    data[outside] = 0
    return data, chunks[~outside], beyond


@cache
def _sorted_chunks(descriptor: int, rows: int, itemsize: int, trans: bool) -> np.ndarray:
    """Each of them once."""
    return np.unique(chunks_of(descriptor, rows, itemsize, trans))


@cache
def chunks_of(descriptor: int, rows: int, itemsize: int, trans: bool) -> np.ndarray:
    """Where the chunks of a matrix lie: (rows, 2) of them along k, or, of a matrix that is contiguous along its rows,
    (k, rows / 8)."""
    start = (descriptor & 0x3FFF) * CHUNK
    leading, stride = ((descriptor >> shift & 0x3FFF) * CHUNK for shift in (16, 32))
    width = SWIZZLE_BYTES[descriptor >> 62]
    if trans:
        k, u = np.arange(K_BYTES // itemsize)[:, None], np.arange(rows * itemsize // CHUNK)[None, :]
        if width:
            each = width // CHUNK
            place = u % each * CHUNK + u // each * leading + k % 8 * width + k // 8 * stride
        else:
            place = u * stride + k % 8 * CHUNK + k // 8 * leading
    else:
        row, half = np.arange(rows)[:, None], np.arange(K_BYTES // CHUNK)[None, :]
        if width:
            place = row % 8 * width + row // 8 * stride + half * CHUNK
        else:
            place = row % 8 * CHUNK + row // 8 * stride + half * leading
    chunk = (start + place) // CHUNK
    return chunk ^ (chunk >> 3 & (width // CHUNK - 1 if width else 0))
