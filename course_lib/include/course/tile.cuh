// The collective copy of lesson 01: all threads of a block bring one tile from global to shared memory.
#pragma once

// DEPTH columns of ROWS neighbouring floats; the columns are `stride` floats apart in global memory. Each thread
// moves 16 bytes per turn, so ROWS and stride must be multiples of 4, and both addresses multiples of 16 bytes.
// The tile can be read after the next __syncthreads().
template <int THREADS, int DEPTH, int ROWS>
__device__ void copy_tile(float (&tile)[DEPTH][ROWS], const float* source, int stride)
{
    for (int i = 4 * threadIdx.x; i < DEPTH * ROWS; i += 4 * THREADS)
        *(float4*)&tile[i / ROWS][i % ROWS] = *(const float4*)&source[i % ROWS + (i / ROWS) * stride];
}
