"""Right kernels from which mutants are made: GEMMs, asynchronous copies, shared memory, lessons."""

from functools import cache
from itertools import chain

import numpy as np

from course_lib import OPTIONS
from tests.kernels import async_copy, gemm, hopper_lessons, pipelined, shared, specialised
from tests.kernels.case import Case, poison, random
from tests.kernels.cases import HOPPER
from tests.kernels.lesson_cases import LESSON_CASES, POINTERS, lesson_case


def pipelined_case(kernel: pipelined.Pipelined, tiles: int) -> Case:
    """One block of C from `tiles` k-tiles of small integers, so that every order of sums gives the same."""
    rows, columns, depth = kernel.tile
    order = "F" if kernel.dtype == "float32" else "C"

    def make() -> list:
        rng = random(kernel.stages)
        A, B = (rng.randint(-4, 5, (n, tiles * depth)).astype(kernel.dtype) for n in (rows, columns))
        return [
            np.asarray(A, order=order), np.asarray(B, order=order), poison((rows, columns), "f4", order),
            *np.array([rows, columns, tiles * depth], np.int32),
        ]  # fmt: skip

    def reference(args: list) -> dict[int, np.ndarray]:
        A, B = args[0].astype("f4"), args[1].astype("f4")
        return {2: np.asarray(A @ B.T, order=order)}

    return Case(
        f"{kernel.name}_k{tiles}", kernel.source, kernel.kernel, make, (1, 1), (kernel.threads,), reference,
        options=OPTIONS, shared_mem=kernel.shared_mem, cheap=False,
    )  # fmt: skip


@cache
def groups() -> dict[str, list[Case]]:
    """Kernel -> its cases: the same source and options with other shapes. A mistake counts as found if one
    shape shows it: a bounds check may only matter when K has fewer tiles than the kernel has stages."""
    cases = [*async_copy.CASES, *gemm.CASES, *shared.CASES, *specialised.CASES]
    cases += [lesson_case(*which) for which in LESSON_CASES if which[-1] == "random"]
    cases += [lesson_case(*kernel, "random", k_tiles) for kernel in POINTERS for k_tiles in (4, 1)]
    for stages in pipelined.STAGES:
        for family in (pipelined.gemm_fp32, pipelined.gemm_fp16):
            cases += [pipelined_case(family(stages), tiles) for tiles in (stages + 2, 1)]
    found: dict[tuple, list[Case]] = {}
    for case in cases:
        found.setdefault((case.source, case.kernel, case.options), []).append(case)
    return {group[0].name.removesuffix(".random"): group for group in found.values()}


def by_name(name: str) -> Case:
    """The case of this name."""
    every = chain(*groups().values(), hopper_lessons.CASES, *(theme.CASES for theme in HOPPER))
    return next(case for case in every if case.name == name)
