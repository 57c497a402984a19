"""A batch: one product of it, and all of them as one product."""

from cupy_or_sim.kernel import Array

from .operands import Operand
from .ready import rows_of


def nth(i: int, *arrays: Array) -> tuple[Array, ...]:
    """The i-th matrix of each; of a single one, this one."""
    return tuple(array if array.ndim == 2 else array[i if array.shape[0] > 1 else 0] for array in arrays)


def as_rows(A: Array, B: Array, out: Array) -> tuple[Array, Array, Array] | None:
    """A batch times one matrix is one product if the rows of A, and those of `out`, lie as those of one matrix."""
    if out.shape[0] == 1:
        a, b, c = nth(0, A, B, out)
        return a, b, c
    M, N = out.shape[-2:]
    left, (by_column, c_stride) = Operand(A), rows_of(out)
    if (B.ndim == 3 and B.shape[0] > 1) or by_column or not left.along_k:
        return None
    b = nth(0, B)[0]
    if M == 1:
        return A[:, 0], b, out[:, 0]
    if left.next != M * left.apart or out.strides[0] != M * c_stride * out.itemsize:
        return None
    return A.reshape(-1, left.K), b, out.reshape(-1, N)
