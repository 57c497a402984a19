"""cp.async: copies from global to shared memory that run while the threads go on."""

import numpy as np

from tests.kernels.case import CPP17, Case, poison, random
from tests.kernels.gemm import gemm_args, gemm_float

RING = r"""
// 64 threads make a 32x32 tile of C from k-tiles of 8, in a ring of STAGES buffers.
__device__ __forceinline__ void copy_16(void* to, const void* from) {
    unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(address), "l"(from) : "memory");
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int NEWER> __device__ __forceinline__ void wait() {
    asm volatile("cp.async.wait_group %0;" :: "n"(NEWER) : "memory");
}

template <int S>
__device__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ __align__(16) float As[S][8][32], Bs[S][8][32];
    int t = threadIdx.x, quad = t % 8 * 4, row = t / 8, tiles = K / 8;
    int m = blockIdx.x * 32 + quad, n = blockIdx.y * 32;

    auto load = [&](int tile) {
        int slot = tile % S, k = tile * 8 + row;
        copy_16(&As[slot][row][quad], &A[m + k * M]);
        copy_16(&Bs[slot][row][quad], &B[n + quad + k * N]);
    };

    float sum[4][4] = {};
    for (int tile = 0; tile < S - 1; ++tile) {
        if (tile < tiles) load(tile);
        commit();
    }
    for (int tile = 0; tile < tiles; ++tile) {
        if (S == 1) {
            __syncthreads();                       // the only buffer: its last readers must be done
            load(tile);
            commit();
            wait<0>();
            __syncthreads();
        } else {
            wait<(S > 1 ? S - 2 : 0)>();           // this tile has landed for me ...
            __syncthreads();                       // ... and for all; and the oldest buffer is free
            if (tile + S - 1 < tiles) load(tile + S - 1);
            commit();                              // also when empty: the wait counts groups
        }
        for (int k = 0; k < 8; ++k) {
            const float* a = &As[tile % S][k][quad];
            const float* b = &Bs[tile % S][k][row * 4];
            for (int j = 0; j < 4; ++j)
                for (int i = 0; i < 4; ++i) sum[j][i] += a[i] * b[j];
        }
    }
    for (int j = 0; j < 4; ++j)
        for (int i = 0; i < 4; ++i) C[m + i + (n + row * 4 + j) * M] = sum[j][i];
}

extern "C" __global__ void gemm_async(const float* A, const float* B, float* C, int M, int N, int K) {
    gemm<STAGES>(A, B, C, M, N, K);
}
"""

PIPELINE = r"""
#include <cuda_pipeline.h>
// The same with two buffers, through the functions of <cuda_pipeline.h>.
extern "C" __global__ void gemm_pipeline(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ __align__(16) float As[2][8][32], Bs[2][8][32];
    int t = threadIdx.x, quad = t % 8 * 4, row = t / 8, tiles = K / 8;
    int m = blockIdx.x * 32 + quad, n = blockIdx.y * 32;
    float sum[4][4] = {};
    __pipeline_memcpy_async(&As[0][row][quad], &A[m + row * M], 16);
    __pipeline_memcpy_async(&Bs[0][row][quad], &B[n + quad + row * N], 16);
    __pipeline_commit();
    for (int tile = 0; tile < tiles; ++tile) {
        int now = tile % 2, next = 1 - now;
        if (tile + 1 < tiles) {
            int k = (tile + 1) * 8 + row;
            __pipeline_memcpy_async(&As[next][row][quad], &A[m + k * M], 16);
            __pipeline_memcpy_async(&Bs[next][row][quad], &B[n + quad + k * N], 16);
        }
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 8; ++k)
            #pragma unroll
            for (int j = 0; j < 4; ++j)
                #pragma unroll
                for (int i = 0; i < 4; ++i) sum[j][i] += As[now][k][quad + i] * Bs[now][k][row * 4 + j];
        __syncthreads();
    }
    #pragma unroll
    for (int j = 0; j < 4; ++j)
        #pragma unroll
        for (int i = 0; i < 4; ++i) C[m + i + (n + row * 4 + j) * M] = sum[j][i];
}
"""

SIZES = r"""
// Copies of 4, 8 and 16 bytes, a short copy that is filled up with zeros, and wait_all.
__device__ unsigned place(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

extern "C" __global__ void copy_sizes(const float* x, float* out, int n) {
    __shared__ __align__(16) float four[64], eight[128], sixteen[256], ragged[256];
    int t = threadIdx.x;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(place(&four[t])), "l"(x + t));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" :: "r"(place(&eight[2 * t])), "l"(x + 2 * t));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;"
                 :: "r"(place(&sixteen[4 * t])), "l"(x + 4 * t));
    int left = min(max(n - 4 * t, 0), 4) * (int)sizeof(float);   // bytes to read; the rest of the 16 is zero
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(place(&ragged[4 * t])), "l"(left > 0 ? x + 4 * t : x), "r"(left));
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    int mirror = 63 - t;
    out[t] = four[mirror];
    for (int i = 0; i < 2; ++i) out[64 + 2 * t + i] = eight[2 * mirror + i];
    for (int i = 0; i < 4; ++i) out[192 + 4 * t + i] = sixteen[4 * mirror + i];
    for (int i = 0; i < 4; ++i) out[448 + 4 * t + i] = ragged[4 * mirror + i];
}
"""


def sizes_args():
    return [random(3).randn(256).astype("f4"), poison(704, "f4"), np.int32(150)]


def sizes_reference(args):
    x = args[0]
    ragged = np.where(np.arange(256) < 150, x, np.float32(0))
    parts = (x[:64].reshape(64, 1), x[:128].reshape(64, 2), x.reshape(64, 4), ragged.reshape(64, 4))
    return {1: np.concatenate([part[::-1].ravel() for part in parts])}


OWN_DATA = r"""
// A thread may read what it copied itself after its own wait, without a barrier.
extern "C" __global__ void copy_own(const float* x, float* out, int rounds) {
    __shared__ __align__(16) float mine[4 * 96];
    int t = threadIdx.x, n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + t;
    float sum = 0.0f;
    for (int round = 0; round < rounds; ++round) {
        unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(&mine[4 * t]));
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                     :: "r"(to), "l"(x + 4 * (round * n + i)) : "memory");
        asm volatile("cp.async.commit_group;\n cp.async.wait_group 0;" ::: "memory");
        float4 value = *reinterpret_cast<const float4*>(&mine[4 * t]);
        sum += value.x + value.y + value.z + value.w;
    }
    out[i] = sum;
}
"""


def own_data_args():
    return [random(4).randint(-9, 9, (3, 192, 4)).astype("f4"), poison(192, "f4"), np.int32(3)]


def ring_case(stages: int, K: int) -> Case:
    return Case(
        f"gemm_async_{stages}_stages_k{K}", RING, "gemm_async",
        lambda: gemm_args(64, 32, K, "f4", seed=stages), (2, 1), (64,), gemm_float,
        options=(*CPP17, f"-DSTAGES={stages}"),
    )  # fmt: skip


CASES = [
    *(ring_case(stages, 40) for stages in (1, 2, 3, 4)),
    ring_case(2, 16),
    ring_case(3, 8),  # fewer tiles than stages
    Case(
        "gemm_pipeline_api", PIPELINE, "gemm_pipeline", lambda: gemm_args(32, 64, 24, "f4", seed=5), (1, 2),
        (64,), gemm_float,
    ),
    Case("copy_sizes", SIZES, "copy_sizes", sizes_args, (1,), (64,), sizes_reference),
    Case(
        "copy_own", OWN_DATA, "copy_own", own_data_args, (2,), (96,),
        lambda a: {1: a[0].sum(axis=(0, 2), dtype="f4")},
    ),
]  # fmt: skip
