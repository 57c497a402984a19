// Any other C, by the threads.
#pragma once
#include <course/gemm/rows.cuh>
#include <course/hopper/layouts.cuh>

// Sums to any other C, as lesson 06 stores them: 16 rows and 32 columns of a warp, or 16 or 8 where 32 do not divide them all,
// change hands in shared memory.
template <typename T, typename Out, int SUMS>
__device__ __forceinline__ void store_sums(const float (&d)[SUMS], unsigned short (&places)[2][BOX], const Finish<T, Out>& finish,
                                           int m, int n)
{
    constexpr int COLUMNS = SUMS * 2, WIDTH = COLUMNS % 32 == 0 ? 32 : COLUMNS % 16 == 0 ? 16 : 8, ROW = WIDTH + 8;
    static_assert(4 * 16 * ROW * sizeof(float) <= sizeof(places), "four warps");
    int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    float* mine = (float*)places[0] + warp * 16 * ROW;
    #pragma unroll
    for (int part = 0; part < COLUMNS / WIDTH; ++part) {
        #pragma unroll
        for (int j = 0; j < WIDTH / 4; ++j) {                 // rows 0 to 7 and rows 8 to 15 of 8 columns each
            const float* sum = d + part * WIDTH / 2 + j * 2;
            *(float2*)&mine[(j % 2 * 8 + lane / 4) * ROW + j / 2 * 8 + lane % 4 * 2] = make_float2(sum[0], sum[1]);
        }
        __syncwarp();
        finish.template warp_tile<16, WIDTH>(mine, m + warp * 16, n + part * WIDTH);
        __syncwarp();                                         // all have read them
    }
}
