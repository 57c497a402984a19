"""The GEMM kernels of lessons 07 and 08 as cases: fewer blocks than tiles, one k-tile more than slots, whole
numbers."""

import numpy as np

from course_lib import HOPPER, Gemm
from course_lib.lessons.sources import kernel_launch, kernel_source, kernels
from cupy_or_sim import cupy_on_numpy
from tests.kernels.case import Case, array_of

HOMES = {name: notebook for notebook in ("07_hopper", "08_never_a_pause") for name in kernels(notebook)}
SHAPE = (256, 512, 320)


def hopper_case(name: str) -> Case:
    """One kernel; its name has the lesson in it, for others have a `ring` and a `complete` too."""
    source, launch = kernel_source(HOMES[name], name), kernel_launch(HOMES[name], name)
    gemm = Gemm(*SHAPE, "float16")

    def make() -> list:
        kernel = cupy_on_numpy.RawKernel(source, name, options=HOPPER)
        return list(gemm.passed(kernel, gemm.arguments(*gemm.integers(0))))

    def reference(args: list) -> dict[int, np.ndarray]:
        A, B = (array_of(matrix).astype(np.float64) for matrix in args[:2])
        return {2: (A @ B.T).astype(np.float16)}

    return Case(
        f"lesson.{HOMES[name][:2]}.{name}", source, name, make, gemm.grid(launch.small()),
        launch.block, reference, HOPPER, shared_mem=launch.shared_mem, cheap=False,
    )  # fmt: skip


CASES = [hopper_case(name) for name in HOMES]
