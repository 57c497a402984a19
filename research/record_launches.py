"""Count the SM cycles of a launch of lesson 08's kernels on this machine's GPU, while they run on and on, for problems
that give each of 128 blocks 1 to 16 tiles; and lay a line through them: so many a tile, so many a launch.

    python -m research.record_launches

It needs CuPy and takes 90 seconds. notebooks/deeper/08_epilogue.ipynb has what it printed on an H200.
"""

import numpy as np

from course_lib import Gemm, lesson_kernel
from cupy_or_sim import power, timing

SIZES = {1: (2048, 2048), 2: (4096, 2048), 4: (4096, 4096), 8: (8192, 4096), 16: (8192, 8192)}
"""Tiles a block -> M and N."""
K_TILE, MATH = 64, 1024
"""The k of a k-tile, and the cycles of its math."""
REPEATS = 20


def cycles_of(name: str, M: int, N: int, K: int) -> float:
    """Of one launch of many, by their speed and the clock."""
    gemm, (kernel, launch) = Gemm(M, N, K, "float16"), lesson_kernel("08_never_a_pause", name)
    _, run = gemm.prepare(kernel, gemm.inputs, launch)
    flops = 2 * M * N * K
    found = power.sustained(run, float(np.median(timing.burst(run, REPEATS))), flops)
    return flops / found["sustained"] / 1e6 * found["sustained_mhz"]


def main() -> None:
    print(timing.name(), timing.today())
    for K in 4096, 2048:
        for name in "cluster", "complete":
            cycles = np.array([cycles_of(name, *size, K) for size in SIZES.values()])
            tiles = np.array(list(SIZES))
            math = tiles * (K // K_TILE) * MATH
            a_tile, a_launch = np.polyfit(tiles, cycles - math, 1, w=1 / cycles)
            off = abs(math + a_tile * tiles + a_launch - cycles) / cycles
            print(f"{name}, K = {K}:", dict(zip(SIZES, cycles.round().astype(int).tolist())))
            print(f"    {a_tile:,.0f} a tile, {a_launch:,.0f} a launch, off by {off.max():.2%} at most")


if __name__ == "__main__":
    main()
