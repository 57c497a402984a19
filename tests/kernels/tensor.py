"""Tensor cores: every form of mma.sync and ldmatrix that the simulator knows, one warp, one instruction each.

Inputs are small whole numbers, so that sums are exact in every format and a GPU must agree bit for bit.
"""

from itertools import product

import numpy as np

from tests.kernels.case import Case

FORMS = [  # inputs, k, accumulator
    (kind, k, to)
    for kind, k, to in product(("f16", "bf16"), (16, 8), ("f32", "f16"))
    if (kind, to) != ("bf16", "f16")
]


def mma_source(kind: str, k: int, to: str) -> str:
    """C = A B + C. Each lane packs its own elements, as PTX ISA 9.7.14.5 lays out the fragments."""
    a, b, c = k // 4, k // 8, 4 if to == "f32" else 2
    registers = [f"%{i}" for i in range(c + a + b)]
    groups = registers[:c], registers[c : c + a], registers[c + a :], registers[:c]
    operands = ", ".join("{" + ", ".join(group) + "}" for group in groups)
    results = ", ".join(f'"+{"f" if to == "f32" else "r"}"(c[{i}])' for i in range(c))
    inputs = ", ".join([f'"r"(a[{i}])' for i in range(a)] + [f'"r"(b[{i}])' for i in range(b)])
    return f"""
typedef unsigned short half_bits;
extern "C" __global__ void mma_once(const half_bits* A, const half_bits* B, const void* start, void* C)
{{
    int g = threadIdx.x / 4, t = threadIdx.x % 4;
    unsigned a[{a}], b[{b}];
    for (int i = 0; i < {a}; ++i) {{
        const half_bits* at = A + (g + 8 * (i % 2)) * {k} + 2 * t + 8 * (i / 2);
        a[i] = at[0] | at[1] << 16;
    }}
    for (int i = 0; i < {b}; ++i)
        b[i] = B[(2 * t + 8 * i) * 8 + g] | B[(2 * t + 1 + 8 * i) * 8 + g] << 16;
    {"float" if to == "f32" else "unsigned"} c[{c}];
    for (int i = 0; i < {c}; ++i)
        c[i] = {
        "((const float*)start)[(g + 8 * (i / 2)) * 8 + 2 * t + i % 2]"
        if to == "f32"
        else "((const unsigned*)start)[(g + 8 * i) * 4 + t]"
    };
    asm volatile("mma.sync.aligned.m16n8k{k}.row.col.{to}.{kind}.{kind}.{to} {operands};" : {results} : {
        inputs
    });
    for (int i = 0; i < {c}; ++i)
        {
        "((float*)C)[(g + 8 * (i / 2)) * 8 + 2 * t + i % 2]"
        if to == "f32"
        else "((unsigned*)C)[(g + 8 * i) * 4 + t]"
    } = c[i];
}}
"""


def bits(values: np.ndarray, kind: str) -> np.ndarray:
    """Small whole numbers as the bits of f16 or bf16."""
    if kind == "f16":
        return values.astype(np.float16).view(np.uint16)
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def mma_case(kind: str, k: int, to: str) -> Case:
    random = np.random.RandomState(k)
    A, B, start = (random.randint(-4, 5, shape) for shape in ((16, k), (k, 8), (16, 8)))
    dtype = np.float32 if to == "f32" else np.float16

    def make() -> list:
        return [bits(A, kind), bits(B, kind), start.astype(dtype), np.full((16, 8), np.nan, dtype)]

    def reference(args: list) -> dict[int, np.ndarray]:
        return {3: (A @ B + start).astype(dtype)}

    name = f"mma_{kind}_k{k}_{to}"
    return Case(name, mma_source(kind, k, to), "mma_once", make, (1,), (32,), reference)


def ldmatrix_case(count: int, trans: bool) -> Case:
    """Four 8 x 8 matrices of numbered elements in rows of 80 bytes; each lane stores what it received."""
    outputs = ", ".join(f"%{i}" for i in range(count))
    source = f"""
extern "C" __global__ void load_once(const uint4* rows, unsigned* out)
{{
    __shared__ alignas(16) unsigned char tile[32 * 80];
    *(uint4*)&tile[threadIdx.x * 80] = rows[threadIdx.x];
    __syncthreads();
    unsigned r[{count}], from = (unsigned)__cvta_generic_to_shared(&tile[threadIdx.x * 80]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x{count}{".trans" * trans}.shared.b16 {{{outputs}}}, [%{count}];"
                 : {", ".join(f'"=r"(r[{i}])' for i in range(count))} : "r"(from));
    for (int i = 0; i < {count}; ++i) out[i * 32 + threadIdx.x] = r[i];
}}
"""

    def make() -> list:
        return [np.arange(256, dtype=np.uint16), np.full((count, 32), 0xA5A5A5A5, np.uint32)]

    def reference(args: list) -> dict[int, np.ndarray]:
        matrices = args[0].reshape(4, 8, 8)[:count]
        if trans:
            matrices = matrices.transpose(0, 2, 1)
        return {1: np.ascontiguousarray(matrices).view(np.uint32).reshape(count, 32)}

    name = f"ldmatrix_x{count}{'_trans' * trans}"
    return Case(name, source, "load_once", make, (1,), (32,), reference)


CASES = [
    *(mma_case(*form) for form in FORMS),
    *(ldmatrix_case(count, trans) for count in (1, 2, 4) for trans in (False, True)),
]
