"""The lanes of one warp: votes, shuffles, matches, reductions."""

import numpy as np

from tests.kernels.case import Case, poison, random

VOTES = r"""
extern "C" __global__ void votes(const int* x, unsigned* out, int n) {
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    unsigned lower;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lower));
    bool odd = x[i] & 1;
    unsigned ballot = __ballot_sync(0xffffffffu, odd);
    out[i] = ballot;
    out[n + i] = __popc(ballot & lower);              // how many odd numbers come before mine
    out[2 * n + i] = __all_sync(0xffffffffu, x[i] < 90);
    out[3 * n + i] = __any_sync(0xffffffffu, x[i] > 97);
    if (t % 32 < 16) out[4 * n + i] = __ballot_sync(0x0000ffffu, odd);    // each half on its own
    else out[4 * n + i] = __popc(__ballot_sync(0xffff0000u, odd));
}
"""


def votes_args():
    return [random(1).randint(0, 100, 192).astype("i4"), poison((5, 192), "u4"), np.int32(192)]


def votes_reference(args):
    warps = args[0].reshape(6, 32)
    odd = (warps & 1).astype("u4")
    weights = np.uint32(1) << np.arange(32, dtype="u4")
    ballot = (odd * weights).sum(axis=1, dtype="u4", keepdims=True)
    low, high = odd[:, :16], odd[:, 16:]
    halves = np.concatenate([
        np.repeat((low * weights[:16]).sum(axis=1, keepdims=True), 16, axis=1),
        np.repeat(high.sum(axis=1, keepdims=True), 16, axis=1),
    ], axis=1)  # fmt: skip
    rows = [
        np.repeat(ballot, 32, axis=1), np.cumsum(odd, axis=1) - odd,
        np.repeat((warps < 90).all(axis=1, keepdims=True), 32, axis=1),
        np.repeat((warps > 97).any(axis=1, keepdims=True), 32, axis=1), halves,
    ]  # fmt: skip
    return {1: np.stack([row.astype("u4").ravel() for row in rows])}


SHUFFLES = r"""
#define ALL 0xffffffffu
extern "C" __global__ void shuffles(const int* x, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, v = x[i];
    out[i] = __shfl_sync(ALL, v, 5);
    out[n + i] = __shfl_sync(ALL, v, i * 7);             // another source in every lane, taken modulo 32
    out[2 * n + i] = __shfl_sync(ALL, v, 3, 8);
    out[3 * n + i] = __shfl_up_sync(ALL, v, 3);
    out[4 * n + i] = __shfl_up_sync(ALL, v, 1, 4);
    out[5 * n + i] = __shfl_down_sync(ALL, v, 9);
    out[6 * n + i] = __shfl_down_sync(ALL, v, 2, 16);
    out[7 * n + i] = __shfl_xor_sync(ALL, v, 21);
    out[8 * n + i] = __shfl_xor_sync(ALL, v, 12, 8);     // leaves the segment: lanes below it may be read
}
"""


def shuffles_args():
    return [random(2).randint(0, 10**6, 128).astype("i4"), poison((9, 128), "i4"), np.int32(128)]


def shuffles_reference(args):
    i = np.arange(128)
    lane, base = i % 32, i - i % 32

    def up(distance, width):
        return np.where(lane % width >= distance, lane - distance, lane)

    def down(distance, width):
        return np.where(lane % width + distance < width, lane + distance, lane)

    def xor(mask, width):
        last = lane // width * width + width - 1
        return np.where(lane ^ mask <= last, lane ^ mask, lane)

    first_of_8 = lane // 8 * 8
    sources = [
        np.full(128, 5), i * 7 % 32, first_of_8 + 3, up(3, 32), up(1, 4), down(9, 32), down(2, 16),
        xor(21, 32), xor(12, 8),
    ]  # fmt: skip
    return {1: np.stack([args[0][base + source] for source in sources])}


SHUFFLE_TYPES = r"""
#include <cuda_fp16.h>
extern "C" __global__ void shuffle_types(const double* d, const long long* k, const __half2* h, double* out_d,
                                         long long* out_k, __half2* out_h, float* sum) {
    int i = threadIdx.x;
    out_d[i] = __shfl_xor_sync(0xffffffffu, d[i], 1);
    out_k[i] = __shfl_down_sync(0xffffffffu, k[i], 4);
    out_h[i] = __shfl_up_sync(0xffffffffu, h[i], 2);
    float total = (float)d[i];
    for (int mask = 16; mask > 0; mask /= 2) total += __shfl_xor_sync(0xffffffffu, total, mask);
    sum[i] = total;
}
"""


def shuffle_types_args():
    rng = random(3)
    d, k, h = rng.randn(64), rng.randint(-(2**60), 2**60, 64).astype("i8"), rng.randn(64, 2).astype("f2")
    return [d, k, h, poison(64, "f8"), poison(64, "i8"), poison((64, 2), "f2"), poison(64, "f4")]


def shuffle_types_reference(args):
    i = np.arange(64)
    lane = i % 32
    total = args[0].astype("f4")
    for mask in (16, 8, 4, 2, 1):
        total = total + total[i ^ mask]
    return {
        3: args[0][i ^ 1],
        4: args[1][np.where(lane + 4 < 32, i + 4, i)],
        5: args[2][np.where(lane >= 2, i - 2, i)],
        6: total,
    }


MATCH = r"""
extern "C" __global__ void match_and_reduce(const int* x, unsigned* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = __match_any_sync(0xffffffffu, x[i]);
    int same;
    out[n + i] = __match_all_sync(0xffffffffu, x[i] / 100, &same);
    out[2 * n + i] = same;
    out[3 * n + i] = __reduce_add_sync(0xffffffffu, (unsigned)x[i]);
    out[4 * n + i] = __reduce_max_sync(0xffffffffu, x[i]);
    out[5 * n + i] = __reduce_min_sync(0xffffffffu, (unsigned)x[i]);
    out[6 * n + i] = __reduce_xor_sync(0xffffffffu, (unsigned)x[i]);
}
"""


def match_args():
    x = random(4).randint(0, 12, 96)
    x[:32] += 100  # only in this warp all are the same after division by 100, and in the last
    x[40] = 777
    return [x.astype("i4"), poison((7, 96), "u4"), np.int32(96)]


def match_reference(args):
    columns = []
    for warp in args[0].reshape(3, 32).tolist():
        same = len({v // 100 for v in warp}) == 1
        for v in warp:
            mask = sum(1 << lane for lane, other in enumerate(warp) if other == v)
            columns.append([
                mask, 0xFFFFFFFF if same else 0, same, sum(warp), max(warp), min(warp),
                np.bitwise_xor.reduce(warp),
            ])  # fmt: skip
    return {1: np.array(columns, "u4").T.copy()}


SYNCWARP = r"""
// Each warp turns its 32 numbers through shared memory of its own; __syncwarp orders the two sides.
extern "C" __global__ void warp_exchange(const int* x, int* out, int rounds) {
    __shared__ int seats[4][32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, value = x[threadIdx.x];
    for (int round = 0; round < rounds + warp; ++round) {      // the warps run a different number of rounds
        seats[warp][lane] = value;
        __syncwarp();
        value = seats[warp][(lane + 1) % 32] + 1;
        __syncwarp();
    }
    out[threadIdx.x] = value;
}
"""


def syncwarp_args():
    return [random(5).randint(0, 1000, (4, 32)).astype("i4"), poison((4, 32), "i4"), np.int32(3)]


def syncwarp_reference(args):
    rows = [np.roll(row, -(3 + warp)) + np.int32(3 + warp) for warp, row in enumerate(args[0])]
    return {1: np.stack(rows)}


DIVERGENT = r"""
// A loop whose length differs per lane, and a shuffle by the lanes that are still in it together.
extern "C" __global__ void divergent_rounds(const int* x, int* out) {
    int t = threadIdx.x, lane = t % 32, rounds = lane / 8, value = x[t];
    unsigned mine = 0xffu << (rounds * 8);               // eight neighbours with the same number of rounds
    for (int round = 0; round <= rounds; ++round) {
        int other = __shfl_xor_sync(mine, value, 1 + round);
        value = value * 3 + other;
    }
    out[t] = value;
}
"""


def divergent_args():
    return [random(6).randint(0, 100, 64).astype("i4"), poison(64, "i4")]


def divergent_reference(args):
    value, rounds = args[0], np.arange(64) % 32 // 8
    for step in range(4):
        new = value * 3 + value[np.arange(64) ^ (1 + step)]
        value = np.where(step <= rounds, new, value)
    return {1: value.astype("i4")}


CASES = [
    Case("votes", VOTES, "votes", votes_args, (3,), (64,), votes_reference),
    Case("shuffles", SHUFFLES, "shuffles", shuffles_args, (2,), (64,), shuffles_reference),
    Case(
        "shuffle_types", SHUFFLE_TYPES, "shuffle_types", shuffle_types_args, (1,), (64,),
        shuffle_types_reference,
    ),
    Case("match_and_reduce", MATCH, "match_and_reduce", match_args, (1,), (96,), match_reference),
    Case("warp_exchange", SYNCWARP, "warp_exchange", syncwarp_args, (1,), (128,), syncwarp_reference),
    Case("divergent_rounds", DIVERGENT, "divergent_rounds", divergent_args, (1,), (64,), divergent_reference),
]  # fmt: skip
