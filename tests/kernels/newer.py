"""Instructions that came later than the other cases: what mma.sync knows besides half floats, 8-bit floats, vector
atomics and those of 16 bytes, grid.sync, griddepcontrol, elect, and the fences of clusters.

`python tests/golden/record_newer.py` freezes what an H100 gives. The layouts of the fragments are written down here
once more, from the tables of the PTX ISA and not from the simulator.
"""

from __future__ import annotations

import numpy as np

from tests.kernels.case import Case, poison, random

HOPPER = ("--std=c++17", "-arch=sm_90a")

# --------------------------------------------------------------------------- mma.sync

INPUTS = {  # C's type of an element, how many of them a register holds
    "s8": ("signed char", 4),
    "u8": ("unsigned char", 4),
    "e4m3": ("unsigned char", 4),
    "e5m2": ("unsigned char", 4),
    "tf32": ("unsigned", 1),
}
FORMS = [  # A, B, k, sums
    *((a, b, k, "s32") for a in ("s8", "u8") for b in ("s8", "u8") for k in (16, 32)),
    *((a, b, 32, "f32") for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")),
    ("tf32", "tf32", 4, "f32"),
    ("tf32", "tf32", 8, "f32"),
]


def mma_source(a: str, b: str, k: int, to: str) -> str:
    """Each lane collects its elements by the rows and columns of the PTX ISA ("Matrix Fragments for mma.m16n8k16 with
    integer type", "... m16n8k32", "... mma.m16n8k4", "... mma.m16n8k8"); g is its group, t its number in that."""
    each, element = INPUTS[a][1], INPUTS[a][0]
    of_a, of_b = 16 * k // 32, 8 * k // 32
    if each == 4:
        row_a = "g + 8 * (i / 4 % 2)"
        column_a, row_b = "4 * t + i % 4 + 16 * (i / 8)", "4 * t + i % 4 + 16 * (i / 4)"
    else:
        row_a, column_a, row_b = "g + 8 * (i % 2)", "t + 4 * (i / 2)", "t + 4 * i"
    sums = "int" if to == "s32" else "float"
    registers = [f"%{i}" for i in range(4 + of_a // each + of_b // each)]
    first = 4 + of_a // each
    groups = (registers[:4], registers[4:first], registers[first:], registers[:4])
    operands = ", ".join("{" + ", ".join(group) + "}" for group in groups)
    letter = "r" if to == "s32" else "f"
    results = ", ".join(f'"+{letter}"(c[{i}])' for i in range(4))
    inputs = ", ".join(
        [f'"r"(a[{i}])' for i in range(of_a // each)] + [f'"r"(b[{i}])' for i in range(of_b // each)]
    )
    return f"""
extern "C" __global__ void mma_once(const {element}* A, const {INPUTS[b][0]}* B, const {sums}* start, {sums}* D)
{{
    int g = threadIdx.x / 4, t = threadIdx.x % 4;
    {element} of_a[{of_a}];
    {INPUTS[b][0]} of_b[{of_b}];
    for (int i = 0; i < {of_a}; ++i) of_a[i] = A[({row_a}) * {k} + {column_a}];
    for (int i = 0; i < {of_b}; ++i) of_b[i] = B[({row_b}) * 8 + g];
    unsigned a[{of_a // each}], b[{of_b // each}];
    memcpy(a, of_a, sizeof a);
    memcpy(b, of_b, sizeof b);
    {sums} c[4];
    for (int i = 0; i < 4; ++i) c[i] = start[(g + 8 * (i / 2)) * 8 + 2 * t + i % 2];
    asm volatile("mma.sync.aligned.m16n8k{k}.row.col.{to}.{a}.{b}.{to} {operands};" : {results} : {inputs});
    for (int i = 0; i < 4; ++i) D[(g + 8 * (i / 2)) * 8 + 2 * t + i % 2] = c[i];
}}
"""


def small_8(kind: str) -> dict[float, int]:
    """Small numbers, and their codes as floats of 8 bits, read off the format: 1.0 is 0x38 and 0x3c."""
    bias, mantissa = (7, 3) if kind == "e4m3" else (15, 2)
    codes = {0.0: 0}
    for exponent in range(-2, 3):
        for fraction in range(2**mantissa):
            value = (1 + fraction / 2**mantissa) * 2.0**exponent
            codes[value] = (exponent + bias) << mantissa | fraction
            codes[-value] = codes[value] | 0x80
    return codes


def operand(kind: str, shape: tuple[int, int], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers whose products and sums are exact, and their bits."""
    rng = random(seed)
    if kind in ("s8", "u8"):
        whole = rng.randint(-128, 128, shape) if kind == "s8" else rng.randint(0, 256, shape)
        return whole.astype(np.float64), whole.astype(np.int8 if kind == "s8" else np.uint8)
    if kind == "tf32":
        values = rng.randint(-64, 65, shape) / 8.0
        return values, values.astype(np.float32).view(np.uint32)
    codes = small_8(kind)
    values = np.array(sorted(codes))[rng.randint(0, len(codes), shape)]
    return values, np.vectorize(codes.__getitem__)(values).astype(np.uint8)


def mma_case(a: str, b: str, k: int, to: str) -> Case:
    dtype = np.int32 if to == "s32" else np.float32
    (A, a_bits), (B, b_bits) = operand(a, (16, k), k), operand(b, (k, 8), k + 1)
    start = random(k + 2).randint(-99, 100, (16, 8)).astype(dtype)

    def make() -> list:
        return [a_bits.copy(), b_bits.copy(), start.copy(), poison((16, 8), dtype)]

    def reference(args: list) -> dict[int, np.ndarray]:
        return {3: (A @ B + start).astype(dtype)}

    options = HOPPER if a in ("e4m3", "e5m2") else ("--std=c++17", "-arch=sm_80")
    name = f"mma_{a}_{b}_k{k}_{to}"
    return Case(name, mma_source(a, b, k, to), "mma_once", make, (1,), (32,), reference, options=options)


SATURATES = mma_source("s8", "s8", 32, "s32").replace("row.col.s32", "row.col.satfinite.s32")


def overflow_case(name: str, source: str, clips: bool) -> Case:
    """Sums of 32 bits that overflow: they wrap, or stay at the end with .satfinite."""
    A, B = np.full((16, 32), 127, np.int8), np.full((32, 8), 127, np.int8)
    A[8:] = -128
    start = np.where(np.arange(16)[:, None] < 8, 2**31 - 9, -(2**31) + 9) * np.ones((1, 8))

    def make() -> list:
        return [A.copy(), B.copy(), start.astype(np.int32), poison((16, 8), np.int32)]

    def reference(args: list) -> dict[int, np.ndarray]:
        exact = A.astype(np.int64) @ B.astype(np.int64) + start.astype(np.int64)
        exact = np.clip(exact, -(2**31), 2**31 - 1) if clips else exact
        return {3: exact.astype(np.int32)}

    return Case(
        name, source, "mma_once", make, (1,), (32,), reference, options=("--std=c++17", "-arch=sm_80")
    )


ROUGH = mma_source("tf32", "tf32", 8, "f32")


def rough_args() -> list:
    """Operands with bits that tf32 has not."""
    rng = random(77)
    A, B = (rng.randn(*shape).astype(np.float32) for shape in ((16, 8), (8, 8)))
    return [
        A.view(np.uint32),
        B.view(np.uint32),
        rng.randn(16, 8).astype(np.float32),
        poison((16, 8), np.float32),
    ]


def rough_reference(args: list) -> dict[int, np.ndarray]:
    A, B = ((bits & 0xFFFFE000).view(np.float32).astype(np.float64) for bits in args[:2])
    return {3: (A @ B + args[2]).astype(np.float32)}


# --------------------------------------------------------------------------- floats of 8 bits

TO_8 = r"""
extern "C" __global__ void to_8(const float* x, unsigned short* out, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    asm("cvt.rn.satfinite.KINDx2.f32 %0, %1, %2;" : "=h"(out[2 * t]) : "f"(x[2 * t + 1]), "f"(x[2 * t]));
    asm("cvt.rn.satfinite.relu.KINDx2.f32 %0, %1, %2;" : "=h"(out[2 * t + 1]) : "f"(x[2 * t + 1]), "f"(x[2 * t]));
}
extern "C" __global__ void halves_to_8(const unsigned* x, unsigned short* out, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) asm("cvt.rn.satfinite.KINDx2.f16x2 %0, %1;" : "=h"(out[t]) : "r"(x[t]));
}
extern "C" __global__ void from_8(const unsigned short* x, unsigned* out, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) asm("cvt.rn.f16x2.KINDx2 %0, %1;" : "=r"(out[t]) : "h"(x[t]));
}
"""
MOST = {"e4m3": 448.0, "e5m2": 57344.0}


def table_8(kind: str) -> np.ndarray:
    """The 256 values of a format, bit by bit."""
    bias, mantissa = (7, 3) if kind == "e4m3" else (15, 2)
    found = []
    for code in range(256):
        exponent, fraction = code >> mantissa & (15 if kind == "e4m3" else 31), code % 2**mantissa
        size = fraction * 2.0 ** (1 - bias - mantissa)
        if exponent:
            size = (2**mantissa + fraction) * 2.0 ** (exponent - bias - mantissa)
        if kind == "e4m3" and code % 128 == 127:
            size = np.nan
        if kind == "e5m2" and exponent == 31:
            size = np.nan if fraction else np.inf
        found.append(-size if code >= 128 else size)
    return np.array(found)


def code_of(value: float, kind: str) -> int:
    """The code of the nearest number of the format, the even one of two; the largest for what is larger."""
    if np.isnan(value):
        return 0x7F
    table = [(abs(size - min(abs(value), MOST[kind])), code % 2, code)
             for code, size in enumerate(table_8(kind)[:128]) if np.isfinite(size)]  # fmt: skip
    return min(table)[2] | (128 if np.signbit(value) else 0)


def numbers_8(kind: str, dtype) -> np.ndarray:
    """Each number of the format, what lies in the middle of two, just beside that, and what is too large or none."""
    table = np.unique(np.abs(table_8(kind)[np.isfinite(table_8(kind))]))
    middles = (table[1:] + table[:-1]) / 2
    beside = [np.nextafter(middles.astype(dtype), dtype(limit)) for limit in (0, np.inf)]
    sizes = np.concatenate([table, middles, *beside, [MOST[kind] * 1.03, 65504.0, np.inf, np.nan]])
    signed = np.concatenate([sizes, -sizes]).astype(dtype)
    return np.resize(signed, -(-len(signed) // 64) * 64)


def to_8_case(kind: str) -> Case:
    def make() -> list:
        x = numbers_8(kind, np.float32)
        return [x, poison(len(x), np.uint16), np.int32(len(x) // 2)]

    def reference(args: list) -> dict[int, np.ndarray]:
        plain = [code_of(value, kind) for value in args[0]]
        relu = [0 if value < 0 or (np.signbit(value) and not np.isnan(value)) else code
                for value, code in zip(args[0], plain)]  # fmt: skip
        pairs = [np.array(codes[::2]) | np.array(codes[1::2]) << 8 for codes in (plain, relu)]
        return {1: np.stack(pairs, axis=1).ravel().astype(np.uint16)}

    blocks = -(-len(numbers_8(kind, np.float32)) // 256)
    return Case(
        f"cvt_{kind}x2_f32",
        TO_8.replace("KIND", kind),
        "to_8",
        make,
        (blocks,),
        (128,),
        reference,
        options=HOPPER,
    )


def halves_to_8_case(kind: str) -> Case:
    def make() -> list:
        x = numbers_8(kind, np.float16)
        return [x.view(np.uint32), poison(len(x) // 2, np.uint16), np.int32(len(x) // 2)]

    def reference(args: list) -> dict[int, np.ndarray]:
        codes = [code_of(float(value), kind) for value in args[0].view(np.float16)]
        return {1: (np.array(codes[::2]) | np.array(codes[1::2]) << 8).astype(np.uint16)}

    blocks = -(-len(numbers_8(kind, np.float16)) // 256)
    source = TO_8.replace("KIND", kind)
    return Case(
        f"cvt_{kind}x2_f16x2", source, "halves_to_8", make, (blocks,), (128,), reference, options=HOPPER
    )


def from_8_case(kind: str) -> Case:
    def make() -> list:
        return [np.arange(256, dtype=np.uint8).view(np.uint16), poison(256, np.float16), np.int32(128)]

    def reference(args: list) -> dict[int, np.ndarray]:
        return {1: table_8(kind).astype(np.float16)}

    source = (
        TO_8.replace("KIND", kind)
        .replace("unsigned* out", "void* to")
        .replace('"=r"(out[t])', '"=r"(((unsigned*)to)[t])')
    )
    return Case(f"cvt_f16x2_{kind}x2", source, "from_8", make, (1,), (128,), reference, options=HOPPER)


CASES = [
    *(mma_case(*form) for form in FORMS),
    overflow_case("mma_s8_wraps", SATURATES.replace(".satfinite", ""), False),
    overflow_case("mma_s8_satfinite", SATURATES, True),
    Case("mma_tf32_rough", ROUGH, "mma_once", rough_args, (1,), (32,), rough_reference, exact=False, rtol=1e-5,
         atol=1e-5, options=("--std=c++17", "-arch=sm_80")),
    *(of(kind) for of in (to_8_case, halves_to_8_case, from_8_case) for kind in ("e4m3", "e5m2")),
]  # fmt: skip
