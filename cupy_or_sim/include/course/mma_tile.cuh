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
    constexpr int TURN = THREADS * 8 / TK;            // rows that all threads bring with one copy each
    static_assert(ROWS % TURN == 0 && TURN % 8 == 0, "whole turns of 8, 16, ... rows: the swizzle repeats every 8");
    int row = threadIdx.x / (TK / 8), chunk = threadIdx.x % (TK / 8);
    for (int i = 0; i < ROWS; i += TURN)
        copy_async<16>(tile + swizzled<TK>(row, chunk) + i * TK, source + row * stride + chunk * 8 + i * stride);
}

// The fragments of 64 rows of A and 64 rows of B for k-step `step`: 16 of the TK columns. As and Bs are the first of these rows.
template <int TK>
__device__ void load_fragments(unsigned (&a)[4][4], unsigned (&b)[4][4], const __half* As, const __half* Bs, int step)
{
    int lane = threadIdx.x % 32;
    const __half* a_row = As + swizzled<TK>(lane % 16, 2 * step + lane / 16);
    const __half* b_row = Bs + swizzled<TK>(lane % 8 + lane / 16 * 8, 2 * step + lane / 8 % 2);
    for (int i = 0; i < 4; ++i) {
        ldmatrix_x4(a[i], a_row, i * 16 * TK * 2);    // 16 rows further
        ldmatrix_x4(b[i], b_row, i * 16 * TK * 2);
    }
}

// sum += a @ b.T, 64 x 64 x 16: 32 mma instructions.
__device__ __forceinline__ void multiply(float (&sum)[4][8][4], const unsigned (&a)[4][4], const unsigned (&b)[4][4])
{
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 8; ++j)
            mma_m16n8k16(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
}
