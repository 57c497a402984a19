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

// Sums to C in boxes of 64 x 64, which the copy engine takes while the next piece is computed. A box has two places in shared
// memory. `boxes`: how many this warpgroup has stored so far.
template <typename T, int SUMS>
__device__ __forceinline__ void store_boxes(const float (&d)[SUMS], unsigned short (&places)[2][BOX], const TensorMap& C,
                                            int consumer, int m, int n, int& boxes)
{
    int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    #pragma unroll
    for (int box = 0; box < SUMS / 32; ++box, ++boxes) {
        unsigned short* place = places[boxes % 2];
        for (int j = 0; j < 4; ++j) {                         // 16 columns
            const float* sum = d + box * 32 + j * 8;
            stmatrix_x4(place + (warp * 16 + lane % 16) * 64 + ((j * 2 + lane / 16) ^ lane % 8) * 8, rounded<T>(sum[0], sum[1]),
                        rounded<T>(sum[2], sum[3]), rounded<T>(sum[4], sum[5]), rounded<T>(sum[6], sum[7]));
        }
        fence_async();
        if (threadIdx.x % 128 == 0) wait_stores_read();       // the box before has been read: its place is free for the next
        named_sync<128>(1 + consumer);
        if (threadIdx.x % 128 == 0) {
            store_box(C, n + box * 64, m, place);
            commit_stores();
        }
    }
}
