"""Warps with different jobs: some bring data, others use it, and named barriers keep them in step."""

import numpy as np

from tests.kernels.case import Case, poison, random

PRODUCER_CONSUMER = r"""
__device__ __forceinline__ void copy_16(void* to, const void* from) {
    unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(address), "l"(from) : "memory");
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int NEWER> __device__ __forceinline__ void wait() {
    asm volatile("cp.async.wait_group %0;" :: "n"(NEWER) : "memory");
}
// Both count 128 threads: 64 that wait and 64 that only arrive.
__device__ __forceinline__ void barrier_sync(int id) {
    asm volatile("bar.sync %0, 128;" :: "r"(id) : "memory");
}
__device__ __forceinline__ void barrier_arrive(int id) {
    asm volatile("bar.arrive %0, 128;" :: "r"(id) : "memory");
}

extern "C" __global__ void producer_consumer(const float* in, float* out, int rounds) {
    __shared__ __align__(16) float slots[2][256];
    const int FULL = 1, EMPTY = 3;                     // one barrier for each slot
    int t = threadIdx.x % 64;
    if (threadIdx.x < 64) {
        for (int round = 0; round < rounds; ++round) {
            int slot = round % 2;
            if (round >= 2) barrier_sync(EMPTY + slot);
            copy_16(&slots[slot][4 * t], &in[256 * round + 4 * t]);
            commit();
            wait<0>();
            barrier_arrive(FULL + slot);
        }
    } else {
        float sum = 0.0f;
        for (int round = 0; round < rounds; ++round) {
            int slot = round % 2;
            barrier_sync(FULL + slot);
            for (int i = 0; i < 256; i += 64) sum += slots[slot][t + i];
            if (round + 2 < rounds) barrier_arrive(EMPTY + slot);
        }
        out[t] = sum;
    }
}
"""


def producer_consumer_args():
    return [random(21).randint(-9, 9, (7, 4, 64)).astype("f4"), poison(64, "f4"), np.int32(7)]


CASES = [
    Case(
        "producer_consumer", PRODUCER_CONSUMER, "producer_consumer", producer_consumer_args, (1,), (128,),
        lambda a: {1: a[0].sum(axis=(0, 1), dtype="f4")},
    ),
]  # fmt: skip
