"""wmma: fragments of every type and shape, one warp, one product of small whole numbers.

Which element of a matrix lies in which lane is not said of these fragments, so a kernel loads, multiplies and stores.
"""

from itertools import product

import numpy as np

from tests.kernels.case import Case, random, to_bf16

KERNEL = """
#include <mma.h>
#include <cuda_bf16.h>
using namespace nvcuda;
using namespace nvcuda::wmma;
extern "C" __global__ void wmma_once(const {memory_a}* a, const {memory_a}* b, {sums}* c) {{
    fragment<matrix_a, {m}, {n}, {k}, {element}, {rows_a}_major> A;
    fragment<matrix_b, {m}, {n}, {k}, {element}, {rows_b}_major> B;
    fragment<accumulator, {m}, {n}, {k}, {sums}> C;
    load_matrix_sync(A, a, {lead_a});
    load_matrix_sync(B, b, {lead_b});
    load_matrix_sync(C, c, {n} + {pad}, mem_row_major);
    mma_sync(C, A, B, C);
    for (int i = 0; i < C.num_elements; ++i) C.x[i] = C.x[i] + C.x[i];
    store_matrix_sync(c, C, {n} + {pad}, mem_row_major);
}}
"""
OPTIONS = ("--std=c++17", "-arch=sm_90")
SIXTEEN = ((16, 16, 16), (32, 8, 16), (8, 32, 16))
TYPES = {  # element: as it lies in memory, sums, shapes, and how NumPy writes an array of numbers
    "half": ("half", ("float", "half"), SIXTEEN, lambda x: x.astype("f2")),
    "__nv_bfloat16": ("__nv_bfloat16", ("float",), SIXTEEN, lambda x: to_bf16(x.astype("f4"))),
    "precision::tf32": ("float", ("float",), ((16, 16, 8),), lambda x: x.astype("f4")),
    "double": ("double", ("double",), ((8, 8, 4),), lambda x: x.astype("f8")),
    "signed char": ("signed char", ("int",), SIXTEEN, lambda x: x.astype("i1")),
    "unsigned char": ("unsigned char", ("int",), SIXTEEN, lambda x: np.abs(x).astype("u1")),
}
SUMS = {"float": "f4", "half": "f2", "double": "f8", "int": "i4"}
FORMS = [
    (element, sums, shape)
    for element, (_, kinds, shapes, _) in TYPES.items()
    for sums, shape in product(kinds, shapes)
]


def padded(matrix: np.ndarray, by_rows: bool, pad: int) -> np.ndarray:
    """Rows, or columns, with a gap after each."""
    lines = matrix if by_rows else matrix.T
    return np.ascontiguousarray(np.pad(lines, ((0, 0), (0, pad))))


def wmma_case(
    element: str,
    sums: str,
    shape: tuple[int, int, int],
    rows_a: str = "col",
    rows_b: str = "row",
    pad: int = 16,
) -> Case:
    """C = 2 (A B + C). `rows_a`, `rows_b`: "row" or "col"; `pad`: elements behind each row or column in memory."""
    (m, n, k), (memory, _, _, write) = shape, TYPES[element]
    numbers = random(m + n)
    A, B, C = numbers.randint(-3, 4, (m, k)), numbers.randint(-3, 4, (k, n)), numbers.randint(-9, 9, (m, n))
    if element == "unsigned char":
        A, B = abs(A), abs(B)
    a, b = padded(A, rows_a == "row", pad), padded(B, rows_b == "row", pad)
    about = dict(
        m=m, n=n, k=k, element=element, memory_a=memory, sums=sums, rows_a=rows_a, rows_b=rows_b, pad=pad
    )
    source = KERNEL.format(**about, lead_a=a.shape[1], lead_b=b.shape[1])

    def reference(args: list) -> dict[int, np.ndarray]:
        return {2: padded(2 * (A @ B + C), True, pad).astype(SUMS[sums])}

    name = f"wmma.{element.replace(' ', '_')}-{sums}-{m}x{n}x{k}"
    return Case(
        name, source, "wmma_once", lambda: [write(a), write(b), padded(C, True, pad).astype(SUMS[sums])], (1,), (32,),
        reference, OPTIONS,
    )  # fmt: skip


CASES = [wmma_case(*form) for form in FORMS]
