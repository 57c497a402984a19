// Products of any sizes in one launch.
#pragma once
#include <course/gemm/persistent.cuh>

// Products of one size: `count` of them, each so many elements behind the one before it. `next` 0: all have the same operand.
template <typename T, typename Out>
struct Products {
    const T *A, *B, *bias;
    Out* C;
    long long a_stride, b_stride, a_next, b_next, c_next;
    int M, N, K, c_stride, count, down, across;           // down, across: tiles of each
};
template <typename T, typename Out, int MOST>
struct Table { Products<T, Out> of[MOST]; };

// As `persistent`, for all products of a table: a block takes every gridDim.x-th of their tiles.
template <typename T, typename Out, int TM, int TN, int TK, int WM, int WN, int STAGES, bool A_ALONG_K, bool B_ALONG_K, int MOST>
__global__ void __launch_bounds__(TM / WM * (TN / WN) * 32)
grouped(const __grid_constant__ Table<T, Out, MOST> table, int sizes, float alpha, float beta, int by_row, int activation)
{
    using Of = Tile<T, TM, TN, TK, WM, WN, STAGES, A_ALONG_K, B_ALONG_K>;
    int size = 0, number = blockIdx.x;                    // of the tile, among those of this size and later ones
    while (size < sizes) {
        const Products<T, Out>& p = table.of[size];
        int tiles = p.down * p.across, product = number / tiles;
        if (product >= p.count) {
            number -= p.count * tiles, ++size;
            continue;
        }
        int2 at = scheduled(number % tiles, p.down, p.across);
        Of tile = {p.A + product * p.a_next, p.B + product * p.b_next, p.M, p.N, p.a_stride, p.b_stride};
        Finish<T, Out> finish = {p.C + product * p.c_next, p.bias, alpha, beta, by_row, activation, p.M, p.N, p.c_stride};
        typename Of::Sums sum = {};
        tile.add(sum, at.x * TM, at.y * TN, 0, p.K);
        tile.store(sum, finish, at.x * TM, at.y * TN);
        __syncthreads();                                  // all have read their sums: the slots are free for the next tile
        number += gridDim.x;
    }
}
