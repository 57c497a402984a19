// Products of float32 in one launch.
#pragma once
#include <course/gemm/float_tile.cuh>
#include <course/gemm/grouped.cuh>

// Parts of K are products too, of which each has sums of its own. BLOCKS: so many find room on an SM.
template <typename Out, int TM, int TN, int ROWS, int BLOCKS, bool A_ALONG_K, bool B_ALONG_K, int MOST>
__global__ void __launch_bounds__(TM / (4 * ROWS) * (TN / 64) * 32, BLOCKS)
float32(const __grid_constant__ Table<float, Out, MOST> table, int sizes, float alpha, float beta, int by_row, int activation)
{
    using Of = FloatTile<TM, TN, ROWS, A_ALONG_K, B_ALONG_K>;
    all_tiles<Of, TM, TN>(table, sizes, alpha, beta, by_row, activation);
}

// One product, of which each block makes a tile of C, and stores it plainly.
template <int TM, int TN, int ROWS, int BLOCKS, bool A_ALONG_K, bool B_ALONG_K>
__global__ void __launch_bounds__(TM / (4 * ROWS) * (TN / 64) * 32, BLOCKS)
float32_plain(const float* A, const float* B, float* C, const float* bias, float alpha, int M, int N, int K, long long a_stride,
              long long b_stride, int c_stride, int down, int across)
{
    using Of = FloatTile<TM, TN, ROWS, A_ALONG_K, B_ALONG_K>;
    int2 at = scheduled(blockIdx.x, down, across);
    Of tile = {A, B, M, N, a_stride, b_stride};
    typename Of::Sums sum = {};
    tile.add(sum, at.x * TM, at.y * TN, 0, K);
    tile.store_plain(sum, C, bias, alpha, c_stride, at.x * TM, at.y * TN);
}
