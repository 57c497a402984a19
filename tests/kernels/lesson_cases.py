"""The lessons' kernels, read out of the notebooks: a small shape, with integers and with random numbers."""

from collections.abc import Callable

import numpy as np

from course_lib import kernel_source
from cupy_or_sim.device import OPTIONS, options_for
from tests.kernels.case import Case
from tests.kernels.gemm import gemm_args, gemm_float
from tests.lessons import DTYPES, GEMMS, LESSONS

OTHERS = {(lesson.NOTEBOOK, name): case for lesson in LESSONS for name, case in lesson.OTHERS.items()}
INPUTS = ("integers", "random")

NO_GEMM = {lesson.NOTEBOOK for lesson in LESSONS if hasattr(lesson, "PROBLEM")}
POINTERS = [
    which for which in GEMMS if which[0] not in NO_GEMM and options_for(kernel_source(*which)) == OPTIONS
]
"""GEMMs that take pointers. Those of lesson 07 take tensor maps, which no case can freeze, and attention is none:
`check` judges them, on a GPU the whole problem too."""

LESSON_CASES = tuple((*kernel, inputs) for kernel in (*OTHERS, *POINTERS) for inputs in INPUTS)
"""(notebook, kernel, inputs) of every case; `lesson_case(*these)` reads the notebook."""


def lesson_case(notebook: str, kernel: str, inputs: str, k_tiles: int = 3) -> Case:
    """One lesson kernel as a `Case`. Sums of integers, and float32 sums over K in order, are exact; a tensor core adds
    random products in an order of its own. `k_tiles`: of a GEMM; another number than 3 stands in the name."""
    integers = inputs == "integers"
    if (notebook, kernel) in OTHERS:
        return _case(notebook, kernel, inputs, *OTHERS[notebook, kernel](integers))
    launch = GEMMS[notebook, kernel]
    tile_m, tile_n, tile_k = launch.tile
    half = DTYPES[notebook] == "float16"
    blocks = 1 if tile_m * tile_n > 8192 else 2  # random numbers of a large C take room in the frozen results
    shape = blocks * tile_m, tile_n, k_tiles * tile_k

    def make() -> list:
        args = gemm_args(*shape, "f2" if half else "f4", "C" if half else "F", seed=7)
        for matrix in args[:2]:
            matrix[...] = np.rint(2 * matrix) if integers else matrix
        return args

    name = inputs if k_tiles == 3 else f"{inputs}_k{k_tiles}"
    return _case(
        notebook, kernel, name, make, (blocks, 1), launch.block, gemm_float,
        launch.shared_mem, half and not integers,
    )  # fmt: skip


def _case(
    notebook: str,
    kernel: str,
    inputs: str,
    make: Callable[[], list],
    grid: tuple[int, ...],
    block: tuple[int, ...],
    reference: Callable[[list], dict[int, np.ndarray]],
    shared_mem: int = 0,
    rounded: bool = False,
) -> Case:
    """Kernels of all lessons have different names, so what is frozen of one does not depend on the lesson it is in."""
    return Case(
        f"lesson.{kernel}.{inputs}", kernel_source(notebook, kernel), kernel, make, grid, block,
        reference, OPTIONS, shared_mem=shared_mem, exact=not rounded, rtol=2e-3, atol=2e-2, cheap=False,
    )  # fmt: skip
