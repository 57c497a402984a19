"""`matmul` beside cuBLAS on an H100, in shapes that nobody chose for it.

`python -m research.matmul_shapes SEED [COUNT]`

Prints the rows of docs/matmul_h100.csv, but for those of another H100: problems of tune.py, and COUNT more, drawn with
the seed; and how fast large ones run on and on, with the watts. float16, A and B contiguous along K.
"""

from __future__ import annotations

import csv
import math
import random
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np

from cupy_or_sim import device, power, timing
from cupy_or_sim.kernel import Array
from matmul import matmul
from matmul.given import allowed_lessons
from matmul.hopper_plans import HopperPlan
from matmul.matmul import planned
from matmul.plans import Shape
from tools.author.tune import SHAPES

SIZES = (64, 16384)
LARGE = ((4096, 4096, 4096), (8192, 8192, 8192), (16384, 4096, 4096))
LAUNCHES, ROWS = 40, 9
"""Launches alone, between two events; and rows of launches with nothing between."""
MOST_ERROR = 1e-3
"""Largest difference from cuBLAS, of the largest element."""


def drawn(seed: int, count: int) -> list[Shape]:
    """M, N and K log-uniform between SIZES, multiples of 8."""
    numbers, (low, high) = random.Random(seed), map(math.log, SIZES)
    shapes = [[8 * round(math.exp(numbers.uniform(low, high)) / 8) for _ in range(3)] for _ in range(count)]
    return [(M, N, K) for M, N, K in shapes]


def main(seed: int, count: int = 40) -> None:
    print(f"{timing.name()}, cuBLAS {timing.cublas_version()}, {timing.today()}; seed {seed}")
    for title, shapes in (("known", (*SHAPES, LARGE[-1])), ("drawn", drawn(seed, count))):
        rows(title, shapes)
    print("| sustained | cuBLAS TFLOP/s | MHz | W | `matmul` TFLOP/s | MHz | W | ratio |\n|---|" + "--:|" * 7)
    for shape in LARGE:
        flops = 2 * math.prod(shape)
        both = [power.sustained(call, flops / 6e8, flops) for call in calls(*shape)]
        cells = [entry[key] for entry in both for key in ("sustained", "sustained_mhz", "watts")]
        ratio = both[1]["sustained"] / both[0]["sustained"]
        print("|", " | ".join(map(str, (name(shape), *cells, f"{ratio:.3f}"))), "|", flush=True)


def rows(title: str, shapes: Iterable[Shape]) -> None:
    """Print a row for each problem, then the means."""
    lines, ratios = csv.writer(sys.stdout, lineterminator="\n"), []
    for shape in shapes:
        both = calls(*shape)
        times = *np.median(timing.time_in_turn(both, LAUNCHES), axis=1), *in_a_row(both, 2 * math.prod(shape))
        ratios.append((times[0] / times[1], times[2] / times[3]))
        cells = (*times[:2], ratios[-1][0], *times[2:], ratios[-1][1])
        lines.writerow([title, name(shape), *(f"{cell:.2f}" for cell in cells), plan(shape)])
        sys.stdout.flush()
    for way, some in zip(("Alone", "In a row"), zip(*ratios)):
        mean = math.exp(float(np.mean(np.log(some))))
        print(f"{way}: geometric mean {mean:.3f}, least {min(some):.2f}, of {len(some)}.", flush=True)


def in_a_row(runs: Sequence[Callable[[], None]], flops: int) -> list[float]:
    """Microseconds of a launch of each among its own kind, with nothing between them, so that they may overlap: medians
    of rows that take turns."""
    launches = min(max(int(5e11 / flops), 4), 20)

    def row(run: Callable[[], None]) -> None:
        for _ in range(launches):
            run()

    rows = [partial(row, run) for run in runs]
    return (np.median(timing.time_in_turn(rows, ROWS), axis=1) / launches).tolist()


def calls(M: int, N: int, K: int) -> tuple[Callable[[], None], Callable[[], None]]:
    """cuBLAS, and `matmul`, on the same random arrays; their results agree."""
    A, B, C, D = arrays(M, N, K)
    theirs = cublas(A, B, C)

    def ours() -> None:
        matmul(A, B.T, out=D)

    theirs()
    ours()
    check_near(D, C, f"{M} x {N} x {K}: matmul")
    return theirs, ours


def arrays(M: int, N: int, K: int) -> list[Array]:
    """A (M, K) and B (N, K) of normal random numbers, and two outputs of NaN."""
    cp = device.cp
    operands = [cp.random.standard_normal(shape, np.float32).astype(np.float16) for shape in ((M, K), (N, K))]
    return operands + [cp.full((M, N), np.nan, np.float16) for _ in range(2)]


def cublas(A: Array, B: Array, C: Array) -> Callable[[], None]:
    """C = A @ B.T."""
    from cupy.cuda.device import get_cublas_handle
    from cupy_backends.cuda.libs import cublas as blas

    handle, (M, K), N = get_cublas_handle(), A.shape, B.shape[0]
    one, zero = np.array(1, np.float32), np.array(0, np.float32)
    half, kind = timing.CUDA_R_16F, (timing.CUBLAS_COMPUTE_32F, timing.CUBLAS_GEMM_DEFAULT)

    def theirs() -> None:
        operands = (B.data.ptr, half, K, A.data.ptr, half, K, zero.ctypes.data, C.data.ptr, half, N)
        blas.gemmEx(handle, blas.CUBLAS_OP_T, blas.CUBLAS_OP_N, N, M, K, one.ctypes.data, *operands, *kind)

    return theirs


def check_near(D: Array, C: Array, what: str) -> None:
    """Stop where D is not C, but for the order of the sums."""
    off = float(abs(C.astype(np.float32) - D).max() / abs(C).max())
    if not off < MOST_ERROR:
        raise SystemExit(f"{what} differs from cuBLAS by {off:.1e} of the largest element")


def name(shape: Shape) -> str:
    M, N, K = shape
    return f"{M}^3" if M == N == K else f"{M} x {N} x {K}"


def plan(shape: Shape) -> str:
    """In short: tile, slots, cluster (below x across x together), parts of K."""
    chosen = planned(shape, True, True, allowed_lessons(None))
    if not isinstance(chosen, HopperPlan):
        return f"06: {chosen.tile[0]} x {chosen.tile[1]}, {chosen.split} parts"
    cluster = f"{chosen.below} x {chosen.across} x {chosen.together}"
    return f"{chosen.tile[0]} x {chosen.tile[1]}, {chosen.slots} slots, {cluster}, {chosen.split} parts"


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
