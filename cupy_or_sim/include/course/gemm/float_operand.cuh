// A or B of float32: what a thread copies of it, and what it reads.
#pragma once
#include <course/gemm/tiles.cuh>
#include <course/wide_tile.cuh>

// One operand, in tiles of SIZE rows of A (or columns of B) x TK. A tile lies in shared memory as in global memory: its lines
// run along k (ALONG_K), or each of them is one k and runs along M (or N). A thread reads 4 rows, those APART behind them, ...
template <int SIZE, int TK, int THREADS, bool ALONG_K, int APART>
struct FloatOperand {
    static constexpr int LINE = ALONG_K ? TK : SIZE, TURN = THREADS * 4 / LINE, COPIES = SIZE * TK / 4 / THREADS;
    static_assert(COPIES * TURN * LINE == SIZE * TK && (!ALONG_K || (TK == 16 && TURN % 16 == 0)), "whole turns");
    const float* from;                                // this thread's next chunk of 16 bytes, one in every TURN lines
    long long turn;                                   // from there to the one behind it
    int size, k;                                      // how many rows there are from the first chunk's on; its k
    unsigned to, at;                                  // in shared memory: the first chunk; where this thread's rows begin

    __device__ FloatOperand(const float* matrix, int first, int rows, int k_begin, long long stride, unsigned tile, int part)
    {
        int line = threadIdx.x / (LINE / 4), chunk = threadIdx.x % (LINE / 4), row = first + (ALONG_K ? line : chunk * 4);
        k = ALONG_K ? chunk * 4 : line, size = rows - row, turn = TURN * stride;
        from = matrix + (ALONG_K ? row * stride + k_begin + k : (k_begin + k) * stride + row);
        to = tile + (line * LINE + (ALONG_K ? chunk ^ line / 4 % 4 : chunk) * 4) * 4;
        at = tile + (ALONG_K ? part * TK + part / 4 % 4 * 4 : part) * 4;
    }
    // Chunk i of the next k-tile to a slot; zeros for rows that are not there, and from k `left` on.
    __device__ __forceinline__ void copy(int i, int slot, int left)
    {
        bool inside = ALONG_K ? i * TURN < size && k < left : size > 0 && k + i * TURN < left;
        copy_or_zero(to + slot + i * TURN * LINE * 4, from, inside);
        from += turn;                                 // behind the last one of a k-tile stands the first of the next
        if (ALONG_K && i == COPIES - 1) from += TK - COPIES * turn;
    }
    // Of four rows of group g at four k, the `step`-th four of a k-tile in a slot: one row, or (not ALONG_K) one k.
    __device__ __forceinline__ void load(float (&out)[4], int g, int piece, int step, int slot) const
    {
        if (ALONG_K) load_four(out, (at ^ step * 16) + slot + (g * APART + piece) * TK * 4);
        else load_four(out, at + slot + ((step * 4 + piece) * SIZE + g * APART) * 4);
    }
};
