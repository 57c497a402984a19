"""The launches of one product of float32. Its parts of K are a batch, each with sums of its own."""

import numpy as np

from cupy_or_sim.kernel import Array

from .float_plans import FloatPlan
from .many import Product, row_of, tabled
from .operands import ACTIVATIONS
from .ready import Launch, Written, copier, reducer, sums_stride
from .scratch import scratch

PLAIN = (np.float32(1), np.float32(0), np.int32(0), np.int32(0))


def float_launch(
    chosen: FloatPlan, each: Product, activation: str | None, alpha: float, beta: float
) -> Launch:
    """On the left operand, the right one, the output and the bias."""
    M, N, _ = each.shape
    finish = (
        np.float32(alpha),
        np.float32(beta),
        np.int32(each.exchanged),
        np.int32(ACTIVATIONS[activation]),
    )
    copies, down, across = copier(each.left, each.right, False), *chosen.tiles(M, N)
    blocks = down * across * chosen.split
    if chosen.split == 1:
        whole = tabled(chosen, each.kind, blocks, [row_of(each, chosen)], finish)

        def one(a: Array, b: Array, C: Array, bias: Array) -> None:
            a, b = copies(a, b) if copies else (a, b)
            whole([(a, b, bias, C)])

        return one
    kind = ("float", "float", *each.kind[2:])
    gemm = tabled(chosen, kind, blocks, [row_of_parts(each, chosen)], PLAIN)
    reduce = reducer(chosen.split, "float", M, N, Written(each.out_type, each.c_stride, finish))
    size = chosen.split * M * sums_stride(N)

    def parts(a: Array, b: Array, C: Array, bias: Array) -> None:
        a, b = copies(a, b) if copies else (a, b)
        sums = scratch(size, np.float32)
        gemm([(a, b, None, sums)])
        reduce(sums, C, bias)

    return parts


def row_of_parts(each: Product, chosen: FloatPlan) -> tuple[int, ...]:
    """As `row_of`, of the parts of K as a batch."""
    (M, N, K), k_part, stride = each.shape, chosen.k_part(each.shape[2]), sums_stride(each.shape[1])
    strides = [operand.stride(False) for operand in (each.left, each.right)]
    steps = (
        k_part * (1 if operand.along_k else line)
        for operand, line in zip((each.left, each.right), strides, strict=True)
    )
    return (*strides, *steps, M * stride, K, M, N, k_part, stride, chosen.split, *chosen.tiles(M, N))
