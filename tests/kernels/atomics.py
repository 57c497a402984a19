"""Atomic operations on shared and global memory, and fences."""

import numpy as np

from tests.kernels.case import Case, poison, random

HISTOGRAM_GLOBAL = r"""
extern "C" __global__ void histogram_global(const unsigned char* x, unsigned* bins, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[x[i]], 1u);
}
"""

HISTOGRAM_SHARED = r"""
extern "C" __global__ void histogram_shared(const unsigned char* x, unsigned* bins, int n) {
    __shared__ unsigned mine[64];
    for (int b = threadIdx.x; b < 64; b += blockDim.x) mine[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&mine[x[i]], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < 64; b += blockDim.x)
        if (mine[b] != 0) atomicAdd(&bins[b], mine[b]);
}
"""


def histogram_args():
    return [random(1).randint(0, 64, 1500).astype("u1"), np.zeros(64, "u4"), np.int32(1500)]


def histogram_reference(args):
    return {1: np.bincount(args[0], minlength=64).astype("u4")}


SUMS = r"""
// The numbers are small integers, so every order of the additions gives the same sum.
extern "C" __global__ void atomic_sums(const float* x, float* sum, double* sum_double, long long* sum_long,
                                       int n) {
    __shared__ float of_block;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) of_block = 0.0f;
    __syncthreads();
    if (i < n) {
        atomicAdd(&of_block, x[i]);
        atomicAdd(&sum[1 + i % 3], x[i]);
        atomicAdd(sum_double, (double)x[i] * 0.25);
        atomicAdd((unsigned long long*)sum_long, (unsigned long long)((long long)x[i] << 33));
    }
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(&sum[0], of_block);
}
"""


def sums_args():
    x = random(2).randint(-100, 100, 500).astype("f4")
    return [x, np.zeros(4, "f4"), np.zeros(1, "f8"), np.zeros(1, "i8"), np.int32(500)]


def sums_reference(args):
    x = args[0]
    sums = [x.sum(), *(x[first::3].sum() for first in range(3))]
    total = int(x.sum())
    return {1: np.array(sums, "f4"), 2: np.array([total * 0.25]), 3: np.array([total << 33], "i8")}


OPERATIONS = r"""
extern "C" __global__ void atomic_operations(const int* x, int* out, unsigned* outu, long long* outl, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicMin(&out[0], x[i]);
    atomicMax(&out[1], x[i]);
    atomicSub(&out[2], x[i]);
    atomicMin(&outu[0], (unsigned)x[i]);
    atomicMax(&outu[1], (unsigned)x[i]);
    atomicAnd(&outu[2], (unsigned)x[i] | 0xff00u);
    atomicOr(&outu[3], 1u << (i % 20));
    atomicXor(&outu[4], (unsigned)x[i]);
    atomicInc(&outu[5], 40u);                  // counts 0, 1 ... 40, 0, 1 ...
    atomicDec(&outu[6], 16u);
    atomicMin(&outl[0], (long long)x[i] * 1000000007ll);
    atomicMax(&outl[1], (long long)x[i] * 1000000007ll);
}
"""


def operations_args():
    x = random(3).randint(-(2**31), 2**31, 200).astype("i4")
    start = np.array([2**31 - 1, -(2**31), 0], "i4")
    startu = np.array([2**32 - 1, 0, 2**32 - 1, 0, 0, 0, 0], "u4")
    return [x, start, startu, np.array([2**62, -(2**62)], "i8"), np.int32(200)]


def operations_reference(args):
    x = args[0]
    u = x.view("u4")
    twenty_ones = (1 << 20) - 1
    down = 0
    for _ in range(200):
        down = 16 if down == 0 or down > 16 else down - 1
    wide = x.astype("i8") * 1000000007
    unsigned = [
        u.min(), u.max(), np.bitwise_and.reduce(u | 0xFF00), twenty_ones, np.bitwise_xor.reduce(u), 200 % 41,
        down,
    ]  # fmt: skip
    return {
        1: np.array([x.min(), x.max(), signed32(-int(x.sum(dtype="i8")))], "i4"),
        2: np.array(unsigned, "u4"),
        3: np.array([wide.min(), wide.max()], "i8"),
    }


def signed32(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


EXCHANGE = r"""
extern "C" __global__ void exchange(int* slot, int* seen, int* claimed, int* owner_count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    seen[i] = atomicExch(slot, i);                            // a chain: what was there before me
    if (atomicCAS(&claimed[i % 10], -1, i % 10) == -1) atomicAdd(owner_count, 1);
}
"""


def exchange_args():
    return [
        np.array([-1], "i4"), poison(100, "i4"), np.full(10, -1, "i4"), np.zeros(1, "i4"), np.int32(100)
    ]  # fmt: skip


LARGEST = r"""
// The largest float, by compare-and-swap on its bits.
extern "C" __global__ void largest(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int* bits = reinterpret_cast<int*>(out);
    int old = *reinterpret_cast<volatile int*>(bits);
    while (__int_as_float(old) < x[i]) {
        int assumed = old;
        old = atomicCAS(bits, assumed, __float_as_int(x[i]));
        if (old == assumed) break;
    }
}
"""


def largest_args():
    return [random(4).randn(300).astype("f4"), np.array([-1e30], "f4"), np.int32(300)]


COMPACT = r"""
// Keep the even numbers; each warp asks once for as many places as it needs.
extern "C" __global__ void compact(const int* x, int* kept, int* count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    bool keep = i < n && x[i] % 2 == 0;
    unsigned who = __ballot_sync(0xffffffffu, keep);
    int first = 0;
    if (lane == 0) first = atomicAdd(count, __popc(who));
    first = __shfl_sync(0xffffffffu, first, 0);
    if (keep) kept[first + __popc(who & ((1u << lane) - 1))] = x[i];
}
"""


def compact_args():
    x = random(5).randint(0, 1000, 300).astype("i4")
    return [x, np.full(300, -1, "i4"), np.zeros(1, "i4"), np.int32(300)]


def compact_reference(args):
    even = args[0][args[0] % 2 == 0]
    kept = np.full(300, -1, "i4")
    kept[: even.size] = even
    return {1: kept, 2: np.array([even.size], "i4")}


LAST_BLOCK = r"""
// Each block leaves its sum in global memory; the block that comes last adds them up.
extern "C" __global__ void last_block(const int* x, volatile int* parts, unsigned* ticket, int* total) {
    __shared__ bool last;
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, x[blockIdx.x * blockDim.x + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(ticket, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int all = 0;
        for (int b = 0; b < gridDim.x; ++b) all += parts[b];
        *total = all;
    }
}
"""


def last_block_args():
    x = random(6).randint(-1000, 1000, (6, 64)).astype("i4")
    return [x, poison(6, "i4"), np.zeros(1, "u4"), poison(1, "i4")]


def last_block_reference(args):
    parts = args[0].sum(axis=1, dtype="i4")
    return {1: parts, 2: np.array([6], "u4"), 3: np.array([parts.sum()], "i4")}


CASES = [
    Case(
        "histogram_global", HISTOGRAM_GLOBAL, "histogram_global", histogram_args, (4,), (128,),
        histogram_reference,
    ),
    Case(
        "histogram_shared", HISTOGRAM_SHARED, "histogram_shared", histogram_args, (4,), (128,),
        histogram_reference,
    ),
    Case("atomic_sums", SUMS, "atomic_sums", sums_args, (4,), (128,), sums_reference),
    Case(
        "atomic_operations", OPERATIONS, "atomic_operations", operations_args, (2,), (128,),
        operations_reference,
    ),
    # Every number is taken out once, except that of the last thread, which stays: which one is free.
    Case(
        "exchange", EXCHANGE, "exchange", exchange_args, (1,), (128,),
        lambda a: {2: np.arange(10, dtype="i4"), 3: np.array([10], "i4")},
    ),
    Case(
        "largest_by_cas", LARGEST, "largest", largest_args, (3,), (128,),
        lambda a: {1: a[0].max(keepdims=True)},
    ),
    Case("compact", COMPACT, "compact", compact_args, (3,), (128,), compact_reference, unordered=(1,)),
    Case("last_block", LAST_BLOCK, "last_block", last_block_args, (6,), (64,), last_block_reference),
]  # fmt: skip
