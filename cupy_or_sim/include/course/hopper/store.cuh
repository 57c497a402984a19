// C in boxes, by the copy engine.
#pragma once
#include <course/hopper/layouts.cuh>

template <typename T>
__device__ __forceinline__ unsigned rounded(float low, float high)
{
    if constexpr (is_half<T>) return packed(low, high);
    __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return *(unsigned*)&pair;
}

// Wait until this thread's stores have read shared memory, all but the newest.
__device__ __forceinline__ void wait_older_stores_read() { asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory"); }

// As stmatrix_x4, and each matrix turned over: its columns become rows.
__device__ __forceinline__ void stmatrix_x4_turned(void* row, unsigned a, unsigned b, unsigned c, unsigned d)
{
    unsigned address = __cvta_generic_to_shared(row);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
                 :: "r"(address), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}

// Sums to C, which the copy engine takes while the next piece is computed: in boxes of 64 x 64 and, where 64 does not divide the
// tile's columns, the rest in boxes of 32 or 16 of them, by a map of their own. TURNED: the tile's columns are rows of C. What 64
// columns need has two places in shared memory. `stored`: how many such this warpgroup has stored so far.
template <typename T, bool TURNED, int SUMS>
__device__ __forceinline__ void store_boxes(const float (&d)[SUMS], unsigned short (&places)[2][BOX], const TensorMap& C,
                                            const TensorMap& C_rest, int consumer, int m, int n, int& stored)
{
    constexpr int TN = SUMS * 2;
    int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
    #pragma unroll
    for (int first = 0; first < TN; first += 64, ++stored) {
        int behind = min(first + 64, TN), wide = behind - first == 64 ? 64 : TN % 32 ? 16 : 32;
        unsigned short* place = places[stored % 2];
        if (threadIdx.x % 128 == 0) wait_older_stores_read();
        named_sync<128>(1 + consumer);                        // the place is free
        #pragma unroll
        for (int column = first; column < behind; column += 16) {
            unsigned short* box = place + (column - first) / wide * wide * 64;
            const float* sum = d + column / 2;
            unsigned a = rounded<T>(sum[0], sum[1]), b = rounded<T>(sum[2], sum[3]);                // rows 0 to 7, 8 to 15
            unsigned a8 = rounded<T>(sum[4], sum[5]), b8 = rounded<T>(sum[6], sum[7]);              // of the next 8 columns
            if constexpr (TURNED) {
                int row = (column - first) % wide + lane / 16 * 8 + lane % 8, chunk = warp * 2 + lane / 8 % 2;
                stmatrix_x4_turned(box + row * 64 + (chunk ^ row % 8) * 8, a, b, a8, b8);
            } else {                                          // chunks change places as the copy engine reads rows so wide
                int row = warp * 16 + lane % 16, chunk = (column - first) % wide / 8 + lane / 16;
                stmatrix_x4(box + row * wide + (chunk ^ row * wide / 64 % (wide / 8)) * 8, a, b, a8, b8);
            }
        }
        fence_async();
        named_sync<128>(1 + consumer);
        if (threadIdx.x % 128 == 0) {
            for (int column = first; column < behind; column += wide)
                store_box(wide == 64 ? C : C_rest, TURNED ? m : n + column, TURNED ? n + column : m, place + (column - first) * 64);
            commit_stores();
        }
    }
}
