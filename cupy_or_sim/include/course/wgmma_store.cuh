// A warpgroup's sums into C, as lesson 07 explains it. Needs sm_90a.
#pragma once
#include <cuda_fp16.h>

// Write 64 x 256 of a row-major C whose rows have `stride` halves; `C` is its first element. d: as wgmma leaves it.
__device__ __forceinline__ void store_sums(__half* C, int stride, const float (&d)[128])
{
    int thread = threadIdx.x % 128, row = thread / 32 * 16 + thread % 32 / 4, column = thread % 4 * 2;
    for (int j = 0; j < 32; ++j)
        for (int h = 0; h < 2; ++h)
            *(__half2*)&C[(size_t)(row + 8 * h) * stride + 8 * j + column] =
                __floats2half2_rn(d[4 * j + 2 * h], d[4 * j + 2 * h + 1]);
}
