// A k-tile of halves in shared memory, and a warp's 64 x 64 of C made from it, as lesson 04 explains them.
#pragma once
#include <course/cp_async.cuh>
#include <course/mma.cuh>

// Where a 16-byte chunk (8 halves along k) of a row lies in a tile of TK (32 or 64) halves a row, counted in halves.
// Eight rows that follow each other keep the same chunk in eight different groups of banks.
template <int TK>
__device__ int swizzled(int row, int chunk) { return row * TK + (chunk ^ row * TK / 64 % (TK / 8)) * 8; }

// Start to copy ROWS rows of TK halves; the rows are `stride` halves apart in global memory.
template <int THREADS, int ROWS, int TK>
__device__ void copy_rows(__half* tile, const __half* source, int stride)
{
    for (int turn = 0; turn < ROWS * TK / (8 * THREADS); ++turn) {
        int i = turn * THREADS + threadIdx.x, row = i / (TK / 8), chunk = i % (TK / 8);
        copy_async<16>(&tile[swizzled<TK>(row, chunk)], &source[row * stride + chunk * 8]);
    }
}

// The fragments of 64 rows of A and 64 rows of B for k-step `step`: 16 of the TK columns. As and Bs are the first of these rows.
template <int TK>
__device__ void load_fragments(unsigned (&a)[4][4], unsigned (&b)[4][4], const __half* As, const __half* Bs, int step)
{
    int lane = threadIdx.x % 32;
    for (int i = 0; i < 4; ++i) {
        ldmatrix_x4(a[i], &As[swizzled<TK>(16 * i + lane % 16, 2 * step + lane / 16)]);
        ldmatrix_x4(b[i], &Bs[swizzled<TK>(16 * i + lane % 8 + lane / 16 * 8, 2 * step + lane / 8 % 2)]);
    }
}

// sum += a @ b.T, 64 x 64 x 16: 32 mma instructions.
__device__ __forceinline__ void multiply(float (&sum)[4][8][4], const unsigned (&a)[4][4], const unsigned (&b)[4][4])
{
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 8; ++j)
            mma_m16n8k16(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
}
