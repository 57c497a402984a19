// One tile of C in float32, by fused multiply-adds: no rounding before the sums.
#pragma once
#include <course/gemm/float_operand.cuh>
#include <course/gemm/tile.cuh>

// How a block makes one tile of C. A warp computes 64 x 4 * COLUMNS of it, each thread 8 x COLUMNS: two groups of 4 rows, 32
// apart, and groups of 4 columns, 16 apart.
template <int TM, int TN, int COLUMNS, bool A_ALONG_K, bool B_ALONG_K>
struct FloatTile {
    static constexpr int TK = 16, SLOTS = 3, STEPS = TK / 4, GROUPS = COLUMNS / 4, PIECES = 4 * GROUPS, DOWN = TM / 64;
    static constexpr int THREADS = DOWN * (TN / (4 * COLUMNS)) * 32, SLOT = (TM + TN) * TK * 4;
    using Sums = float[GROUPS][4][2][4];              // [group of columns][column][group of rows][row]
    using OfA = FloatOperand<TM, TK, THREADS, A_ALONG_K, 32>;
    using OfB = FloatOperand<TN, TK, THREADS, B_ALONG_K, 16>;
    const float *A, *B;
    int M, N;
    long long a_stride, b_stride;

    __device__ __forceinline__ int m() const { return threadIdx.x / 32 % DOWN * 64 + threadIdx.x / 2 % 8 * 4; }
    __device__ __forceinline__ int n() const
    {
        return threadIdx.x / 32 / DOWN * 4 * COLUMNS + (threadIdx.x % 2 + threadIdx.x / 16 % 2 * 2) * 4;
    }
    // sum += rows m_tile.. of A times columns n_tile.. of B, over k_count k from k_begin on.
    __device__ __forceinline__ void add(Sums& sum, int m_tile, int n_tile, int k_begin, int k_count) const
    {
        unsigned shared = __cvta_generic_to_shared(slots);
        OfA rows(A, m_tile, M, k_begin, a_stride, shared, m());
        OfB columns(B, n_tile, N, k_begin, b_stride, shared + TM * TK * 4, n());
        constexpr int COPIES = OfA::COPIES + OfB::COPIES, HALF = STEPS / 2;
        float a[2][2][4][4], b[2][4];                 // four k of 8 rows, and of those of the next step; and of one column
        int k_tiles = (k_count + TK - 1) / TK, read = 0, write = (SLOTS - 1) * SLOT;
        auto copy = [&](int i, int k_tile, int slot) {
            int left = k_count - k_tile * TK;
            i < OfA::COPIES ? rows.copy(i, slot, left) : columns.copy(i - OfA::COPIES, slot, left);
        };
        auto next = [](int slot) { return slot == (SLOTS - 1) * SLOT ? 0 : slot + SLOT; };
        for (int k_tile = 0; k_tile < SLOTS - 1; ++k_tile) {
            for (int i = 0; i < COPIES; ++i) copy(i, k_tile, k_tile * SLOT);
            commit_group();
        }
        wait_group<SLOTS - 2>();
        __syncthreads();
        for (int i = 0; i < 8; ++i) rows.load(a[0][i / 4][i % 4], i / 4, i % 4, 0, 0);
        columns.load(b[0], 0, 0, 0, 0);
        for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
            #pragma unroll
            for (int step = 0; step < STEPS; ++step) {
                if (step == HALF) {                   // in mid-tile: math stands on both sides
                    wait_group<SLOTS - 3>();          // the next k-tile is complete
                    __syncthreads();                  // and all have read the one before this: its slot is free
                }
                int then = (step + 1) % STEPS, there = then ? read : next(read);      // the next step, and its slot
                #pragma unroll
                for (int piece = 0; piece < PIECES; ++piece) {
                    int ahead = (piece + 1) % PIECES, late = piece - (PIECES - 8), nth = (step - HALF) * PIECES + piece;
                    columns.load(b[ahead % 2], ahead / 4, ahead % 4, ahead ? step : then, ahead ? read : there);
                    if (late >= 0) rows.load(a[1 - step % 2][late / 4][late % 4], late / 4, late % 4, then, there);
                    if (nth >= 0 && nth * COPIES % (HALF * PIECES) < COPIES)          // spread over the second half
                        copy(nth * COPIES / (HALF * PIECES), k_tile + SLOTS - 1, write);
                    for (int e = 0; e < 4; ++e)
                        for (int t = 0; t < 8; ++t) { // rows to and fro: neighbours share an operand
                            int i = e % 2 ? 7 - t : t, k = B_ALONG_K ? e : piece % 4, j = B_ALONG_K ? piece % 4 : e;
                            float of_a = A_ALONG_K ? a[step % 2][i / 4][i % 4][k] : a[step % 2][i / 4][k][i % 4];
                            sum[piece / 4][j][i / 4][i % 4] += of_a * b[piece % 2][e];
                        }
                }
            }
            read = next(read);
            commit_group();
            write = next(write);
        }
        wait_group<0>();
        __syncthreads();                              // all have read the last slot
    }
    // The sums change hands in shared memory, 64 x 16 of a warp at a time, so that lanes store whole lines.
    template <typename Out>
    __device__ __forceinline__ void store(const Sums& sum, const Finish<float, Out>& finish, int m_tile, int n_tile) const
    {
        constexpr int ROW = 16 + 8;
        static_assert(THREADS / 32 * 64 * ROW * 4 <= SLOTS * SLOT, "all warps at once");
        int warp = threadIdx.x / 32;
        float* mine = (float*)slots + warp * 64 * ROW;
        #pragma unroll
        for (int group = 0; group < GROUPS; ++group) {
            auto& of = sum[group];
            #pragma unroll
            for (int i = 0; i < 2; ++i)
                #pragma unroll
                for (int r = 0; r < 4; ++r)
                    *(float4*)&mine[(m() % 64 + i * 32 + r) * ROW + n() % 16] =
                        make_float4(of[0][i][r], of[1][i][r], of[2][i][r], of[3][i][r]);
            __syncwarp();
            finish.template warp_tile<64, 16>(mine, m_tile + warp % DOWN * 64, n_tile + warp / DOWN * 4 * COLUMNS + group * 16);
            __syncwarp();                             // all have read them
        }
    }
};
