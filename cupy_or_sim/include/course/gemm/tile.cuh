// One tile of C: operands, loop, and the way to C.
#pragma once
#include <course/gemm/operand.cuh>
#include <course/gemm/mainloop.cuh>
#include <course/gemm/rows.cuh>

extern __shared__ __align__(128) unsigned char slots[];                   // in each slot a tile of A, then one of B

// How a block makes one tile of C: `add` makes sums of it, `store` writes them.
template <typename T, int TM, int TN, int TK, int WM, int WN, int STAGES, bool A_ALONG_K, bool B_ALONG_K>
struct Tile {
    static constexpr int THREADS = TM / WM * (TN / WN) * 32, ROWS = WM / 16, COLUMNS = WN / 8;
    using Sums = float[ROWS][COLUMNS][4];                                 // of a thread
    const T *A, *B;
    int M, N;
    long long a_stride, b_stride;

    __device__ __forceinline__ int m() const { return threadIdx.x / 32 % (TM / WM) * WM; }     // where the warp's part of
    __device__ __forceinline__ int n() const { return threadIdx.x / 32 / (TM / WM) * WN; }     // the tile begins

    // sum += rows m_tile.. of A times columns n_tile.. of B, over k_count k from k_begin on.
    __device__ __forceinline__ void add(Sums& sum, int m_tile, int n_tile, int k_begin, int k_count TRACE_ARG) const
    {
        unsigned shared = __cvta_generic_to_shared(slots);
        Operand<T, TM, WM, TK, THREADS, A_ALONG_K, true> rows(A, m_tile, M, k_begin, a_stride, shared, m());
        Operand<T, TN, WN, TK, THREADS, B_ALONG_K, false> columns(B, n_tile, N, k_begin, b_stride, shared + TM * TK * 2, n());
        mainloop<T, TK, STAGES, (TM + TN) * TK * 2>(sum, rows, columns, k_count TRACE_PASS);
    }
    // The sums change hands in shared memory, each warp's in its own part, so that lanes store whole lines.
    template <typename Out>
    __device__ __forceinline__ void store(const Sums& sum, const Finish<T, Out>& finish, int m_tile, int n_tile) const
    {
        int lane = threadIdx.x % 32;
        float* mine = (float*)slots + threadIdx.x / 32 * WM * (WN + 8);
        #pragma unroll
        for (int i = 0; i < ROWS; ++i)
            #pragma unroll
            for (int j = 0; j < 2 * COLUMNS; ++j)     // rows 0 to 7 and rows 8 to 15 of each 16 x 8
                *(float2*)&mine[(16 * i + j % 2 * 8 + lane / 4) * (WN + 8) + shuffled(j / 2 * 8 + lane % 4 * 2)] =
                    make_float2(sum[i][j / 2][j % 2 * 2], sum[i][j / 2][j % 2 * 2 + 1]);
        __syncwarp();
        finish.template warp_tile<WM, WN>(mine, m_tile + m(), n_tile + n());
    }
};
