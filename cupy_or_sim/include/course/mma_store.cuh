// The sums of a warp to global memory through shared memory, as lesson 04 explains it.
#pragma once
#include <cuda_fp16.h>

// 64 x 64 sums to C as halves, 16 rows at a time. In `piece`, 16 x 72 halves of this warp alone, they change hands, so that
// eight lanes write 128 bytes of a row. The 8 halves that pad a row keep eight rows in different banks.
__device__ __forceinline__ void store_tile(__half* C, int stride, const float (&sum)[4][8][4], __half* piece)
{
    int lane = threadIdx.x % 32;
    for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 8; ++j)
            for (int half = 0; half < 2; ++half)      // rows 0 to 7, rows 8 to 15
                *(__half2*)&piece[(half * 8 + lane / 4) * 72 + 8 * j + lane % 4 * 2] =
                    __floats2half2_rn(sum[i][j][2 * half], sum[i][j][2 * half + 1]);
        __syncwarp();
        for (int row = lane / 8; row < 16; row += 4)
            *(uint4*)&C[(16 * i + row) * stride + lane % 8 * 8] = *(uint4*)&piece[row * 72 + lane % 8 * 8];
        __syncwarp();
    }
}
