// The math of lesson 01's mainloop in pieces: a warp computes 64 x 32 of a block's tile, each thread 8 x 8 of it.
// A thread's 8 rows are two groups of 4, 32 rows apart; its 8 columns are two groups of 4, 16 columns apart.
#pragma once

// A fragment: the 8 floats of one column of a tile in shared memory that a thread needs, 16 bytes at a time.
__device__ __forceinline__ void load_fragment(float (&fragment)[8], const float* first, const float* second)
{
    float4 low = *(const float4*)first, high = *(const float4*)second;
    fragment[0] = low.x, fragment[1] = low.y, fragment[2] = low.z, fragment[3] = low.w;
    fragment[4] = high.x, fragment[5] = high.y, fragment[6] = high.z, fragment[7] = high.w;
}

// The fragments of A and of B for one k; m and n are the thread's first row and column in the block's tile.
__device__ __forceinline__ void load_fragments(float (&a)[8], float (&b)[8], const float* As_k, const float* Bs_k,
                                               int m, int n)
{
    load_fragment(a, &As_k[m], &As_k[m + 32]);
    load_fragment(b, &Bs_k[n], &Bs_k[n + 16]);
}

// 64 FMAs: acc[column][row] += a[row] * b[column].
__device__ __forceinline__ void multiply_add(float (&acc)[8][8], const float (&a)[8], const float (&b)[8])
{
    for (int j = 0; j < 8; ++j)
        for (int i = 0; i < 8; ++i)
            acc[j][i] += a[i] * b[j];
}

// Store the sums; C points to the thread's first row and column, M is the number of rows of C.
__device__ __forceinline__ void store_tile(float* C, int M, const float (&acc)[8][8])
{
    for (int j = 0; j < 8; ++j)
        for (int i = 0; i < 8; i += 4)
            *(float4*)&C[i * 8 + (j % 4 + j / 4 * 16) * M] =
                make_float4(acc[j][i], acc[j][i + 1], acc[j][i + 2], acc[j][i + 3]);
}
