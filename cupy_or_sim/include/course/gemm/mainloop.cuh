// The loop over k-tiles.
#pragma once
#include <course/gemm/tiles.cuh>

// sum += a tile's rows of A times its columns of B over k_count k: the loop of `fastest` for any tile.
template <typename T, int TK, int STAGES, int SLOT, typename OfA, typename OfB, int ROWS, int COLUMNS>
__device__ __forceinline__ void mainloop(float (&sum)[ROWS][COLUMNS][4], OfA& rows, OfB& columns, int k_count TRACE_ARG)
{
    constexpr int STEPS = TK / 16, MMAS = ROWS * COLUMNS, COPIES = OfA::COPIES + OfB::COPIES;
    constexpr int PER_STEP = (COPIES + STEPS - 2) / (STEPS - 1);
    constexpr int FIRST = PER_STEP > MMAS / 2 ? MMAS - PER_STEP : MMAS / 2;
    static_assert(FIRST >= 0, "in each k-step but the last, from mma FIRST on, a copy stands before each mma");
    unsigned a[2][ROWS][4], b[COLUMNS / 2][4];        // A: two sets; B: loaded anew as soon as it is used
    auto copy = [&](int i, int ahead, int k_tile) {   // chunk i of the k-tile that lies `ahead`
        int slot = ahead % STAGES * SLOT, left = k_count - (k_tile + ahead) * TK;
        if (i < OfA::COPIES) rows.copy(i, ahead, slot, left);
        else if (i < COPIES) columns.copy(i - OfA::COPIES, ahead, slot, left);
        if (i == COPIES - 1) commit_group();
    };
    auto arrive = [&](int k_tile) {                   // the k-tile has landed, and every warp knows it
        TRACE_BEGIN(wait, k_tile);    wait_group<STAGES - 2>();    TRACE_END(wait, k_tile);
        TRACE_BEGIN(barrier, k_tile); __syncthreads();    TRACE_END(barrier, k_tile);
        TRACE_BEGIN(math, k_tile);
    };
    for (int i = 0; i < COPIES * (STAGES - 1); ++i) copy(i % COPIES, i / COPIES, 0);
    arrive(0);
    for (int i = 0; i < ROWS; ++i) rows.load(a[0][i], i, 0, 0);
    for (int j = 0; j < COLUMNS / 2; ++j) columns.load(b[j], j, 0, 0);
    for (int turn = 0; turn * TK < k_count; turn += STAGES) {
        #pragma unroll                                // all slots in one turn: their addresses are constants
        for (int slot = 0; slot < STAGES && (slot == 0 || (turn + slot) * TK < k_count); ++slot)
            #pragma unroll
            for (int step = 0; step < STEPS; ++step) {
                int ahead = (step + 1) % STEPS, from = (ahead ? slot : (slot + 1) % STAGES) * SLOT;
                if (ahead == 0) { TRACE_END(math, turn + slot); arrive(turn + slot + 1); }
                for (int i = 0; i < ROWS; ++i) rows.load(a[ahead % 2][i], i, ahead, from);
                #pragma unroll
                for (int t = 0; t < MMAS; ++t) {      // column by column, down and up the rows
                    int j = t / ROWS, i = j % 2 ? ROWS - 1 - t % ROWS : t % ROWS, late = t - FIRST;
                    if (ahead && late >= 0 && late < PER_STEP) copy(step * PER_STEP + late, slot + STAGES - 1, turn);
                    mma(sum[i][j], a[step % 2][i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1], T());
                    if (t % (2 * ROWS) == 2 * ROWS - 1) columns.load(b[j / 2], j / 2, ahead, from);
                }
            }
        rows.advance(STAGES), columns.advance(STAGES);
    }
    wait_group<0>();
    __syncthreads();                                  // all have read the last slot
}
