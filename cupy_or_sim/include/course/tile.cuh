// The collective copy of lesson 01: all threads of a block bring one tile from global to shared memory.
#pragma once

// DEPTH columns of ROWS neighbouring floats; the columns are `stride` floats apart in global memory. Each thread
// moves 16 bytes per turn, so ROWS and stride must be multiples of 4, and both addresses multiples of 16 bytes.
// The tile can be read after the next __syncthreads().
template <int THREADS, int DEPTH, int ROWS>
__device__ void copy_tile(float (&tile)[DEPTH][ROWS], const float* source, int stride)
{
    static_assert(DEPTH * ROWS % (4 * THREADS) == 0, "every thread moves 16 bytes in every turn");
    for (int turn = 0; turn < DEPTH * ROWS / (4 * THREADS); ++turn) {
        int i = 4 * (turn * THREADS + threadIdx.x);
        *(float4*)&tile[i / ROWS][i % ROWS] = *(const float4*)&source[i % ROWS + (i / ROWS) * stride];
    }
}
