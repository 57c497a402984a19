// One tile of C in float32, by fused multiply-adds: no rounding before the sums.
#pragma once
#include <course/gemm/float_operand.cuh>
#include <course/gemm/tile.cuh>

// How a block makes one tile of C. A warp computes 4 * ROWS x 64 of it, each thread ROWS x 8: groups of 4 rows, 16 apart, and
// two groups of 4 columns, 32 apart.
template <int TM, int TN, int ROWS, bool A_ALONG_K, bool B_ALONG_K>
struct FloatTile {
    static constexpr int TK = 16, SLOTS = 3, GROUPS = ROWS / 4, ACROSS = TN / 64;
    static constexpr int TIMES = TK / 2 * GROUPS;     // of 32 FMAs in half of a k-tile
    static constexpr int THREADS = ACROSS * (TM / (4 * ROWS)) * 32, SLOT = (TM + TN) * TK * 4;
    using Sums = float[GROUPS][4][2][4];              // [group of rows][row][group of columns][column]
    using OfA = FloatOperand<TM, TK, THREADS, A_ALONG_K, 16>;
    using OfB = FloatOperand<TN, TK, THREADS, B_ALONG_K, 32>;
    const float *A, *B;
    int M, N;
    long long a_stride, b_stride;

    __device__ __forceinline__ int m() const
    {
        return threadIdx.x / 32 / ACROSS * 4 * ROWS + (threadIdx.x % 2 + threadIdx.x / 16 % 2 * 2) * 4;
    }
    __device__ __forceinline__ int n() const { return threadIdx.x / 32 % ACROSS * 64 + threadIdx.x / 2 % 8 * 4; }
    // sum += rows m_tile.. of A times columns n_tile.. of B, over k_count k from k_begin on.
    __device__ __forceinline__ void add(Sums& sum, int m_tile, int n_tile, int k_begin, int k_count) const
    {
        unsigned shared = __cvta_generic_to_shared(slots);
        OfB columns(B, n_tile, N, k_begin, b_stride, shared, n());
        OfA rows(A, m_tile, M, k_begin, a_stride, shared + TN * TK * 4, m());
        // Of two k: 8 columns; of two groups in turn: 4 rows. The dimension of 1 is for the compiler, whose registers are
        // others without it: +0.7 % time for arrays as they lie, -0.4 % along M and N.
        float b[2][2][4], a[2][1][4];
        int k_tiles = (k_count + TK - 1) / TK, read = 0, write = (SLOTS - 1) * SLOT;
        auto next = [](int slot) { return slot == (SLOTS - 1) * SLOT ? 0 : slot + SLOT; };
        for (int k_tile = 0; k_tile < SLOTS - 1; ++k_tile) {
            for (int i = 0; i < OfB::COPIES; ++i) columns.copy(i, k_tile * SLOT, k_count - k_tile * TK);
            for (int i = 0; i < OfA::COPIES; ++i) rows.copy(i, k_tile * SLOT, k_count - k_tile * TK);
            commit_group();
        }
        wait_group<SLOTS - 2>();
        __syncthreads();
        for (int g = 0; g < 2; ++g) columns.load(b[0][g], g, 0, 0);
        rows.load(a[0][0], 0, 0, 0);
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
                    int ahead = (group + 1) % GROUPS, turn = k * GROUPS + group;
                    rows.load(a[(turn + 1) % 2][0], ahead, ahead ? k : then, ahead ? read : there);
                    if (group < 2) columns.load(b[(k + 1) % 2][group], group, then, there);
                    int nth = (k - TK / 2) * GROUPS + group;                              // copies are spread over the second half
                    for (int i = 0; i < OfB::COPIES; ++i)
                        if (nth == i * (TIMES / OfB::COPIES)) columns.copy(i, write, left);
                    for (int i = 0; i < OfA::COPIES; ++i)
                        if (nth == i * (TIMES / OfA::COPIES)) rows.copy(i, write, left);
                    for (int r = 0; r < 4; ++r)
                        for (int t = 0; t < 8; ++t) { // columns to and fro: neighbours share an operand
                            int j = r % 2 ? 7 - t : t;
                            sum[group][r][j / 4][j % 4] += b[k % 2][j / 4][j % 4] * a[turn % 2][0][r];
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
    // C = alpha * sum + bias, where C takes four columns at a time: from where the sums are.
    __device__ __forceinline__ void store_plain(const Sums& sum, float* C, const float* bias, float alpha, int c_stride, int m_tile,
                                                int n_tile) const
    {
        float across[2][4] = {};
        for (int j = 0; j < 8; ++j) {
            int column = n_tile + n() + j / 4 * 32 + j % 4;
            if (bias && column < N) across[j / 4][j % 4] = bias[column];
        }
        int row = m_tile + m(), column = n_tile + n();
        #pragma unroll
        for (int group = 0; group < GROUPS; ++group)
            #pragma unroll
            for (int r = 0; r < 4; ++r)
                #pragma unroll
                for (int g = 0; g < 2; ++g) {
                    const auto &of = sum[group][r][g], &add = across[g];
                    float4* to = (float4*)&C[(long long)(row + group * 16 + r) * c_stride + column + g * 32];
                    float4 four = make_float4(alpha * of[0] + add[0], alpha * of[1] + add[1], alpha * of[2] + add[2], alpha * of[3] + add[3]);
                    if (row + group * 16 + r < M && column + g * 32 < N) *to = four;
                }
    }
    // For any C the sums change hands in shared memory, 16 x 64 of a warp at a time, so that lanes store whole lines. Why 0 is added:
    // wide_tile.cuh.
    template <typename Out>
    __device__ __forceinline__ void store(const Sums& sum, const Finish<float, Out>& finish, int m_tile, int n_tile) const
    {
        constexpr int ROW = 64 + 8;
        static_assert(THREADS / 32 * 16 * ROW * 4 <= SLOTS * SLOT, "all warps at once");
        float* mine = (float*)slots + threadIdx.x / 32 * 16 * ROW;
        #pragma unroll
        for (int group = 0; group < GROUPS; ++group) {
            for (int i = 0; i < 8; ++i) {
                auto& of = sum[group][i / 2][i % 2];
                *(float4*)&mine[(m() % 16 + i / 2) * ROW + shuffled(n() % 64 + i % 2 * 32)] =
                    make_float4(of[0] + 0.0f, of[1] + 0.0f, of[2] + 0.0f, of[3] + 0.0f);
            }
            __syncwarp();
            finish.template warp_tile<16, 64>(mine, m_tile + m() / 16 * 16 + group * 16, n_tile + n() / 64 * 64);
            __syncwarp();                             // all have read them
        }
    }
};
