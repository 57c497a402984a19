// What becomes of a sum, before it is stored once.
#pragma once
#include <course/gemm/tiles.cuh>

// What becomes of the sums: C = activation(alpha * sum + beta * C + bias).
template <typename T, typename Out>
struct Finish {
    Out* C;
    const T* bias;                                    // one for each column of C, or (by_row) for each row; or null
    float alpha, beta;                                // with beta 0, BLAS does not read C: it may hold NaN
    int by_row, activation, M, N, stride;             // activation: 0 none, 1 ReLU, 2 GELU

    // WIDE columns from (row, column) on, in one store. PLAIN: alpha * sum + across, and no branches.
    template <int WIDE, bool PLAIN>
    __device__ __forceinline__ void store(const float (&sums)[WIDE], const float (&across)[WIDE], int row, int column) const
    {
        struct alignas(WIDE * sizeof(Out)) Word { Out of[WIDE]; } word = {}, *to = (Word*)&C[(long long)row * stride + column];
        float x[WIDE], down = !PLAIN && bias && by_row && row < M ? float(bias[row]) : 0.0f;
        bool inside = row < M && column < N;
        if (!PLAIN && beta != 0 && inside) word = *to;
        for (int i = 0; i < WIDE; ++i) x[i] = alpha * sums[i] + across[i];
        if (!PLAIN) for (int i = 0; i < WIDE; ++i) x[i] += beta * float(word.of[i]) + down;
        if (!PLAIN && activation == 1) for (int i = 0; i < WIDE; ++i) x[i] = x[i] < 0 ? 0 : x[i];   // NaN stays NaN
        if (!PLAIN && activation == 2) for (int i = 0; i < WIDE; ++i) x[i] *= 0.5f * (1 + erff(x[i] * 0.70710678f));
        for (int i = 0; i < WIDE; ++i) word.of[i] = Out(x[i]);
        if (inside) *to = word;
    }
    // All sums of a warp, in rows of WN + 8 floats, from (m, n) on; `rows` stores WIDE columns at a time.
    template <int WM, int WN> __device__ void warp_tile(const float* sums, int m, int n) const;
    template <int WM, int WN, int WIDE, bool PLAIN> __device__ void rows(const float* sums, int m, int n) const;
};
