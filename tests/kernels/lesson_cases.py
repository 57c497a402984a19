"""The lessons' kernels, read out of the notebooks: a small shape, with integers and with random numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from course_lib import OPTIONS, kernel_source

from .case import Case, fma32, poison, random
from .gemm import gemm_args, gemm_float


@dataclass(frozen=True)
class Launch:
    """How a lesson launches its GEMM kernel: block tile (M, N, K) and threads."""

    tile: tuple[int, int, int]
    threads: int
    shared_mem: int = 0


GEMMS = {
    ("01_mainloop", "naive"): Launch((32, 32, 1), 1024),
    ("01_mainloop", "tiled"): Launch((32, 32, 32), 1024),
    ("01_mainloop", "vector_copy"): Launch((32, 32, 32), 1024),
    ("01_mainloop", "register_tile"): Launch((64, 64, 16), 256),
    ("01_mainloop", "mainloop"): Launch((128, 128, 32), 256),
}
OTHERS = (("00_start_here", "saxpy"), ("00_start_here", "mirror"))
INPUTS = ("integers", "random")

LESSON_CASES = tuple((*kernel, inputs) for kernel in (*OTHERS, *GEMMS) for inputs in INPUTS)
"""(notebook, kernel, inputs) of every case; `lesson_case(*these)` reads the notebook."""


def lesson_case(notebook: str, kernel: str, inputs: str) -> Case:
    """One lesson kernel as a `Case`. Each of its sums runs over K in order, so the result is exact."""
    integers = inputs == "integers"
    if (notebook, kernel) in OTHERS:
        return _simple_case(notebook, kernel, integers)
    launch = GEMMS[notebook, kernel]
    tile_m, tile_n, tile_k = launch.tile
    M, N, K = 2 * tile_m, tile_n, 3 * tile_k

    def make() -> list:
        args = gemm_args(M, N, K, "f4", seed=7)
        for matrix in args[:2]:
            matrix[...] = np.rint(2 * matrix) if integers else matrix
        return args

    return _case(
        notebook, kernel, inputs, make, (M // tile_m, N // tile_n), (launch.threads,), gemm_float,
        launch.shared_mem,
    )  # fmt: skip


def _simple_case(notebook: str, kernel: str, integers: bool) -> Case:
    def numbers(seed: int, n: int) -> np.ndarray:
        x = random(seed).randn(n).astype("f4")
        return np.rint(10 * x) if integers else x

    makes: dict[str, tuple[Callable, tuple, Callable]] = {
        "saxpy": (
            lambda: [np.float32(1.7), numbers(1, 1000), numbers(2, 1000), np.int32(1000)], (4,),
            lambda a: {2: fma32(a[0], a[1], a[2])},
        ),
        "mirror": (
            lambda: [numbers(1, 768), poison(768, "f4")], (3,),
            lambda a: {1: a[0].reshape(3, 256)[:, ::-1].reshape(768)},
        ),
    }  # fmt: skip
    make, grid, reference = makes[kernel]
    return _case(notebook, kernel, "integers" if integers else "random", make, grid, (256,), reference)


def _case(
    notebook: str,
    kernel: str,
    inputs: str,
    make: Callable[[], list],
    grid: tuple[int, ...],
    block: tuple[int, ...],
    reference: Callable[[list], dict[int, np.ndarray]],
    shared_mem: int = 0,
) -> Case:
    return Case(
        f"{notebook}.{kernel}.{inputs}", kernel_source(notebook, kernel), kernel, make, grid, block,
        reference, OPTIONS, shared_mem=shared_mem, cheap=False,
    )  # fmt: skip
