// The kernel: a block makes one tile of C, or a part of its sums.
#pragma once
#include <course/gemm/tile.cuh>

// A (M, K) @ B (K, N) for any sizes; rows of A and B begin at multiples of 16 bytes. Blocks in the order of lesson 05, which
// here is that of the grid: gridDim.x tiles down C, then those to the right of them, then the next of `groups` groups below;
// then the next part of K.
template <typename T, typename Out, int TM, int TN, int TK, int WM, int WN, int STAGES, bool A_ALONG_K, bool B_ALONG_K>
__global__ void __launch_bounds__(TM / WM * (TN / WN) * 32)
gemm(const T* A, const T* B, Out* C, const T* bias, float alpha, float beta, int by_row, int activation,
     int M, int N, int K, int groups, int k_part, long long a_stride, long long b_stride, int c_stride TRACE_ARG)
{
    using Of = Tile<T, TM, TN, TK, WM, WN, STAGES, A_ALONG_K, B_ALONG_K>;
    int part = blockIdx.z / groups, k_begin = part * k_part;
    int m_tile = (blockIdx.z % groups * gridDim.x + blockIdx.x) * TM, n_tile = blockIdx.y * TN;
    if (m_tile >= M) return;                          // the last group may have fewer rows
    Of tile = {A, B, M, N, a_stride, b_stride};
    typename Of::Sums sum = {};
    tile.add(sum, m_tile, n_tile, k_begin, min(K - k_begin, k_part) TRACE_PASS);
    Finish<T, Out> finish = {C + (long long)part * M * c_stride, bias, alpha, beta, by_row, activation, M, N, c_stride};
    tile.store(sum, finish, m_tile, n_tile);          // each part of K has sums of its own
}
