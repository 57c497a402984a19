// A or B: what a thread copies of it, and what a lane reads.
#pragma once
#include <course/gemm/tiles.cuh>

// One operand, in tiles of SIZE rows of A (or columns of B) x TK. A tile lies in shared memory as in global memory: its rows
// run along k (ALONG_K), or each of them is one k and runs along M (or N). A warp reads PART of SIZE.
template <typename T, int SIZE, int PART, int TK, int THREADS, bool ALONG_K, bool IS_A>
struct Operand {
    static constexpr int WIDTH = ALONG_K ? TK : SIZE, TURN = THREADS * 8 / WIDTH, COPIES = SIZE * TK / 8 / THREADS;
    static constexpr int ADDRESSES = ALONG_K ? TK / 16 : PART / 16;
    static_assert(TURN % 8 == 0 && COPIES * THREADS * 8 == SIZE * TK, "whole turns: the swizzle repeats every 8 rows");
    const T* from[ALONG_K ? COPIES : 1];              // this thread's chunks, one in every TURN rows; or only the next one
    long long turn;                                   // from there to the one behind it
    int k;                                            // of the first chunk, in its k-tile; very large: all are outside
    unsigned to, at[ADDRESSES];                       // in shared memory: the first chunk; where this lane's rows begin

    // The tile begins at row `first` of `size`, the warp's part of it at row `part`. In place of rows that are not there a
    // thread copies its first one again, which costs the loop nothing; what comes of it is never stored.
    __device__ Operand(const T* matrix, int first, int size, int k_begin, long long stride, unsigned tile, int part)
    {
        int row = threadIdx.x / (WIDTH / 8), chunk = threadIdx.x % (WIDTH / 8), lane = threadIdx.x % 32;
        int mine = first + (ALONG_K ? row : chunk * 8);
        from[0] = matrix + (ALONG_K ? mine * stride + k_begin + chunk * 8 : (k_begin + row) * stride + mine);
        if (ALONG_K)
            for (int i = 1; i < COPIES; ++i) from[i] = from[0] + (mine + i * TURN < size ? i * TURN * stride : 0);
        turn = TURN * stride, to = tile + place<WIDTH>(row, chunk);
        k = mine >= size ? 1 << 30 : ALONG_K ? chunk * 8 : row;
        row = ALONG_K == IS_A ? lane % 16 : lane % 8 + lane / 16 * 8;
        chunk = ALONG_K == IS_A ? lane / 16 : lane / 8 % 2;
        for (int i = 0; i < ADDRESSES; ++i)
            at[i] = tile + (ALONG_K ? place<WIDTH>(part + row, 2 * i + chunk) : place<WIDTH>(row, part / 8 + 2 * i + chunk));
    }
    // Chunk i of the k-tile that lies `ahead` of the pointers, to a slot; zeros from the `left`-th k of that k-tile on.
    __device__ __forceinline__ void copy(int i, int ahead, int slot, int left)
    {
        const T* source = ALONG_K ? from[i] + ahead * TK : from[0];
        copy_or_zero(to + slot + i * TURN * WIDTH * 2, source, k + (ALONG_K ? 0 : i * TURN) < left);
        if (!ALONG_K) from[0] += turn;                // behind the last chunk of a k-tile stands the first of the next
    }
    __device__ __forceinline__ void advance(int k_tiles)
    {
        if (ALONG_K) for (int i = 0; i < COPIES; ++i) from[i] += k_tiles * TK;
    }
    // Fragment i (16 rows) of a k-step, out of a slot.
    __device__ __forceinline__ void load(unsigned (&out)[4], int i, int step, int slot) const
    {
        load_matrices<!ALONG_K>(out, at[ALONG_K ? step : i] + slot + (ALONG_K ? i : step) * 16 * WIDTH * 2);
    }
};
