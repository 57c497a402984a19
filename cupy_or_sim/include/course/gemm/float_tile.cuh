// One tile of C in float32, by fused multiply-adds: no rounding before the sums.
#pragma once
#include <course/gemm/float_operand.cuh>
#include <course/gemm/tile.cuh>

// How a block makes one tile of C. A warp computes 64 x 4 * COLUMNS of it, each thread 8 x COLUMNS: two groups of 4 rows, 32
// apart, and groups of 4 columns, 16 apart.
template <int TM, int TN, int COLUMNS, bool A_ALONG_K, bool B_ALONG_K>
struct FloatTile {
    static constexpr int TK = 16, SLOTS = 3, GROUPS = COLUMNS / 4, DOWN = TM / 64;
    static constexpr int TIMES = TK / 2 * GROUPS;     // of 32 FMAs in half of a k-tile
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
        float a[2][2][4], b[2][4];                    // of two k: 8 rows; of two groups: 4 columns
        int k_tiles = (k_count + TK - 1) / TK, read = 0, write = (SLOTS - 1) * SLOT;
        auto next = [](int slot) { return slot == (SLOTS - 1) * SLOT ? 0 : slot + SLOT; };
        for (int k_tile = 0; k_tile < SLOTS - 1; ++k_tile) {
            for (int i = 0; i < OfA::COPIES; ++i) rows.copy(i, k_tile * SLOT, k_count - k_tile * TK);
            for (int i = 0; i < OfB::COPIES; ++i) columns.copy(i, k_tile * SLOT, k_count - k_tile * TK);
            commit_group();
        }
        wait_group<SLOTS - 2>();
        __syncthreads();
        for (int g = 0; g < 2; ++g) rows.load(a[0][g], g, 0, 0);
        columns.load(b[0], 0, 0, 0);
        for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
            int left = k_count - (k_tile + SLOTS - 1) * TK;
            #pragma unroll
            for (int k = 0; k < TK; ++k) {
                if (k == TK / 2) {                    // in mid-tile: math stands on both sides
                    wait_group<SLOTS - 3>();          // the next k-tile is complete
                    __syncthreads();                  // and all have read the one before this: its slot is free
                }
                int then = (k + 1) % TK, there = then ? read : next(read);                // the next k, and its slot
                #pragma unroll
                for (int group = 0; group < GROUPS; ++group) {
                    int ahead = (group + 1) % GROUPS;
                    columns.load(b[(k * GROUPS + group + 1) % 2], ahead, ahead ? k : then, ahead ? read : there);
                    if (group < 2) rows.load(a[(k + 1) % 2][group], group, then, there);
                    int nth = (k - TK / 2) * GROUPS + group;                          // copies are spread over the second half
                    for (int i = 0; i < OfA::COPIES; ++i)
                        if (nth == i * (TIMES / OfA::COPIES)) rows.copy(i, write, left);
                    for (int i = 0; i < OfB::COPIES; ++i)
                        if (nth == i * (TIMES / OfB::COPIES)) columns.copy(i, write, left);
                    for (int j = 0; j < 4; ++j)
                        for (int t = 0; t < 8; ++t) { // rows to and fro: neighbours share an operand
                            int i = j % 2 ? 7 - t : t;
                            sum[group][j][i / 4][i % 4] += a[k % 2][i / 4][i % 4] * b[(k * GROUPS + group) % 2][j];
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
    // The sums change hands in shared memory, 64 x 16 of a warp at a time, so that lanes store whole lines. Why 0 is added:
    // wide_tile.cuh.
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
                    *(float4*)&mine[(m() % 64 + i * 32 + r) * ROW + n() % 16] = make_float4(
                        of[0][i][r] + 0.0f, of[1][i][r] + 0.0f, of[2][i][r] + 0.0f, of[3][i][r] + 0.0f);
            __syncwarp();
            finish.template warp_tile<64, 16>(mine, m_tile + warp % DOWN * 64, n_tile + warp / DOWN * 4 * COLUMNS + group * 16);
            __syncwarp();                             // all have read them
        }
    }
};
