// The products of lesson 10 for heads of 64, where they differ from attention.cuh: a tile of R rows lies in shared memory
// as one part, R rows of 64 halves each, swizzled by 128 bytes, and a thread has 32 sums of O. They need sm_90a.
#pragma once
#include <course/attention.cuh>

// d += a @ b: A's 64 x 16 from the registers of the warpgroup, as mma.cuh has them, and 16 rows of 64 of B out of shared
// memory, whose rows run across k.
#define TEN(t) "%" #t "0,%" #t "1,%" #t "2,%" #t "3,%" #t "4,%" #t "5,%" #t "6,%" #t "7,%" #t "8,%" #t "9,"
#define FOUR(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SIXTEEN(i) FOUR(i), FOUR(i + 4), FOUR(i + 8), FOUR(i + 12)
__device__ __forceinline__ void wgmma_m64n64k16(float (&d)[32], const unsigned (&a)[4], unsigned long long b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" TEN() TEN(1) TEN(2)
                 "%30,%31}, {%32,%33,%34,%35}, %36, 1, 1, 1, 1;"
                 : SIXTEEN(0), SIXTEEN(16) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
#undef TEN
#undef FOUR
#undef SIXTEEN

// Start scores = Q @ K.T as a group of its own: 64 queries from `Q` on, 128 keys from `K` on.
__device__ __forceinline__ void start_scores_64(float (&scores)[64], const __half* Q, const __half* K)
{
    unsigned long long queries = matrix_descriptor(Q), keys = matrix_descriptor(K);
    wgmma_fence();
    for (int k = 0; k < 4; ++k) wgmma_m64n128k16(scores, queries + 2 * k, keys + 2 * k, k > 0);   // 16 of 64 columns
    wgmma_commit();
}

// Start O += P @ V as a group of its own: weights of 64 queries and 128 keys, and as many rows from `V` on.
__device__ __forceinline__ void start_values(float (&O)[32], const unsigned (&P)[8][4], const __half* V)
{
    unsigned long long values = matrix_descriptor(V);
    wgmma_fence();
    for (int k = 0; k < 8; ++k) wgmma_m64n64k16(O, P[k], values + k * (16 * 128 >> 4));            // 16 of 128 keys
    wgmma_commit();
}

// 64 rows of O, as store_head_rows of attention.cuh does.
__device__ __forceinline__ void store_head_rows(const TensorMap& map, int row, __half* memory, const float (&O)[32],
                                                int barrier)
{
    int thread = threadIdx.x % 128, lane = thread % 32;
    for (int j = 0; j < 4; ++j) {                     // 16 columns
        __half* to = memory + (thread / 32 * 16 + lane % 16) * 64;
        const float* sum = O + j * 8;
        stmatrix_x4(to + ((j * 2 + lane / 16) ^ lane % 8) * 8, packed(sum[0], sum[1]), packed(sum[2], sum[3]),
                    packed(sum[4], sum[5]), packed(sum[6], sum[7]));
    }
    fence_async();
    asm volatile("bar.sync %0, 128;" :: "r"(barrier) : "memory");
    if (thread == 0) {
        store_box(map, 0, row, memory);
        commit_stores();
        wait_stores();
    }
}
