// Blocks that share the k-tiles of all tiles evenly.
#pragma once
#include <course/gemm/persistent.cuh>
#include <course/gemm/left.cuh>

// Tiles with numbers below `whole` as in `persistent`. The k-tiles of the others stand in one row, and each block has an equal
// piece of it, which it takes from its end to its beginning. Who has the last k-tile of a tile finishes it, with the sums that
// blocks before it left. So a block waits only for blocks with lower numbers, and these begin earlier.
template <typename T, typename Out, int TM, int TN, int TK, int WM, int WN, int STAGES, bool A_ALONG_K, bool B_ALONG_K>
__global__ void __launch_bounds__(TM / WM * (TN / WN) * 32)
stream_k(const T* A, const T* B, Out* C, const T* bias, float alpha, float beta, int by_row, int activation,
         int M, int N, int K, int whole, float4* left, int* flags, long long a_stride, long long b_stride, int c_stride)
{
    using Of = Tile<T, TM, TN, TK, WM, WN, STAGES, A_ALONG_K, B_ALONG_K>;
    using Sums = Left<Of::THREADS, Of::ROWS, Of::COLUMNS>;
    Of tile = {A, B, M, N, a_stride, b_stride};
    Finish<T, Out> finish = {C, bias, alpha, beta, by_row, activation, M, N, c_stride};
    int down = (M + TM - 1) / TM, across = (N + TN - 1) / TN, k_tiles = (K + TK - 1) / TK;
    auto piece = [&](int block) { return int((long long)(down * across - whole) * k_tiles * block / gridDim.x); };
    int begin = piece(blockIdx.x), end = piece(blockIdx.x + 1);           // of this block's piece
    for (int number = blockIdx.x; number < whole || begin < end; number += gridDim.x) {
        int mine = number, row = 0, first = 0, last = k_tiles;            // a whole tile
        if (number >= whole) {                        // or what of the piece lies in its last tile
            mine = whole + (end - 1) / k_tiles, row = (mine - whole) * k_tiles;
            first = max(begin - row, 0), last = end - row, end = row + first;
        }
        int2 at = scheduled(mine, down, across);
        typename Of::Sums sum = {};
        tile.add(sum, at.x * TM, at.y * TN, first * TK, min(K, last * TK) - first * TK);
        if (last < k_tiles) Sums(left, flags, blockIdx.x).leave(sum);
        else {
            for (int block = blockIdx.x; first > 0; first = piece(block) - row) Sums(left, flags, --block).take(sum);
            tile.store(sum, finish, at.x * TM, at.y * TN);
        }
        __syncthreads();                              // all have read their sums: the slots are free for the next tile
    }
}
