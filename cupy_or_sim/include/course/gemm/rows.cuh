// The way of a warp's sums to rows of C.
#pragma once
#include <course/gemm/finish.cuh>

// Where a column's sum lies in a row: from 32 on, neighbouring groups of four change places. Lanes that read 8 columns each,
// four at a time, then find them in different banks.
__device__ __forceinline__ int shuffled(int column) { return column ^ column / 32 % 2 * 4; }

// A warp's WM x WN sums, in rows of WN + 8; its lanes store neighbours in a row of C. A lane keeps its columns.
template <typename T, typename Out>
template <int WM, int WN, int WIDE, bool PLAIN>
__device__ void Finish<T, Out>::rows(const float* sums, int m, int n) const
{
    constexpr int LANES = WN / WIDE < 32 ? WN / WIDE : 32, ROWS = 32 / LANES;      // lanes for a row, rows at a time
    constexpr int WORD = WIDE < 4 ? WIDE : 4;
    constexpr int AHEAD = PLAIN && WIDE == 1 ? 8 : 1;                              // so many rows wait for their sums together
    struct alignas(4 * WORD) Word { float of[WORD]; };
    int lane = threadIdx.x % 32;
    for (int j = lane % LANES * WIDE; j < WN && lane < LANES * ROWS; j += LANES * WIDE) {
        float across[WIDE];
        for (int i = 0; i < WIDE; ++i) across[i] = bias && !by_row && n + j + i < N ? float(bias[n + j + i]) : 0.0f;
        #pragma unroll (PLAIN && WIDE > 1 ? 4 : 1)
        for (int i = lane / LANES; i < WM; i += AHEAD * ROWS) {
            alignas(Word) float own[AHEAD][WIDE];
            #pragma unroll
            for (int r = 0; r < AHEAD && (!r || i + r * ROWS < WM); ++r)
                for (int w = 0; w < WIDE; w += WORD)
                    *(Word*)&own[r][w] = *(const Word*)&sums[(i + r * ROWS) * (WN + 8) + shuffled(j + w)];
            #pragma unroll
            for (int r = 0; r < AHEAD && (!r || i + r * ROWS < WM); ++r)
                store<WIDE, PLAIN>(own[r], across, m + i + r * ROWS, n + j);
        }
    }
}

// 16 bytes at a time where C allows it, else element by element: behind the N-th column of a view others begin.
template <typename T, typename Out>
template <int WM, int WN>
__device__ void Finish<T, Out>::warp_tile(const float* sums, int m, int n) const
{
    constexpr int WIDE = 16 / sizeof(Out);
    bool wide = (stride | N) % WIDE == 0 && (size_t)C % 16 == 0, plain = beta == 0 && !activation && !by_row;
    if (!plain) wide ? rows<WM, WN, WIDE, false>(sums, m, n) : rows<WM, WN, 1, false>(sums, m, n);
    else wide ? rows<WM, WN, WIDE, true>(sums, m, n) : rows<WM, WN, 1, true>(sums, m, n);
}
