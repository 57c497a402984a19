// Products of float32 in one launch.
#pragma once
#include <course/gemm/float_tile.cuh>
#include <course/gemm/grouped.cuh>

// Parts of K are products too, of which each has sums of its own. BLOCKS: so many find room on an SM.
template <typename Out, int TM, int TN, int COLUMNS, int BLOCKS, bool A_ALONG_K, bool B_ALONG_K, int MOST>
__global__ void __launch_bounds__(TM / 64 * (TN / COLUMNS / 4) * 32, BLOCKS)
float32(const __grid_constant__ Table<float, Out, MOST> table, int sizes, float alpha, float beta, int by_row, int activation)
{
    using Of = FloatTile<TM, TN, COLUMNS, A_ALONG_K, B_ALONG_K>;
    all_tiles<Of, TM, TN>(table, sizes, alpha, beta, by_row, activation);
}
