"""Arithmetic, control flow and everything one thread does alone."""

import math
from fractions import Fraction

import numpy as np

from tests.kernels.case import Case, fma32, from_bf16, poison, random, scaled, to_bf16

# -- y = a * x + y in four number formats ------------------------------------------------------------------

SAXPY = r"""
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""


def saxpy_args():
    rng = random(1)
    return [np.float32(1.7), rng.randn(1000).astype("f4"), rng.randn(1000).astype("f4"), np.int32(1000)]


DAXPY = r"""
extern "C" __global__ void daxpy(double a, const double* x, double* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = a * x[i] + y[i];
}
"""


def daxpy_args():
    rng = random(2)
    return [np.float64(-0.3), rng.randn(500), rng.randn(500), np.int32(500)]


def fma64(a: float, b: float, c: float) -> float:
    """a * b + c rounded once, by exact fractions."""
    return float(Fraction(a) * Fraction(b) + Fraction(c))


def daxpy_reference(args):
    a, x, y, _ = args
    return {2: np.array([fma64(float(a), u, v) for u, v in zip(x.tolist(), y.tolist(), strict=True)])}


HAXPY = r"""
#include <cuda_fp16.h>
extern "C" __global__ void haxpy(float a, const __half* x, __half* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = __hfma(__float2half(a), x[i], y[i]);
}
"""


def haxpy_args():
    rng = random(3)
    return [np.float32(0.75), rng.randn(700).astype("f2"), rng.randn(700).astype("f2"), np.int32(700)]


def haxpy_reference(args):
    a, x, y, _ = args
    # Normal fp16 values of similar size: product and sum are exact in float64, so this rounds once.
    return {2: (np.float64(a) * x.astype("f8") + y.astype("f8")).astype("f2")}


BAXPY = r"""
#include <cuda_bf16.h>
extern "C" __global__ void baxpy(float a, const __nv_bfloat16* x, __nv_bfloat16* y, __nv_bfloat16* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    z[i] = __hfma(__float2bfloat16(a), x[i], y[i]);
    y[i] = __float2bfloat16(a * __bfloat162float(x[i]) + __bfloat162float(y[i]));
}
"""


def baxpy_args():
    rng = random(4)
    x, y = to_bf16(rng.randn(700)), to_bf16(rng.randn(700))
    return [np.float32(0.75), x, y, poison(700, "u2"), np.int32(700)]


def baxpy_reference(args):
    a, x, y, *_ = args
    wide = fma32(a, from_bf16(x), from_bf16(y))  # exact here: 8-bit factors, exponents close together
    return {2: to_bf16(wide), 3: to_bf16(wide)}


SUBNORMALS = r"""
// Subnormal inputs and results are flushed to a zero of the same sign (-ftz=true).
extern "C" __global__ void subnormals(const float* x, const float* y, float* out, int n) {
    int i = threadIdx.x;
    out[i] = x[i] + y[i];
    out[n + i] = x[i] * y[i];
    out[2 * n + i] = fmaf(x[i], y[i], x[i]);
    out[3 * n + i] = fmaxf(x[i], y[i]);
}
"""


def subnormals_args():
    tiny = np.array([1e-40, -1e-40, 1.2e-38, -1.2e-38, 2e-38, 1e-20, -1e-20, 0.0, -0.0, 1.0], "f4")
    x, y = (part.ravel() for part in np.meshgrid(tiny, tiny))
    return [x.copy(), y.copy(), poison((4, x.size), "f4"), np.int32(x.size)]


def flush(values: np.ndarray) -> np.ndarray:
    small = np.abs(values) < np.finfo("f4").tiny
    return np.where(small, np.copysign(np.float32(0), values), values).astype("f4")


def subnormals_reference(args):
    x, y = flush(args[0]), flush(args[1])
    larger = np.where(x == y, np.where(np.signbit(x), y, x), np.maximum(x, y))  # +0 is larger than -0
    return {2: np.stack([flush(x + y), flush(x * y), flush(fma32(x, y, x)), flush(larger)])}


FLOAT4 = r"""
extern "C" __global__ void add_float4(const float4* __restrict__ x, const float4* __restrict__ y, float4* z,
                                      int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 a = __ldg(x + i), b = __ldg(y + i);
        z[i] = make_float4(a.x + b.x, a.y - b.y, a.z * b.z, a.w + 2.0f);
    }
}
"""


def float4_args():
    rng = random(5)
    x, y = rng.randn(150, 4).astype("f4"), rng.randn(150, 4).astype("f4")
    return [x, y, poison((150, 4), "f4"), np.int32(150)]


def float4_reference(args):
    x, y = args[:2]
    columns = [x[:, 0] + y[:, 0], x[:, 1] - y[:, 1], x[:, 2] * y[:, 2], x[:, 3] + np.float32(2)]
    return {2: np.stack(columns, axis=1)}


# -- control flow ------------------------------------------------------------------------------------------

COLLATZ = r"""
extern "C" __global__ void collatz(const unsigned* start, int* steps, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned value = start[i];
    int count = 0;
    while (value != 1) {
        if (value % 2 == 0)
            value /= 2;
        else
            value = 3 * value + 1;
        ++count;
    }
    steps[i] = count;
}
"""


def collatz_args():
    return [np.arange(1, 301, dtype="u4"), poison(300, "i4"), np.int32(300)]


def collatz_reference(args):
    def steps(value):
        count = 0
        while value != 1:
            value = value // 2 if value % 2 == 0 else 3 * value + 1
            count += 1
        return count

    return {1: np.array([steps(int(v)) for v in args[0]], "i4")}


GCD = r"""
extern "C" __global__ void gcd(const int* a, const int* b, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int x = a[i], y = b[i];
    do {
        int rest = x % y;
        x = y;
        y = rest;
    } while (y != 0);
    out[i] = x;
}
"""


def gcd_args():
    rng = random(6)
    a, b = rng.randint(1, 10**6, 256), rng.randint(1, 10**4, 256)
    return [a.astype("i4"), b.astype("i4"), poison(256, "i4")]


EARLY_RETURN = r"""
extern "C" __global__ void early_return(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value = x[i];
    if (value < 0.0f) {
        out[i] = -1.0f;
        return;
    }
    for (int step = 0; step < 10; ++step) {
        value = value * 0.5f;
        if (value < 0.125f) {
            out[i] = (float)step;
            return;
        }
    }
    out[i] = value;
}
"""


def early_return_args():
    return [(random(7).randn(500) * 200).astype("f4"), poison(500, "f4"), np.int32(500)]


def early_return_reference(args):
    def one(value):
        if value < 0:
            return -1.0
        for step in range(10):
            value *= 0.5
            if value < 0.125:
                return step
        return value

    return {1: np.array([one(float(v)) for v in args[0]], "f4")}


NESTED = r"""
extern "C" __global__ void nested(const int* x, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int total = 0;
    for (int outer = 0; outer < n; ++outer) {
        if ((x[outer] ^ i) & 1) continue;
        for (int inner = outer; inner < n; ++inner) {
            if (x[inner] == i % 7) break;
            if (x[inner] > 50) {
                if (i & 2) total += x[inner];
                else total -= inner;
            } else if (x[inner] > 25) {
                total ^= x[inner];
                continue;
            }
            ++total;
        }
        if (total > 2000) break;
    }
    out[i] = total;
}
"""


def nested_args():
    return [random(8).randint(0, 100, 24).astype("i4"), poison(128, "i4"), np.int32(24)]


def nested_reference(args):
    x, n = args[0].tolist(), int(args[2])

    def one(i):
        total = 0
        for outer in range(n):
            if (x[outer] ^ i) & 1:
                continue
            for inner in range(outer, n):
                if x[inner] == i % 7:
                    break
                if x[inner] > 50:
                    total += x[inner] if i & 2 else -inner
                elif x[inner] > 25:
                    total ^= x[inner]
                    continue
                total += 1
            if total > 2000:
                break
        return total

    return {1: np.array([one(i) for i in range(128)], "i4")}


SWITCH = r"""
extern "C" __global__ void switch_table(const int* operation, const int* x, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = x[i];
    switch (operation[i]) {
        case 0: v = v + 3; break;
        case 1: v = v * 7; break;
        case 2: v = v ^ 0x55; break;
        case 3: v = v << 3;  // falls through
        case 4: v = v - 11; break;
        case 5: out[i] = 1234; return;
        case 6: for (int k = 0; k < v % 5; ++k) v += k * v; break;
        case 7: v = v / 3; break;
        default: v = -v;
    }
    out[i] = v;
}
"""


def switch_args():
    rng = random(9)
    return [rng.randint(-1, 10, 192).astype("i4"), rng.randint(0, 1000, 192).astype("i4"), poison(192, "i4")]


def switch_reference(args):
    def one(operation, v):
        if operation == 5:
            return 1234
        if operation == 6:
            k = 0
            while k < v % 5:
                v += k * v
                k += 1
            return v
        table = {0: v + 3, 1: v * 7, 2: v ^ 0x55, 3: (v << 3) - 11, 4: v - 11, 7: v // 3}
        return table.get(operation, -v)

    return {2: np.array([one(o, v) for o, v in zip(args[0].tolist(), args[1].tolist(), strict=True)], "i4")}


MANDELBROT = r"""
extern "C" __global__ void mandelbrot(int* out, int width, int height, int limit) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height) return;
    float cx = __fmaf_rn((float)column, 0.0625f, -2.0f), cy = __fmaf_rn((float)row, 0.0625f, -1.0f);
    float x = 0.0f, y = 0.0f;
    int step = 0;
    for (; step < limit; ++step) {
        float xx = __fmul_rn(x, x), yy = __fmul_rn(y, y);
        if (__fadd_rn(xx, yy) > 4.0f) break;
        y = __fmaf_rn(2.0f * x, y, cy);
        x = __fadd_rn(__fsub_rn(xx, yy), cx);
    }
    out[row * width + column] = step;
}
"""


def mandelbrot_args():
    return [poison((33, 45), "i4"), np.int32(45), np.int32(33), np.int32(40)]


def mandelbrot_reference(args):
    height, width = args[0].shape
    cx = np.broadcast_to(fma32(np.arange(width), 0.0625, -2.0), (height, width))
    cy = np.broadcast_to(fma32(np.arange(height), 0.0625, -1.0)[:, None], (height, width))
    x, y = np.zeros((2, height, width), "f4")
    out = np.full((height, width), 40, "i4")
    for step in range(40):
        xx, yy = x * x, y * y
        out[(xx + yy > 4) & (out == 40)] = step
        inside = out == 40
        x, y = np.where(inside, xx - yy + cx, x), np.where(inside, fma32(2 * x, y, cy), y)
    return {0: out}


LOCAL_ARRAY = r"""
// Each thread counts the hexadecimal digits of its number: the index is known only when it runs.
extern "C" __global__ void digits(const unsigned* x, int* most, int* counts_out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int counts[16];
    for (int d = 0; d < 16; ++d) counts[d] = 0;
    for (unsigned rest = x[i]; rest != 0; rest >>= 4) ++counts[rest & 15];
    int best = 0;
    for (int d = 1; d < 16; ++d)
        if (counts[d] > counts[best]) best = d;
    most[i] = best;
    counts_out[i] = counts[x[i] % 16];
}
"""


def local_array_args():
    x = random(10).randint(0, 2**31, 128).astype("u4") * np.uint32(2) + np.uint32(1)
    return [x, poison(128, "i4"), poison(128, "i4")]


def local_array_reference(args):
    most, counts = [], []
    for value in args[0].tolist():
        digits = [int(d, 16) for d in f"{value:x}"]
        most.append(max(range(16), key=lambda d: digits.count(d)))
        counts.append(digits.count(value % 16))
    return {1: np.array(most, "i4"), 2: np.array(counts, "i4")}


FUNCTIONS = r"""
__device__ __forceinline__ int square(int v) { return v * v; }

__device__ __noinline__ float horner(const float* coefficients, int n, float x) {
    float value = 0.0f;
    for (int k = n - 1; k >= 0; --k) value = value * x + coefficients[k];
    return value;
}

__device__ __noinline__ void swap_if(bool yes, int& a, int& b) {
    if (yes) {
        int keep = a;
        a = b;
        b = keep;
    }
}

extern "C" __global__ void functions(const float* coefficients, const float* x, float* y, int* pairs, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = horner(coefficients, n, x[i]);
    if (x[i] > 0.0f) y[i] += horner(coefficients + 1, n - 1, -x[i]);   // called by a part of each warp
    int a = square(i), b = 1000 - i;
    swap_if(a > b, a, b);
    pairs[2 * i] = a;
    pairs[2 * i + 1] = b;
}
"""


def functions_args():
    rng = random(11)
    x = rng.randn(96).astype("f4")
    return [rng.randn(5).astype("f4"), x, poison(96, "f4"), poison((96, 2), "i4"), np.int32(5)]


def functions_reference(args):
    c, x = args[:2]

    def horner(coefficients, x):
        value = np.zeros_like(x)
        for k in coefficients[::-1]:
            value = fma32(value, x, k)
        return value

    y = horner(c, x)
    y = np.where(x > 0, y + horner(c[1:], -x), y)
    i = np.arange(96)
    return {2: y, 3: np.sort(np.stack([i * i, 1000 - i], axis=1), axis=1).astype("i4")}


TEMPLATE = r"""
template <typename T, int COPIES>
__global__ void repeat(const T* x, T* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        for (int copy = 0; copy < COPIES; ++copy) out[copy * n + i] = x[i] + static_cast<T>(copy);
}
"""


def template_args(dtype, copies):
    def make():
        return [np.arange(90).astype(dtype), poison((copies, 90), dtype), np.int32(90)]

    return make


def template_reference(args):
    x, out, _ = args
    return {1: x[None, :] + np.arange(out.shape[0]).astype(x.dtype)[:, None]}


# -- integers ----------------------------------------------------------------------------------------------

DIVISION = r"""
extern "C" __global__ void division(const int* a, const int* b, const long long* c, const long long* d,
                                    int* out, unsigned* outu, long long* outl, unsigned long long* outul,
                                    int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = a[i] / b[i];
    out[n + i] = a[i] % b[i];
    out[2 * n + i] = a[i] / 7;
    outu[i] = (unsigned)a[i] / (unsigned)b[i];
    outu[n + i] = (unsigned)a[i] % 10u;
    outl[i] = c[i] / d[i];
    outl[n + i] = c[i] % d[i];
    outul[i] = (unsigned long long)c[i] / (unsigned long long)d[i];
    outul[n + i] = (unsigned long long)c[i] % 1000000007ull;
}
"""


def division_args():
    rng, n = random(12), 200
    a = rng.randint(-(2**31), 2**31, n).astype("i4")
    b = rng.randint(1, 3000, n).astype("i4") * rng.choice([-1, 1], n).astype("i4")
    c = rng.randint(-(2**62), 2**62, n).astype("i8")
    d = rng.randint(1, 10**12, n).astype("i8") * rng.choice([-1, 1], n).astype("i8")
    outputs = [poison((3, n), "i4"), poison((2, n), "u4"), poison((2, n), "i8"), poison((2, n), "u8")]
    return [a, b, c, d, *outputs, np.int32(n)]


def quotient(a: int, b: int) -> int:
    """Rounded towards zero, as in C."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def division_reference(args):
    a, b, c, d = (x.tolist() for x in args[:4])
    ab, cd = list(zip(a, b, strict=True)), list(zip(c, d, strict=True))
    quotients, rests = [quotient(x, y) for x, y in ab], [x - quotient(x, y) * y for x, y in ab]
    sevenths = [quotient(x, 7) for x in a]
    return {
        4: np.array([quotients, rests, sevenths], "i4"),
        5: np.array([[x % 2**32 // (y % 2**32) for x, y in ab], [x % 2**32 % 10 for x in a]], "u4"),
        6: np.array([[quotient(x, y) for x, y in cd], [x - quotient(x, y) * y for x, y in cd]], "i8"),
        7: np.array([[x % 2**64 // (y % 2**64) for x, y in cd], [x % 2**64 % 1000000007 for x in c]], "u8"),
    }


INT64 = r"""
extern "C" __global__ void int64(const long long* a, const long long* b, const int* s, long long* out,
                                 int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long ua = a[i], ub = b[i];
    out[i] = ua + ub;
    out[n + i] = ua * ub;
    out[2 * n + i] = __mul64hi(a[i], b[i]);
    out[3 * n + i] = __umul64hi(ua, ub);
    out[4 * n + i] = a[i] >> s[i];
    out[5 * n + i] = ua >> s[i];
    out[6 * n + i] = ua << s[i];
    out[7 * n + i] = a[i] < b[i] ? a[i] : b[i];
    out[8 * n + i] = (long long)s[i] * (int)b[i] - 5;
    out[9 * n + i] = __mulhi((int)a[i], (int)b[i]) + (long long)__umulhi((unsigned)ua, (unsigned)ub);
}
"""


def int64_args():
    rng, n = random(13), 160
    a, b = rng.randint(-(2**62), 2**62, (2, n)) * 2 + rng.randint(0, 2, (2, n))
    return [a, b, rng.randint(0, 64, n).astype("i4"), poison((10, n), "i8"), np.int32(n)]


def signed(value: int, width: int) -> int:
    value %= 1 << width
    return value - (1 << width) if value >> (width - 1) else value


def int64_reference(args):
    def one(a, b, s):
        ua, ub = a % 2**64, b % 2**64
        low = signed(b, 32)
        high = signed(a, 32) * low >> 32
        return [
            ua + ub, ua * ub, a * b >> 64, ua * ub >> 64, a >> s, ua >> s, ua << s, min(a, b),
            s * low - 5, high + (a % 2**32 * (b % 2**32) >> 32),
        ]  # fmt: skip

    rows = [one(*row) for row in zip(*(x.tolist() for x in args[:3]), strict=True)]
    return {3: np.array([[signed(v, 64) for v in row] for row in rows], "i8").T.copy()}


BITS = r"""
extern "C" __global__ void bit_tricks(const unsigned* x, const unsigned* y, unsigned* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned a = x[i], b = y[i];
    unsigned long long wide = ((unsigned long long)a << 32) | b;
    out[i] = __popc(a);
    out[n + i] = __clz(a);
    out[2 * n + i] = __ffs(a);
    out[3 * n + i] = __brev(a);
    out[4 * n + i] = __byte_perm(a, b, 0x2604);
    out[5 * n + i] = __funnelshift_l(a, b, 13);
    out[6 * n + i] = __funnelshift_r(a, b, b);
    out[7 * n + i] = __popcll(wide) + 100 * __clzll(wide);
    out[8 * n + i] = (a >> 5) & 0x3ff;
    out[9 * n + i] = (a & b) | (~a & (b >> 1)) ^ (a << (b % 32));
    out[10 * n + i] = __vadd4(a, b);
    out[11 * n + i] = __sad((int)a, (int)b, 3u) + abs((int)b);
}
"""


def bits_args():
    rng, n = random(14), 100
    x = rng.randint(0, 2**32, n, dtype="u8").astype("u4")
    x[:6] = [0, 1, 0x80000000, 0xFFFFFFFF, 0x10, 0x00FF0000]
    y = rng.randint(0, 2**32, n, dtype="u8").astype("u4")
    return [x, y, poison((12, n), "u4"), np.int32(n)]


def bits_reference(args):
    def one(a, b):
        wide, eight = a << 32 | b, (b << 32 | a).to_bytes(8, "little")
        signed_a, signed_b = signed(a, 32), signed(b, 32)
        return [
            bin(a).count("1"), 32 - a.bit_length(), (a & -a).bit_length(), int(f"{a:032b}"[::-1], 2),
            int.from_bytes([eight[i] for i in (4, 0, 6, 2)], "little"),
            (b << 32 | a) << 13 >> 32, (b << 32 | a) >> b % 32,
            bin(wide).count("1") + 100 * (64 - wide.bit_length()), a >> 5 & 0x3FF,
            (a & b) | (~a & b >> 1) ^ (a << b % 32),
            sum((((a >> s) + (b >> s)) & 255) << s for s in (0, 8, 16, 24)),
            abs(signed_a - signed_b) + 3 + abs(signed_b),
        ]  # fmt: skip

    rows = [one(*pair) for pair in zip(args[0].tolist(), args[1].tolist(), strict=True)]
    return {2: np.array([[v % 2**32 for v in row] for row in rows], "u4").T.copy()}


BYTES = r"""
extern "C" __global__ void gray(const unsigned char* rgb, unsigned char* out, signed char* delta, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int red = rgb[3 * i], green = rgb[3 * i + 1], blue = rgb[3 * i + 2];
    out[i] = (unsigned char)((77 * red + 150 * green + 29 * blue) >> 8);
    delta[i] = (signed char)(red - blue);
}
"""


def bytes_args():
    rgb = random(15).randint(0, 256, (200, 3)).astype("u1")
    return [rgb, poison(200, "u1"), poison(200, "i1"), np.int32(200)]


def bytes_reference(args):
    red, green, blue = args[0].astype("i4").T
    return {
        1: (77 * red + 150 * green + 29 * blue >> 8).astype("u1"),
        2: (red - blue).astype("u1").view("i1"),
    }


# -- floating point ----------------------------------------------------------------------------------------

FLOAT_EXACT = r"""
extern "C" __global__ void float_exact(const float* x, const float* y, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = x[i], b = y[i];
    out[i] = a / b;
    out[n + i] = sqrtf(fabsf(a));
    out[2 * n + i] = __frcp_rn(b);
    out[3 * n + i] = floorf(a) + ceilf(b);
    out[4 * n + i] = rintf(a) - truncf(b);
    out[5 * n + i] = fminf(a, b);
    out[6 * n + i] = copysignf(a, b);
    out[7 * n + i] = __fadd_rz(a, b);
    out[8 * n + i] = __saturatef(a);
    out[9 * n + i] = (a < b) ? a : (isnan(a) ? 7.0f : -b);
}
"""


def float_exact_args():
    rng, n = random(16), 300
    x, y = scaled(rng, (2, n), 8).astype("f4")
    x[:4], y[:4] = [np.nan, 0.0, 2.5, -2.5], [1.0, -4.0, 3.5, -3.5]
    return [x, y, poison((10, n), "f4"), np.int32(n)]


def toward_zero(exact: np.ndarray) -> np.ndarray:
    """float64 to float32, rounded towards zero."""
    nearest = exact.astype("f4")
    too_far = np.abs(nearest.astype("f8")) > np.abs(exact)
    return np.where(too_far, np.nextafter(nearest, np.float32(0)), nearest)


def float_exact_reference(args):
    x, y = args[:2]
    with np.errstate(invalid="ignore"):
        rows = [
            x / y, np.sqrt(np.abs(x)), np.float32(1) / y, np.floor(x) + np.ceil(y), np.rint(x) - np.trunc(y),
            np.fmin(x, y), np.copysign(x, y), toward_zero(x.astype("f8") + y.astype("f8")),
            np.where(np.isnan(x), np.float32(0), np.clip(x, 0, 1)),
            np.where(x < y, x, np.where(np.isnan(x), np.float32(7), -y)),
        ]  # fmt: skip
    return {2: np.stack(rows)}


CONVERSIONS = r"""
extern "C" __global__ void conversions(const float* x, const double* d, const long long* k, int* out,
                                       float* outf, long long* outl, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = __float2int_rz(x[i]);
    out[n + i] = __float2int_rn(x[i]);
    out[2 * n + i] = __float2int_rd(x[i]);
    out[3 * n + i] = __float2int_ru(x[i]);
    out[4 * n + i] = __float2uint_rz(x[i]);
    out[5 * n + i] = __double2int_rn(d[i]);
    out[6 * n + i] = (short)(int)k[i] + (signed char)k[i];
    outf[i] = (float)k[i];
    outf[n + i] = (float)d[i];
    outf[2 * n + i] = (float)(int)k[i];
    outf[3 * n + i] = (float)(unsigned char)k[i];
    outl[i] = __double2ll_rz(d[i]);
    outl[n + i] = __double_as_longlong((double)x[i]);
    outl[2 * n + i] = __float_as_int(x[i]);
}
"""


def conversions_args():
    rng, n = random(17), 120
    x = scaled(rng, n, 14).astype("f4")
    x[:8] = [0.5, 1.5, -0.5, -2.5, 3e9, -3e9, 1e20, -1e20]
    d = scaled(rng, n, 40)
    k = rng.randint(-(2**62), 2**62, n).astype("i8")
    return [x, d, k, poison((7, n), "i4"), poison((4, n), "f4"), poison((3, n), "i8"), np.int32(n)]


def conversions_reference(args):
    x, d, k = args[:3]
    wide = x.astype("f8")

    def clip(values, low, high):
        return np.array([min(max(int(v), low), high) for v in values], "i8")

    int32 = (-(2**31), 2**31 - 1)
    rows = [clip(f(wide), *int32) for f in (np.trunc, np.rint, np.floor, np.ceil)]
    rows.append(clip(np.trunc(wide), 0, 2**32 - 1))
    rows.append(clip(np.rint(d), *int32))
    rows.append(k.astype("i2").astype("i8") + k.astype("i1").astype("i8"))
    low, lowest = k.astype("i4"), k.astype("u1")
    return {
        3: np.stack(rows).astype("u4").view("i4"),
        4: np.stack([k.astype("f4"), d.astype("f4"), low.astype("f4"), lowest.astype("f4")]),
        5: np.stack([clip(np.trunc(d), -(2**63), 2**63 - 1), wide.view("i8"), x.view("i4").astype("i8")]),
    }


MATH_FLOAT = r"""
extern "C" __global__ void math_float(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i], p = fabsf(v) + 0.01f;
    out[i] = expf(fminf(v, 60.0f) * 0.1f);
    out[n + i] = logf(p);
    out[2 * n + i] = sinf(v);
    out[3 * n + i] = cosf(v);
    out[4 * n + i] = sqrtf(p);
    out[5 * n + i] = rsqrtf(p);
    out[6 * n + i] = powf(p, 1.7f);
    out[7 * n + i] = tanhf(v * 0.1f);
    out[8 * n + i] = atan2f(v, 2.0f);
    out[9 * n + i] = exp2f(fminf(v, 60.0f) * 0.1f);
    out[10 * n + i] = __expf(fminf(v, 60.0f) * 0.05f);
    out[11 * n + i] = erff(v * 0.05f);
}
"""


def math_float_args():
    x = (random(18).randn(200) * 20).astype("f4")
    x[:4] = [0.001, -0.001, 105700.0, -106000.0]  # the last two take the slow path of sinf
    return [x, poison((12, 200), "f4"), np.int32(200)]


def math_float_reference(args):
    x = args[0].astype("f8")
    tenth = (args[0] * np.float32(0.1)).astype("f8")
    twentieth = (args[0] * np.float32(0.05)).astype("f8")
    small = np.minimum(args[0], np.float32(60))
    small_tenth, small_twentieth = ((small * np.float32(f)).astype("f8") for f in (0.1, 0.05))
    p = (np.abs(args[0]) + np.float32(0.01)).astype("f8")
    erf = np.vectorize(math.erf)
    rows = [
        np.exp(small_tenth), np.log(p), np.sin(x), np.cos(x), np.sqrt(p), 1 / np.sqrt(p),
        p ** np.float64(np.float32(1.7)), np.tanh(tenth), np.arctan2(x, 2.0), np.exp2(small_tenth),
        np.exp(small_twentieth), erf(twentieth),
    ]  # fmt: skip
    return {1: np.stack(rows).astype("f4")}


MATH_DOUBLE = r"""
extern "C" __global__ void math_double(const double* x, double* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double v = x[i];
    out[i] = exp(v);
    out[n + i] = log(fabs(v));
    out[2 * n + i] = sin(v);
    out[3 * n + i] = sqrt(fabs(v));
    out[4 * n + i] = 1.0 / v;
    out[5 * n + i] = pow(fabs(v), 0.3);
    out[6 * n + i] = floor(v) + fmod(v, 0.7);
}
"""


def math_double_args():
    return [random(19).randn(100) * 5 + 0.01, poison((7, 100), "f8"), np.int32(100)]


def math_double_reference(args):
    x = args[0]
    p = np.abs(x)
    rows = [np.exp(x), np.log(p), np.sin(x), np.sqrt(p), 1 / x, p**0.3, np.floor(x) + np.fmod(x, 0.7)]
    return {1: np.stack(rows)}


HALF2 = r"""
#include <cuda_fp16.h>
extern "C" __global__ void half2_math(const __half2* x, const __half2* y, __half2* out, __half* sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half2 a = x[i], b = y[i];
    out[i] = __hadd2(a, b);
    out[n + i] = __hmul2(a, b);
    out[2 * n + i] = __hfma2(a, b, a);
    out[3 * n + i] = __hmax2(a, b);
    out[4 * n + i] = __lowhigh2highlow(__hneg2(a));
    float2 f = __half22float2(a);
    out[5 * n + i] = __floats2half2_rn(f.x * f.y, f.x - f.y);
    sums[i] = __hadd(__low2half(a), __high2half(a));
    sums[n + i] = __hlt(__low2half(a), __high2half(a)) ? __float2half(1.0f) : __int2half_rn(i);
}
"""


def half2_args():
    rng, n = random(20), 100
    x, y = rng.randn(2, n, 2).astype("f2")
    return [x, y, poison((6, n, 2), "f2"), poison((2, n), "f2"), np.int32(n)]


def half2_reference(args):
    x, y = args[:2]
    wide = x.astype("f8")
    single = x.astype("f4")
    both = np.stack([single[:, 0] * single[:, 1], single[:, 0] - single[:, 1]], axis=1).astype("f2")
    rows = [x + y, x * y, (wide * y + wide).astype("f2"), np.maximum(x, y), -x[:, ::-1], both]
    less = np.where(x[:, 0] < x[:, 1], np.float16(1), np.arange(len(x)).astype("f2"))
    return {2: np.stack(rows), 3: np.stack([x[:, 0] + x[:, 1], less])}


HALF_FUNCTIONS = r"""
#include <cuda_fp16.h>
extern "C" __global__ void half_functions(const __half* x, __half* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = hexp(x[i]);
    out[n + i] = hlog(x[i]);
    out[2 * n + i] = hsqrt(x[i]);
    out[3 * n + i] = hrcp(x[i]);
    out[4 * n + i] = hsin(x[i]);
    out[5 * n + i] = x[i] / __float2half(3.0f);
    out[6 * n + i] = htanh(x[i]);
}
"""


def half_functions_args():
    return [(np.arange(60) / 12 + 0.1).astype("f2"), poison((7, 60), "f2"), np.int32(60)]


def half_functions_reference(args):
    x = args[0].astype("f8")
    rows = [np.exp(x), np.log(x), np.sqrt(x), 1 / x, np.sin(x), x / 3, np.tanh(x)]
    return {1: np.stack(rows).astype("f2")}


# -- launch shape and memory spaces ------------------------------------------------------------------------

GRID_3D = r"""
extern "C" __global__ void grid_3d(int* out, int nx, int ny, int nz) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < nx && y < ny && z < nz)
        out[(z * ny + y) * nx + x] = x + 100 * y + 10000 * z + 1000000 * (int)(gridDim.z * blockDim.y);
}
"""


def grid_3d_args():
    return [poison((3, 11, 13), "i4"), np.int32(13), np.int32(11), np.int32(3)]


def grid_3d_reference(args):
    z, y, x = np.indices((3, 11, 13))
    return {0: (x + 100 * y + 10000 * z + 1000000 * 2 * 4).astype("i4")}


ODD_BLOCK = r"""
extern "C" __global__ void odd_block(const int* x, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[n - 1 - i] = x[i] + (int)blockDim.x * 1000;
}
"""


def odd_block_args():
    return [random(21).randint(0, 1000, 333).astype("i4"), poison(333, "i4"), np.int32(333)]


CONSTANT = r"""
__constant__ float taps[5] = {0.5f, -1.0f, 2.0f, 0.25f, 4.0f};
__device__ const int order[8] = {3, 1, 4, 0, 2, 7, 6, 5};

extern "C" __global__ void constants(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < 5; ++k)
        if (i + k < n) sum += taps[k] * x[i + k];
    out[i] = sum + taps[i % 5] * (float)order[i % 8];
}
"""


def constants_args():
    return [random(22).randint(-50, 50, 100).astype("f4"), poison(100, "f4"), np.int32(100)]


def constants_reference(args):
    taps = np.array([0.5, -1, 2, 0.25, 4], "f4")
    x = np.concatenate([args[0], np.zeros(4, "f4")])
    i = np.arange(100)
    out = sum(taps[k] * x[i + k] for k in range(5))
    return {1: (out + taps[i % 5] * np.array([3, 1, 4, 0, 2, 7, 6, 5])[i % 8]).astype("f4")}


CACHED = r"""
extern "C" __global__ void cached(const double* __restrict__ x, const short* __restrict__ s, double* out,
                                  volatile int* flags, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double value = __ldg(&x[i]) + __ldcs(&x[n - 1 - i]) + (double)__ldg(&s[i]);
    __stcg(&out[i], value);
    flags[i] = 1;
    flags[i] = flags[i] + 1;
}
"""


def cached_args():
    rng = random(23)
    x, s = rng.randint(-99, 99, 70).astype("f8"), rng.randint(-99, 99, 70).astype("i2")
    return [x, s, poison(70, "f8"), poison(70, "i4"), np.int32(70)]


def cached_reference(args):
    x, s = args[:2]
    return {2: x + x[::-1] + s, 3: np.full(70, 2, "i4")}


PRINT_ONE = r"""
extern "C" __global__ void print_one(const float* x, long long big, int small) {
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        printf("values %f %.3f %8.2f|%e|%g\n", x[0], x[1], x[2], x[1], x[0]);
        printf("integers %d %5d|%-5d|%05d %u %x %lld %c%%\n", small, small, small, small, 4000000000u, 255,
               big, 'z');
        printf("text %s, %s\n", "hello", small > 3 ? "more" : "less");
        printf("nothing\n");
    }
}
"""

PRINT_ALL = r"""
extern "C" __global__ void print_all(const int* x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i] > 2) printf("block %d thread %d has %d\n", blockIdx.x, threadIdx.x, x[i]);
}
"""


def print_one_args():
    return [np.array([1.5, 1 / 3, -12.345], "f4"), np.int64(-(2**40)), np.int32(42)]


PRINTED = """\
values 1.500000 0.333   -12.35|3.333333e-01|1.5
integers 42    42|42   |00042 4000000000 ff -1099511627776 z%
text hello, more
nothing
"""


def print_all_args():
    return [np.arange(80, dtype="i4") % 7]


CASES = [
    Case("saxpy_float", SAXPY, "saxpy", saxpy_args, (8,), (128,), lambda a: {2: fma32(a[0], a[1], a[2])}),
    Case("saxpy_double", DAXPY, "daxpy", daxpy_args, (2,), (96,), daxpy_reference),
    Case("saxpy_half", HAXPY, "haxpy", haxpy_args, (6,), (128,), haxpy_reference),
    Case("saxpy_bf16", BAXPY, "baxpy", baxpy_args, (6,), (128,), baxpy_reference),
    Case("subnormals", SUBNORMALS, "subnormals", subnormals_args, (1,), (100,), subnormals_reference),
    Case("add_float4", FLOAT4, "add_float4", float4_args, (2,), (96,), float4_reference),
    Case("collatz", COLLATZ, "collatz", collatz_args, (3,), (128,), collatz_reference),
    Case("gcd", GCD, "gcd", gcd_args, (2,), (128,), lambda a: {2: np.gcd(a[0], a[1])}),
    Case(
        "early_return", EARLY_RETURN, "early_return", early_return_args, (4,), (128,), early_return_reference,
    ),
    Case("nested_branches", NESTED, "nested", nested_args, (2,), (64,), nested_reference),
    Case("switch_table", SWITCH, "switch_table", switch_args, (3,), (64,), switch_reference),
    Case("mandelbrot", MANDELBROT, "mandelbrot", mandelbrot_args, (3, 5), (16, 8), mandelbrot_reference),
    Case("local_array", LOCAL_ARRAY, "digits", local_array_args, (2,), (64,), local_array_reference),
    Case("device_functions", FUNCTIONS, "functions", functions_args, (3,), (32,), functions_reference),
    Case(
        "template_float_3", TEMPLATE, "repeat<float, 3>", template_args("f4", 3), (3,), (32,),
        template_reference,
        name_expressions=("repeat<float, 3>", "repeat<short, 2>"),
    ),
    Case(
        "template_short_2", TEMPLATE, "repeat<short, 2>", template_args("i2", 2), (3,), (32,),
        template_reference,
        name_expressions=("repeat<float, 3>", "repeat<short, 2>"),
    ),
    Case("integer_division", DIVISION, "division", division_args, (2,), (128,), division_reference),
    Case("int64", INT64, "int64", int64_args, (2,), (96,), int64_reference),
    Case("bit_tricks", BITS, "bit_tricks", bits_args, (1,), (128,), bits_reference),
    Case("bytes", BYTES, "gray", bytes_args, (2,), (128,), bytes_reference),
    Case("float_exact", FLOAT_EXACT, "float_exact", float_exact_args, (3,), (128,), float_exact_reference),
    Case("conversions", CONVERSIONS, "conversions", conversions_args, (1,), (128,), conversions_reference),
    # A few units in the last place: NVIDIA allows 4 for powf, and ex2/lg2/sin.approx are approximations.
    Case(
        "math_float", MATH_FLOAT, "math_float", math_float_args, (2,), (128,), math_float_reference,
        exact=False, rtol=4e-6, atol=5e-7,
    ),
    Case(
        "math_double", MATH_DOUBLE, "math_double", math_double_args, (1,), (128,), math_double_reference,
        exact=False, rtol=1e-14, atol=1e-15,
    ),
    Case("half2_arithmetic", HALF2, "half2_math", half2_args, (1,), (128,), half2_reference),
    # Two units in the last place of a half.
    Case(
        "half_functions", HALF_FUNCTIONS, "half_functions", half_functions_args, (1,), (64,),
        half_functions_reference, exact=False, rtol=2e-3, atol=1e-4,
    ),
    Case("grid_3d", GRID_3D, "grid_3d", grid_3d_args, (2, 3, 2), (8, 4, 2), grid_3d_reference),
    Case(
        "odd_block", ODD_BLOCK, "odd_block", odd_block_args, (7,), (50,),
        lambda a: {1: (a[0] + np.int32(50000))[::-1].copy()},
    ),
    Case("constant_memory", CONSTANT, "constants", constants_args, (1,), (128,), constants_reference),
    Case("cache_hints", CACHED, "cached", cached_args, (1,), (96,), cached_reference),
    Case(
        "printf_one_thread", PRINT_ONE, "print_one", print_one_args, (2,), (32,), lambda a: {},
        prints=PRINTED,
    ),
    Case(
        "printf_many_threads", PRINT_ALL, "print_all", print_all_args, (2,), (40,), lambda a: {},
        prints="".join(f"block {i // 40} thread {i % 40} has {i % 7}\n" for i in range(80) if i % 7 > 2),
    ),
]  # fmt: skip
