"""Products of matrices as cuBLAS makes them: by NumPy, in the place of its kernels, which nobody may read."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..ground.memory import in_bytes
from . import errors
from .arena import Allocation
from .context import Context
from .orders import Piece
from .sites import mark
from .wire import Answer

BF16 = 14
"""Of cudaDataType: NumPy has no such numbers."""
TYPES = {0: np.float32, 1: np.float64, 2: np.float16, 3: np.int8, 10: np.int32, BF16: np.uint16}
"""By the numbers of cudaDataType."""


@dataclass
class Matrix:
    """One that lies column by column, `step` numbers from one to the next; the first of several, `stride` numbers
    apart. `name`: what cuBLAS calls it."""

    name: str
    address: int
    kind: int
    step: int
    stride: int
    rows: int
    columns: int

    @property
    def itemsize(self) -> int:
        return np.dtype(TYPES[self.kind]).itemsize

    @property
    def span(self) -> int:
        """Bytes from its first number to the end of its last."""
        return ((self.columns - 1) * self.step + self.rows) * self.itemsize

    def at(self, number: int) -> int:
        return self.address + number * self.stride * self.itemsize

    def of(self, found: Allocation, number: int) -> np.ndarray:
        """Its numbers where they lie, rows x columns."""
        first = self.at(number) - found.address
        numbers = found.memory.data[first : first + self.span].view(TYPES[self.kind])
        steps = self.itemsize, self.step * self.itemsize
        return as_strided(numbers, (self.rows, self.columns), steps)

    def parts(self, number: int) -> list[tuple[int, int]]:
        """Where its numbers lie without a gap: addresses and bytes."""
        if self.step == self.rows or self.columns == 1:
            return [(self.at(number), self.span)]
        size = self.rows * self.itemsize
        return [(self.at(number) + c * self.step * self.itemsize, size) for c in range(self.columns)]


def _matrix(name: str, given: list[int], rows: int, columns: int) -> Matrix:
    address, kind, step, stride = given
    return Matrix(name, address, kind, step, stride, rows, columns)


class _NotThere(Exception):
    """A matrix cannot lie where it should, with the words why."""


class Blas:
    """Answers to a program that multiplies matrices."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def gemm(self, stream: int, site: int, *numbers: int, data: bytes) -> Answer:
        """C = alpha op(A) op(B) + beta C, so many times."""
        call, context = data.decode(), self.context
        context.see(site)
        if context.lost:
            return Answer(context.lost)
        turn_a, turn_b, m, n, k, times, alpha, beta, *of_matrices = numbers
        a = _matrix("A", of_matrices[0:4], *((k, m) if turn_a else (m, k)))
        b = _matrix("B", of_matrices[4:8], *((n, k) if turn_b else (k, n)))
        c = _matrix("C", of_matrices[8:12], m, n)
        work = context.orders.begin(stream, call, site)
        try:
            with context.late.device():
                for number in range(times):
                    in_a, in_b, in_c = (self._place(each, number) for each in (a, b, c))
                    left, right = (
                        _op(a.of(in_a, number), a.kind, turn_a),
                        _op(b.of(in_b, number), b.kind, turn_b),
                    )
                    self._touch(work, "reads", a, in_a, number)
                    self._touch(work, "reads", b, in_b, number)
                    self._touch(work, "writes", c, in_c, number)
                    _add(c.of(in_c, number), c.kind, _double(alpha) * (left @ right), _double(beta))
        except _NotThere as why:
            return context.refused(call, errors.INVALID_VALUE, str(why), site)
        return Answer()

    def _place(self, matrix: Matrix, number: int) -> Allocation:
        """Raises _NotThere."""
        found = self.context.arena.find(matrix.at(number))
        which = f"{matrix.name} of product {number + 1}" if number else matrix.name
        if found is None:
            raise _NotThere(f"{which} is no memory of the device")
        if found.has(matrix.at(number), matrix.span):
            return found
        made = f", which was allocated at {mark(found.site)}" if found.site else ""
        raise _NotThere(
            f"{which} takes {in_bytes(matrix.span)} and goes beyond its allocation of {in_bytes(found.size)}{made}"
        )

    def _touch(self, work: Piece, kind: str, matrix: Matrix, found: Allocation, number: int) -> None:
        for address, size in matrix.parts(number):
            if kind == "writes":
                found.note_written(address, size)
                self.context.late.writes(work, found, address, size)
            if self.context.orders.needed:
                self.context.orders.range(work, kind, found, address, size)


def _op(raw: np.ndarray, kind: int, turned: int) -> np.ndarray:
    values = _values(raw, kind)
    return values.T if turned else values


def _values(raw: np.ndarray, kind: int) -> np.ndarray:
    """In a type in which NumPy multiplies quickly, and exactly where these are whole numbers."""
    if kind == BF16:
        return (raw.astype(np.uint32) << 16).view(np.float32)
    if raw.dtype == np.float16:
        return raw.astype(np.float32)
    return raw.astype(np.float64) if raw.dtype.kind == "i" else raw


def _add(there: np.ndarray, kind: int, product: np.ndarray, beta: float) -> None:
    """What is there is not read where it does not count: it may be NaN."""
    made = product + beta * _values(there, kind) if beta else product
    there[...] = _bf16(made) if kind == BF16 else made.astype(there.dtype)


def _bf16(values: np.ndarray) -> np.ndarray:
    """Rounded to the nearest, and to even."""
    bits = values.astype(np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(values), 0x7FFF, rounded).astype(np.uint16)


def _double(bits: int) -> float:
    return struct.unpack("<d", struct.pack("<Q", bits))[0]
