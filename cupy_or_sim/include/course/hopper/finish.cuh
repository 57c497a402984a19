// Bias and activation, on the sums before they are rounded.
#pragma once
#include <course/gemm/finish.cuh>

// What lesson 06's Finish does to sums that are stored one by one, done here to those in a warpgroup's registers: 64 rows from
// m on, COLUMNS from n on.
template <typename T, typename Out, int SUMS>
__device__ __forceinline__ void finish_sums(float (&d)[SUMS], const Finish<T, Out>& finish, int m, int n)
{
    int row = m + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4, column = n + threadIdx.x % 4 * 2;
    float down[2] = {};                                       // what is added to both of this thread's rows
    for (int h = 0; h < 2; ++h)
        if (finish.bias && finish.by_row && row + 8 * h < finish.M) down[h] = float(finish.bias[row + 8 * h]);
    #pragma unroll
    for (int j = 0; j < SUMS / 4; ++j) {                      // 8 columns: in boxes, all of them are in C, or none
        bool add = finish.bias && !finish.by_row && n + 8 * j < finish.N;
        for (int i = 0; i < 2; ++i) {
            int at = column + 8 * j + i;
            float across = add ? float(finish.bias[at]) : 0.0f;
            for (int h = 0; h < 2; ++h) {
                float& x = d[4 * j + 2 * h + i];
                x = finish.alpha * x + (across + down[h]);
            }
        }
    }
    if (finish.activation == 1) {                             // asked once, not for each sum
        #pragma unroll
        for (int i = 0; i < SUMS; ++i) d[i] = d[i] < 0 ? 0 : d[i];                          // NaN stays NaN
    }
    if (finish.activation == 2) {
        #pragma unroll
        for (int i = 0; i < SUMS; ++i) d[i] *= 0.5f * (1 + erff(d[i] * 0.70710678f));
    }
}
