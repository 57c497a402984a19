// The two products of attention with heads of 128, as lesson 10 explains them, and what stands around them. They need
// sm_90a. PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions": wgmma.mma_async, "Shared Memory Matrix Layout".
// A tile of R rows lies in shared memory as two parts, columns 0 to 63 and 64 to 127: R rows of 64 halves each, swizzled
// by 128 bytes.
#pragma once
#include <course/stmatrix.cuh>
#include <course/tma.cuh>
#include <course/wgmma.cuh>

constexpr int HEAD = 128;

// Start to copy `rows` rows (a multiple of 64) of a matrix, from `row` on. The barrier counts their bytes.
__device__ __forceinline__ void load_head_rows(int rows, __half* to_shared, const TensorMap& map, int row,
                                               Mbarrier* barrier)
{
    for (int part = 0; part < 2; ++part)
        load_rows(rows, to_shared + part * rows * 64, map, part * 64, row, barrier);
}

#define TEN(t) "%" #t "0,%" #t "1,%" #t "2,%" #t "3,%" #t "4,%" #t "5,%" #t "6,%" #t "7,%" #t "8,%" #t "9,"
#define SUMS "{" TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) "%60,%61,%62,%63}"
#define FOUR(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SIXTEEN(i) FOUR(i), FOUR(i + 4), FOUR(i + 8), FOUR(i + 12)
#define D64 SIXTEEN(0), SIXTEEN(16), SIXTEEN(32), SIXTEEN(48)

// d = a @ b.T, or d += a @ b.T where `add`: 64 rows of A and 128 of B, 16 deep, out of shared memory. d as in wgmma.cuh.
__device__ __forceinline__ void wgmma_m64n128k16(float (&d)[64], unsigned long long a, unsigned long long b, int add)
{
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
                 SUMS ", %64, %65, p, 1, 1, 0, 0; }" : D64 : "l"(a), "l"(b), "r"(add));
}

// d += a @ b: A's 64 x 16 from the registers of the warpgroup, as mma.cuh has them, and 16 rows of 128 of B out of
// shared memory, whose rows run across k.
__device__ __forceinline__ void wgmma_m64n128k16(float (&d)[64], const unsigned (&a)[4], unsigned long long b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 " SUMS ", {%64,%65,%66,%67}, %68, 1, 1, 1, 1;"
                 : D64 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
#undef TEN
#undef SUMS
#undef FOUR
#undef SIXTEEN
#undef D64

// Start scores = Q @ K.T as a group of its own: 64 queries from `Q` on, 128 keys from `K` on.
__device__ __forceinline__ void start_scores(float (&scores)[64], const __half* Q, const __half* K)
{
    unsigned long long queries = matrix_descriptor(Q), keys = matrix_descriptor(K);
    wgmma_fence();
    for (int k = 0; k < 8; ++k)                       // 16 of 128 columns
        wgmma_m64n128k16(scores, queries + k / 4 * (64 * 128 >> 4) + k % 4 * 2,
                         keys + k / 4 * (128 * 128 >> 4) + k % 4 * 2, k > 0);
    wgmma_commit();
}

// Start O += P @ V as a group of its own: weights of 64 queries and 128 keys, and as many rows from `V` on.
__device__ __forceinline__ void start_values(float (&O)[64], const unsigned (&P)[8][4], const __half* V)
{
    unsigned long long values = matrix_descriptor(V) & ~(0x3FFFull << 16) | 128ull * 128 >> 4 << 16;
    wgmma_fence();
    for (int k = 0; k < 8; ++k)                       // 16 of 128 keys
        wgmma_m64n128k16(O, P[k], values + k * (16 * 128 >> 4));
    wgmma_commit();
}

// Weights, rounded, as the A of start_values: thread t of scores holds just what it needs there.
__device__ __forceinline__ void pack(unsigned (&P)[8][4], const float (&weights)[64])
{
    for (int i = 0; i < 32; ++i) P[i / 4][i % 4] = packed(weights[2 * i], weights[2 * i + 1]);
}

// 2 to the power of x, by the special function units: a float on which 0.0000002 is lost at most.
__device__ __forceinline__ float exp2_of(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// Of the four threads that hold a row of sums: the largest of theirs, their sum.
__device__ __forceinline__ float largest_of_row(float x)
{
    x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
    return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}
__device__ __forceinline__ float sum_of_row(float x)
{
    x += __shfl_xor_sync(~0u, x, 1);
    return x + __shfl_xor_sync(~0u, x, 2);
}

// 64 rows of O, through `memory` (64 x 128 halves that nobody else uses), to the matrix from `row` on. A warpgroup does
// it, and has a named barrier for itself; its thread 0 waits for its stores before it ends.
__device__ __forceinline__ void store_head_rows(const TensorMap& map, int row, __half* memory, const float (&O)[64],
                                                int barrier)
{
    int thread = threadIdx.x % 128, lane = thread % 32;
    for (int j = 0; j < 8; ++j) {                     // 16 columns
        __half* to = memory + j / 4 * 64 * 64 + (thread / 32 * 16 + lane % 16) * 64;
        const float* sum = O + j * 8;
        stmatrix_x4(to + ((j % 4 * 2 + lane / 16) ^ lane % 8) * 8, packed(sum[0], sum[1]), packed(sum[2], sum[3]),
                    packed(sum[4], sum[5]), packed(sum[6], sum[7]));
    }
    fence_async();
    asm volatile("bar.sync %0, 128;" :: "r"(barrier) : "memory");
    if (thread == 0) {
        for (int part = 0; part < 2; ++part) store_box(map, part * 64, row, memory + part * 64 * 64);
        commit_stores();
        wait_stores();
    }
}
