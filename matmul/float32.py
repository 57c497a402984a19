"""The launches of one product of float32. Its parts of K are a batch, each with sums of its own."""

import numpy as np

from cupy_or_sim.kernel import Array

from .float_plans import FloatPlan
from .many import Product, row_of, tabled
from .operands import ACTIVATIONS
from .packed import packed
from .places import begin
from .ready import ON_ALL, Launch, Written, copier, plain_float_kernel, reducer, sums_stride
from .scratch import scratch

PLAIN = (np.float32(1), np.float32(0), np.int32(0), np.int32(0))


def float_launch(
    chosen: FloatPlan, each: Product, out: Array, activation: str | None, alpha: float, beta: float
) -> Launch:
    """On the left operand, the right one, the output and the bias."""
    M, N, _ = each.shape
    if (
        chosen.split == 1
        and each.out_type == "float"
        and not (activation or beta or each.exchanged)
        and in_words(each, out)
    ):
        return plain_launch(chosen, each, alpha)
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


def in_words(each: Product, out: Array) -> bool:
    """Whether a thread can store four neighbours of an output at once."""
    return (each.shape[1] | each.c_stride) % 4 == 0 and begin(out) % 16 == 0


def plain_launch(chosen: FloatPlan, each: Product, alpha: float) -> Launch:
    """Of a kernel that makes one product, and finishes it with no more than a bias."""
    M, N, K = each.shape
    kernel, (down, across) = (
        plain_float_kernel(chosen, each.left.along_k, each.right.along_k),
        chosen.tiles(M, N),
    )
    strides = (each.left.stride(False), each.right.stride(False))
    numbers = (*map(np.int64, strides), *map(np.int32, (each.c_stride, down, across)))
    args = (*ON_ALL, np.float32(alpha), *map(np.int32, (M, N, K)), *numbers)
    launch = packed(kernel, (down * across,), (chosen.threads,), chosen.shared_mem, args)
    copies = copier(each.left, each.right, False)
    return launch if copies is None else lambda a, b, C, bias: launch(*copies(a, b), C, bias)


def row_of_parts(each: Product, chosen: FloatPlan) -> tuple[int, ...]:
    """As `row_of`, of the parts of K as a batch."""
    (M, N, K), k_part, stride = each.shape, chosen.k_part(each.shape[2]), sums_stride(each.shape[1])
    strides = [operand.stride(False) for operand in (each.left, each.right)]
    steps = (
        k_part * (1 if operand.along_k else line)
        for operand, line in zip((each.left, each.right), strides, strict=True)
    )
    return (*strides, *steps, M * stride, K, M, N, k_part, stride, chosen.split, *chosen.tiles(M, N))
