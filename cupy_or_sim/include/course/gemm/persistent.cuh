// Blocks that stay, and the order in which they take tiles.
#pragma once
#include <course/gemm/tile.cuh>

// Which tile of C has a number: (row, column), in tiles. GROUP tiles below each other, then those to the right of them;
// behind the last column, the next group. The last group may have fewer rows.
__device__ __forceinline__ int2 scheduled(int number, int down, int across)
{
    constexpr int GROUP = 16;
    int group = number / (GROUP * across), inside = number % (GROUP * across), rows = min(GROUP, down - group * GROUP);
    return make_int2(group * GROUP + inside % rows, inside / rows);
}

// As many blocks as run at once; each makes every gridDim.x-th tile.
template <typename T, typename Out, int TM, int TN, int TK, int WM, int WN, int STAGES, bool A_ALONG_K, bool B_ALONG_K>
__global__ void __launch_bounds__(TM / WM * (TN / WN) * 32)
persistent(const T* A, const T* B, Out* C, int M, int N, int K, long long a_stride, long long b_stride, int c_stride)
{
    using Of = Tile<T, TM, TN, TK, WM, WN, STAGES, A_ALONG_K, B_ALONG_K>;
    Of tile = {A, B, M, N, a_stride, b_stride};
    Finish<T, Out> finish = {C, nullptr, 1, 0, 0, 0, M, N, c_stride};
    int down = (M + TM - 1) / TM, across = (N + TN - 1) / TN;
    for (int number = blockIdx.x; number < down * across; number += gridDim.x) {
        int2 at = scheduled(number, down, across);
        typename Of::Sums sum = {};
        tile.add(sum, at.x * TM, at.y * TN, 0, K);
        tile.store(sum, finish, at.x * TM, at.y * TN);
        __syncthreads();                              // all have read their sums: the slots are free for the next tile
    }
}
