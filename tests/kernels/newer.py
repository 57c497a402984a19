"""Instructions that came later than the other cases: what mma.sync knows besides half floats, 8-bit floats, vector
atomics and those of 16 bytes, grid.sync, griddepcontrol, elect, and the fences of clusters.

`python -m research.record_newer` freezes what an H100 gives. The layouts of the fragments are written down here
once more, from the tables of the PTX ISA and not from the simulator.
"""

import numpy as np

from tests.kernels.case import CPP17, Case, poison, random

FROZEN = "newer_h100"
"""The files with what a GPU gave."""
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
    """0, 1, 1.5, 2, 3 and those below 0, and their codes as floats of 8 bits: 1.0 is 0x38 and 0x3c. A tensor core keeps
    some 14 bits of sums of such numbers: these need fewer."""
    bias, mantissa = (7, 3) if kind == "e4m3" else (15, 2)
    codes = {0.0: 0}
    for exponent in (0, 1):
        for half in (0, 1):
            value = (1 + half / 2) * 2.0**exponent
            codes[value] = (exponent + bias) << mantissa | half << (mantissa - 1)
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

    options = HOPPER if a in ("e4m3", "e5m2") else CPP17
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

    return Case(name, source, "mma_once", make, (1,), (32,), reference)


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


# --------------------------------------------------------------------------- atomics

VECTORS = r"""
#include <cuda_fp16.h>
extern "C" __global__ void vectors(float2* pairs, float4* fours, unsigned* halves, float4* old)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&pairs[t % 8], make_float2(t, -t));
    float4 was = atomicAdd(&fours[t], make_float4(1, 2, 3, t));
    old[t] = was;
    asm volatile("red.global.add.v4.f32 [%0], {%1, %1, %2, %2};"
                 :: "l"(&fours[64 + t % 4]), "f"(1.0f), "f"(0.5f) : "memory");
    __half2 one = __floats2half2_rn(1, t % 4);
    unsigned bits = *(unsigned*)&one;
    asm volatile("red.global.add.noftz.v2.f16x2 [%0], {%1, %1};" :: "l"(&halves[t % 2 * 2]), "r"(bits) : "memory");
}
"""


def vectors_args() -> list:
    pairs, fours = np.zeros((8, 2), np.float32), np.arange(272, dtype=np.float32).reshape(68, 4)
    return [pairs, fours, np.zeros(8, np.float16), poison((64, 4), np.float32)]


def vectors_reference(args: list) -> dict[int, np.ndarray]:
    t = np.arange(64)
    pairs, fours, halves, old = args[0].copy(), args[1].copy(), np.zeros((2, 4)), args[1][:64].copy()
    np.add.at(pairs, t % 8, np.stack([t, -t], axis=1))
    fours[:64] += np.stack([1 + 0 * t, 2 + 0 * t, 3 + 0 * t, t], axis=1)
    fours[64:] += 16 * np.float32([1, 1, 0.5, 0.5])
    np.add.at(halves, t % 2, np.stack([1 + 0 * t, t % 4, 1 + 0 * t, t % 4], axis=1))
    return {0: pairs, 1: fours, 2: halves.astype(np.float16).ravel(), 3: old}


WIDE = r"""
struct alignas(16) Two { unsigned long long x, y; };
extern "C" __global__ void wide(Two* sum, Two* last, Two* old, Two* moved)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    Two seen{0, 0}, next;
    for (;;) {                                      // both halves at once: their difference stays
        next = Two{seen.x + t, seen.y - t};
        Two was = atomicCAS(sum, seen, next);
        if (was.x == seen.x && was.y == seen.y) break;
        seen = was;
    }
    old[t] = atomicExch(&last[t], Two{1ull * t, ~0ull - t});
    asm volatile("{ .reg .b128 q; .reg .b64 a, b;\n mov.b128 q, {%0, %1};\n mov.b128 {b, a}, q;\n"
                 "st.global.v2.b64 [%2], {a, b}; }" :: "l"(1ull * t), "l"(7ull * t), "l"(&moved[t]) : "memory");
}
"""


def wide_args() -> list:
    last = random(5).randint(0, 2**63 - 1, (64, 2)).astype(np.uint64)
    last[3] = 0x7FF0000000000001, 0x8000000000000000  # as floats a NaN and -0
    return [np.zeros((1, 2), np.uint64), last, poison((64, 2), np.uint64), poison((64, 2), np.uint64)]


def wide_reference(args: list) -> dict[int, np.ndarray]:
    t = np.arange(64, dtype=np.uint64)
    total = np.uint64(t.sum())
    return {0: np.array([[total, ~total + np.uint64(1)]]), 1: np.stack([t, ~t], axis=1), 2: args[1].copy(),
            3: np.stack([np.uint64(7) * t, t], axis=1)}  # fmt: skip


NEGATIVE = r"""
struct alignas(16) Two { double x, y; };
extern "C" __global__ void same_bits(Two* place, unsigned long long* out)
{
    // -0.0 and 0.0 are equal as numbers, a NaN is not equal to itself: bits decide.
    Two was = atomicCAS(&place[0], Two{0.0, 1.0}, Two{5.0, 5.0});
    out[0] = __double_as_longlong(was.x);
    Two nan{__longlong_as_double(0x7ff8000000000001ll), 2.0};
    was = atomicCAS(&place[1], nan, Two{6.0, 6.0});
    out[1] = __double_as_longlong(was.x);
}
"""


def negative_args() -> list:
    place = np.array([[-0.0, 1.0], [np.nan, 2.0]])
    place.view(np.uint64)[1, 0] = 0x7FF8000000000001
    return [place, poison(2, np.uint64)]


def negative_reference(args: list) -> dict[int, np.ndarray]:
    return {0: np.array([[-0.0, 1.0], [6.0, 6.0]]), 1: np.array([1 << 63, 0x7FF8000000000001], np.uint64)}


# --------------------------------------------------------------------------- grids and clusters

GRID_SYNC = r"""
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void turns(int* x, int n, int rounds)
{
    cg::grid_group grid = cg::this_grid();
    int t = grid.thread_rank();
    for (int round = 0; round < rounds; ++round) {
        int right = x[(t + 1) % n];
        grid.sync();
        x[t] = right + round;
        grid.sync();
    }
}
"""


def turns_args() -> list:
    return [np.arange(6 * 64, dtype=np.int32), np.int32(6 * 64), np.int32(3)]


def turns_reference(args: list) -> dict[int, np.ndarray]:
    return {0: np.roll(args[0], -3) + np.int32(0 + 1 + 2)}


DEPENDS = r"""
extern "C" __global__ void depends(const int* x, int* y)
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
    y[threadIdx.x] = x[threadIdx.x] * 2;
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
"""

ELECTS = r"""
extern "C" __global__ void elects(unsigned* out)
{
    unsigned leader, chosen;
    asm volatile("{ .reg .pred p;\n elect.sync %0|p, 0xffffffff;\n selp.u32 %1, 1, 0, p; }"
                 : "=r"(leader), "=r"(chosen));
    bool one = __popc(__ballot_sync(~0u, chosen)) == 1;
    out[threadIdx.x] = one && leader < 32 && chosen == (threadIdx.x % 32 == leader);
}
"""

FENCES = r"""
#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
extern "C" __global__ void __cluster_dims__(2, 1, 1) fences(int* out)
{
    __shared__ unsigned long long full;
    __shared__ int slot[32];
    unsigned rank = blockIdx.x % 2, t = threadIdx.x, there, bar;
    if (t == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;\n fence.mbarrier_init.release.cluster;"
                     :: "r"(AT(&full)) : "memory");
    asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(AT(&slot[t])), "r"(rank ^ 1));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(bar) : "r"(AT(&full)), "r"(rank ^ 1));
    asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(there), "r"(t + 100 * rank) : "memory");
    asm volatile("fence.acq_rel.cluster;\n mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];"
                 :: "r"(bar) : "memory");
    asm volatile("{ .reg .pred p;\nagain:\n mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 p, [%0], 0;\n"
                 "@!p bra again; }" :: "r"(AT(&full)) : "memory");
    asm volatile("fence.acquire.sync_restrict::shared::cluster.cluster;" ::: "memory");
    asm volatile("fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;" ::: "memory");
    out[blockIdx.x * 32 + t] = slot[31 - t];
    asm volatile("fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;" ::: "memory");
    asm volatile("fence.release.sync_restrict::shared::cta.cluster;" ::: "memory");
    asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
}
"""


def fences_reference(args: list) -> dict[int, np.ndarray]:
    blocks = np.arange(4)[:, None]
    return {0: (31 - np.arange(32) + 100 * (1 - blocks % 2)).astype(np.int32)}


CASES = [
    *(mma_case(*form) for form in FORMS),
    overflow_case("mma_s8_wraps", SATURATES.replace(".satfinite", ""), False),
    overflow_case("mma_s8_satfinite", SATURATES, True),
    Case("mma_tf32_rough", ROUGH, "mma_once", rough_args, (1,), (32,), rough_reference, exact=False, rtol=1e-5,
         atol=1e-5),
    *(of(kind) for of in (to_8_case, halves_to_8_case, from_8_case) for kind in ("e4m3", "e5m2")),
    Case("vector_atomics", VECTORS, "vectors", vectors_args, (2,), (32,), vectors_reference, options=HOPPER),
    Case("wide_atomics", WIDE, "wide", wide_args, (2,), (32,), wide_reference, options=HOPPER),
    Case("wide_atomics_by_bits", NEGATIVE, "same_bits", negative_args, (1,), (1,), negative_reference, options=HOPPER),
    Case("grid_sync", GRID_SYNC, "turns", turns_args, (6,), (64,), turns_reference, cooperative=True),
    Case("grid_sync_sm90", GRID_SYNC, "turns", turns_args, (6,), (64,), turns_reference, options=HOPPER,
         cooperative=True),
    Case("griddepcontrol", DEPENDS, "depends", lambda: [np.arange(32, dtype=np.int32), poison(32, np.int32)], (1,),
         (32,), lambda args: {1: args[0] * 2}, options=HOPPER),
    Case("elect_one", ELECTS, "elects", lambda: [poison(64, np.uint32)], (1,), (64,),
         lambda args: {0: np.ones(64, np.uint32)}, options=HOPPER),
    Case("fences_of_a_cluster", FENCES, "fences", lambda: [poison((4, 32), np.int32)], (4,), (32,), fences_reference,
         options=HOPPER),
]  # fmt: skip
