"""One kernel of course/gemm by itself, without the choices of `matmul`: to break it, to count and to time it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import NamedTuple

import numpy as np

from cupy_or_sim import device
from cupy_or_sim.headers import in_one_piece
from cupy_or_sim.kernel import Array, Kernel
from cupy_or_sim.launch import Launch
from cupy_or_sim.limits import this_gpu
from cupy_or_sim.simulate import simulate
from matmul.operands import ACTIVATIONS
from matmul.plans import GROUP
from ptxsim import Report

NOTES = 1000
"""Pieces of work that a kernel of `noted` can note."""


class Numbers(NamedTuple):
    """The numbers of an instance: the tile, what a warp makes of it, and the slots of the ring."""

    TM: int
    TN: int
    TK: int
    WM: int
    WN: int
    slots: int

    @property
    def threads(self) -> int:
        return self.TM // self.WM * (self.TN // self.WN) * 32

    @property
    def shared_mem(self) -> int:
        return self.slots * (self.TM + self.TN) * self.TK * 2

    def tiles(self, M: int, N: int) -> tuple[int, int]:
        """Tiles down C and across it, rounded up."""
        return -(-M // self.TM), -(-N // self.TN)


SMALL = Numbers(64, 64, 64, 32, 32, 4)


def large() -> Numbers:
    """The largest tile that this GPU's shared memory holds."""
    return Numbers(128, 256 if this_gpu().shared_block >= 147_456 else 128, 64, 64, 64, 3)


@dataclass(frozen=True)
class Finish:
    """C = activation(alpha * sum + beta * C + bias), as `matmul` takes them."""

    bias: Array = None
    alpha: float = 1.0
    beta: float = 0.0
    activation: str | None = None

    def arguments(self) -> tuple:
        code = np.int32(ACTIVATIONS[self.activation])
        return self.bias, np.float32(self.alpha), np.float32(self.beta), np.int32(0), code


@cache
def parts(*names: str) -> str:
    """The text of these headers of course/gemm, in one piece: `parts("gemm", "stream_k")`."""
    return in_one_piece("".join(f"#include <course/gemm/{name}.cuh>\n" for name in names))


def instance(kind: str, source: str, numbers: Numbers = SMALL) -> Kernel:
    """An instance of a template for halves that run along k: "gemm", "persistent" or "stream_k"."""
    name = f"{kind}<__half, __half, {', '.join(map(str, numbers))}, true, true>"
    module = device.cp.RawModule(code=source, options=device.OPTIONS, name_expressions=(name,))
    kernel = module.get_function(name)
    kernel.max_dynamic_shared_size_bytes = numbers.shared_mem
    return kernel


def prepared(
    kind: str,
    source: str,
    arrays: tuple,
    numbers: Numbers = SMALL,
    blocks: int = 5,
    finish: Finish = Finish(),
    notes: object = None,
) -> tuple:
    """Kernel, grid, block, arguments and shared memory for C = A @ B.T; `arrays` are A, B and C. `blocks` is for those
    that stay, `notes` an array for a kernel of `noted`."""
    A, B, C = arrays
    (M, K), N = A.shape, B.shape[0]
    down, across = numbers.tiles(M, N)
    sizes, strides = map(np.int32, (M, N, K)), (np.int64(K), np.int64(K), np.int32(N))
    grid: tuple[int, ...]
    if kind == "gemm":
        groups = -(-down // GROUP)
        grid = -(-down // groups), across, groups
        own = (*finish.arguments(), *sizes, np.int32(groups), np.int32(K))
    elif kind == "persistent":
        grid, own = (blocks,), (*sizes,)
    else:
        whole = max(down * across // blocks - 1, 0) * blocks
        left = device.cp.full(blocks * numbers.TM * numbers.TN, np.nan, np.float32)
        shared = np.int32(whole), left, device.cp.zeros(blocks, np.int32)
        grid, own = (blocks,), (*finish.arguments(), *sizes, *shared)
    more = () if notes is None else (notes,)
    args = (A, B, C, *own, *strides, *more)
    return instance(kind, source, numbers), grid, (numbers.threads,), args, numbers.shared_mem


def call(made: tuple) -> Callable[[], None]:
    """A function that launches what `prepared` made."""
    kernel, grid, block, args, memory = made
    return lambda: kernel(grid, block, args, shared_mem=memory)


def whole_numbers(seed: int, most: int, *shape: int) -> Array:
    """Halves from -most to most."""
    numbers = np.random.default_rng(seed).integers(-most, most + 1, shape)
    return device.cp.asarray(numbers.astype(np.float16))


def product(A: Array, B: Array) -> np.ndarray:
    """A @ B.T in float64."""
    return device.cp.asnumpy(A).astype(np.float64) @ device.cp.asnumpy(B).astype(np.float64).T


def tried(kind: str, source: str, M: int, N: int, K: int, notes: object = None, blocks: int = 5) -> Report:
    """Simulate a small instance on whole numbers; print whether C is right, the hazards, and what part of the needed
    `mma` were made; return the report."""
    A, B = whole_numbers(0, 4, M, K), whole_numbers(1, 4, N, K)
    C = device.cp.full((M, N), np.nan, np.float16)
    report = simulate(*prepared(kind, source, (A, B, C), blocks=blocks, notes=notes))
    right = np.array_equal(device.cp.asnumpy(C), product(A, B).astype(np.float16))
    tiles = prod(SMALL.tiles(M, N))
    needed = tiles * -(-K // SMALL.TK) * (SMALL.TM * SMALL.TN * SMALL.TK // (16 * 8 * 16))
    print(
        f"{kind}, {M} x {N} x {K}: numbers right: {right}, hazards: {report.brief()}, "
        f"mma: {report.counters.total.mma / needed:.0%} of those needed"
    )
    return report


def tried_again(source: str, M: int, N: int, K: int) -> None:
    """Simulate a small instance of stream_k twice with the same flags, the second time on other numbers and from the
    last block on; print whether C is right, and the hazards, of both."""
    A, B = whole_numbers(0, 4, M, K), whole_numbers(1, 4, N, K)
    C = device.cp.empty((M, N), np.float16)
    kernel, grid, block, args, memory = prepared("stream_k", source, (A, B, C))
    for launch, in_turn in {"first": None, "second": "down"}.items():
        C.fill(np.nan)
        report = simulate(kernel, grid, block, args, memory, in_turn=in_turn)
        right = np.array_equal(device.cp.asnumpy(C), product(A, B).astype(np.float16))
        print(f"{launch} launch: numbers right: {right}, hazards: {report.brief()}")
        A *= -1


def bias_and_relu(C: Array, bias: Array) -> list[tuple]:
    """The two kernels that a fused one saves, as (kernel, grid, block, arguments)."""
    count, in_a_row = np.int32(C.size // 8), np.int32(C.shape[1] // 8)
    grid, block = (-(-int(count) // 256),), (256,)
    kernels = (
        device.cp.RawKernel(parts("separate"), name, options=device.OPTIONS) for name in ("add_bias", "relu")
    )
    return [
        (kernel, grid, block, args)
        for kernel, args in zip(kernels, ((C, bias, count, in_a_row), (C, count)), strict=True)
    ]


def at_any_size(kernel: Kernel, launch: Launch, M: int, N: int, K: int) -> Report:
    """Simulate a kernel with the course's arguments, with blocks enough for a C of any size; print whether the numbers
    are right, and the hazards; return the report."""
    A, B = whole_numbers(0, 4, M, K), whole_numbers(1, 4, N, K)
    C = device.cp.full((M, N), np.nan, np.float16)
    grid = -(-M // launch.tile[0]), -(-N // launch.tile[1])
    args = (A, B, C, *map(np.int32, (M, N, K)))
    report = simulate(kernel, grid, launch.block, args, launch.shared_mem)
    right = np.array_equal(device.cp.asnumpy(C), product(A, B).astype(np.float16))
    print(f"{M} x {N} x {K}: numbers right: {right}, hazards: {report.brief()}")
    return report
