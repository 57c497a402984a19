"""Kernels in Triton: layer norm, attention, a persistent matrix product, a histogram. `main` writes their PTX."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from tests.ptxsim.compilers.texts import keep


@triton.jit
def layer_norm(x, gain, bias, y, n, eps, BLOCK: tl.constexpr):
    """One row a program: y = (x - mean) / deviation * gain + bias; n columns of at most BLOCK."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < n
    values = tl.load(x + row * n + at, mask=inside, other=0.0)
    mean = tl.sum(values, axis=0) / n
    centred = tl.where(inside, values - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / n + eps)
    result = centred * scale * tl.load(gain + at, mask=inside) + tl.load(bias + at, mask=inside)
    tl.store(y + row * n + at, result, mask=inside)


@triton.jit
def layer_norm_past_the_row(x, gain, bias, y, n, eps, BLOCK: tl.constexpr):
    """The same without a mask at the store."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < n
    values = tl.load(x + row * n + at, mask=inside, other=0.0)
    mean = tl.sum(values, axis=0) / n
    centred = tl.where(inside, values - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / n + eps)
    result = centred * scale * tl.load(gain + at, mask=inside) + tl.load(bias + at, mask=inside)
    tl.store(y + row * n + at, result)  # @past


@triton.jit
def attention(q, k, v, out, n, scale, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """M queries a program against n keys, N at a time; the maximum and the sum of each row run along."""
    rows = tl.program_id(0) * M + tl.arange(0, M)
    depth = tl.arange(0, D)
    queries = tl.load(q + rows[:, None] * D + depth[None, :])
    top = tl.full([M], float("-inf"), tl.float32)
    total = tl.zeros([M], tl.float32)
    sums = tl.zeros([M, D], tl.float32)
    for start in range(0, n, N):
        columns = start + tl.arange(0, N)
        keys = tl.load(k + columns[:, None] * D + depth[None, :])
        scores = tl.dot(queries, tl.trans(keys)) * scale  # @tiles
        higher = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - higher[:, None])
        shrink = tl.exp(top - higher)
        total = total * shrink + tl.sum(weights, axis=1)
        values = tl.load(v + columns[:, None] * D + depth[None, :])  # @tiles
        sums = sums * shrink[:, None] + tl.dot(weights.to(tl.float16), values)  # @tiles
        top = higher
    tl.store(out + rows[:, None] * D + depth[None, :], sums / total[:, None])


@triton.jit
def histogram(x, out, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    """BLOCK numbers a program, counted in shared memory and then added to `out`."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    counts = tl.histogram(tl.load(x + at, mask=at < n, other=0), BINS)
    tl.atomic_add(out + tl.arange(0, BINS), counts)


@triton.jit
def histogram_without_atomic(x, out, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    """The same with a load, a sum and a store."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    counts = tl.histogram(tl.load(x + at, mask=at < n, other=0), BINS)
    bins = out + tl.arange(0, BINS)
    before = tl.load(bins)  # @bins
    tl.store(bins, before + counts)  # @bins


@triton.jit
def persistent(a, b, c, m, n, k, PROGRAMS: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """c = a @ b: each program takes every PROGRAMS-th tile of M x N; copies of three k-tiles are under way."""
    across = tl.cdiv(n, N)
    for tile in tl.range(tl.program_id(0), tl.cdiv(m, M) * across, PROGRAMS):
        rows = (tile // across) * M + tl.arange(0, M)
        columns = (tile % across) * N + tl.arange(0, N)
        sums = tl.zeros([M, N], tl.float32)
        for start in tl.range(0, k, K, num_stages=3):
            depth = start + tl.arange(0, K)
            left = tl.load(a + rows[:, None] * k + depth[None, :])  # @dot
            right = tl.load(b + depth[:, None] * n + columns[None, :])  # @dot
            sums = tl.dot(left, right, sums)  # @dot
        tl.store(c + rows[:, None] * n + columns[None, :], sums)


TYPES = {"x": "*fp32", "gain": "*fp32", "bias": "*fp32", "y": "*fp32", "eps": "fp32", "scale": "fp32"}
NORM = {"BLOCK": 256}
COUNTS = {"x": "*i32", "out": "*i32"}
KERNELS = [
    (layer_norm, {}, NORM, {}),
    (layer_norm_past_the_row, {}, NORM, {}),
    (attention, {"q": "*fp16", "k": "*fp16", "v": "*fp16", "out": "*fp32"}, {"D": 64, "M": 64, "N": 32}, {}),
    (histogram, COUNTS, {"BLOCK": 256, "BINS": 32}, {}),
    (histogram_without_atomic, COUNTS, {"BLOCK": 256, "BINS": 32}, {}),
    (
        persistent,
        {"a": "*fp16", "b": "*fp16", "c": "*fp32"},
        {"PROGRAMS": 4, "M": 64, "N": 64, "K": 32},
        {"num_stages": 3},
    ),
]
ALIGNED = ("n", "k")
"""Numbers that are multiples of 16 in a product: rows of 16-byte copies."""


def compiled(function, types, constants, options, arch):
    names = [parameter.name for parameter in function.params]
    types = {**TYPES, **types}
    signature = {name: "constexpr" if name in constants else types.get(name, "i32") for name in names}
    aligned = ALIGNED if function is persistent else ()
    places = [i for i, name in enumerate(names) if signature[name].startswith("*") or name in aligned]
    source = ASTSource(
        function,
        signature,
        {(names.index(name),): value for name, value in constants.items()},
        {(place,): [["tt.divisibility", 16]] for place in places},
    )
    return triton.compile(source, target=GPUTarget("cuda", arch, 32), options=options or None)


def main():
    for function, types, constants, options in KERNELS:
        for arch in (80, 90):
            kernel = compiled(function, types, constants, options, arch)
            name = f"triton_{function.__name__}_sm_{arch}"
            keep(name, kernel.asm["ptx"], __file__, f"Triton {triton.__version__}")
            print(name, "shared memory:", kernel.metadata.shared, "warps:", kernel.metadata.num_warps)


if __name__ == "__main__":
    main()
