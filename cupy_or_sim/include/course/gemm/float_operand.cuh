// A or B of float32: what a thread copies of it, and what it reads.
#pragma once
#include <course/gemm/tiles.cuh>
#include <course/wide_tile.cuh>

// One operand, in tiles of SIZE rows of A (or columns of B) x TK. In shared memory a tile lies k by k, SIZE floats for each: so
// the rows that a thread has at one k lie in registers one behind the other, in both register banks, whatever k is. A thread
// reads 4 rows, those APART behind them, ... It copies a tile in COPIES pieces.
//
// Contiguous along M or N, a tile comes as it lies there: 16 bytes at a time.
template <int SIZE, int TK, int THREADS, bool ALONG_K, int APART>
struct FloatOperand {
    static constexpr int TURN = THREADS * 4 / SIZE, COPIES = SIZE * TK / 4 / THREADS;
    static_assert(COPIES * TURN == TK, "whole turns");
    const float* from;                                // this thread's next chunk of 16 bytes, one in every TURN k
    long long turn;                                   // from there to the one behind it
    bool inside;                                      // its rows are there
    int k;
    unsigned to, at;                                  // in shared memory: the first chunk; where this thread's rows begin

    __device__ FloatOperand(const float* matrix, int first, int rows, int k_begin, long long stride, unsigned tile, int part)
    {
        int row = threadIdx.x % (SIZE / 4) * 4;
        k = threadIdx.x / (SIZE / 4), inside = first + row < rows, turn = TURN * stride;
        from = matrix + (k_begin + k) * stride + first + row;
        to = tile + (k * SIZE + row) * 4, at = tile + part * 4;
    }
    // Copy i of the next k-tile, of which `left` k are there, to a slot; zeros behind them, and for rows that are not there.
    __device__ __forceinline__ void copy(int i, int slot, int left)
    {
        copy_or_zero(to + slot + i * TURN * SIZE * 4, from, inside && k + i * TURN < left);
        from += turn;                                 // behind the last one of a k-tile stands the first of the next
    }
    __device__ __forceinline__ void load(float* out, int g, int k, int slot) const    // four rows of group g at one k
    {
        load_four(out, at + slot + (k * SIZE + g * APART) * 4);
    }
};

// Start to copy 4 bytes; where `inside` is false, nothing is read and zeros arrive.
__device__ __forceinline__ void copy_one_or_zero(unsigned to_shared, const float* from_global, bool inside)
{
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 4, %2;"
                 :: "r"(to_shared), "l"(from_global), "r"(inside ? 4 : 0) : "memory");
}

// Contiguous along K, each element goes to its place. A warp copies 8 k of 4 rows at a time, whole sectors; these 4 rows lie
// together, 16 bytes, in one of eight groups of banks: at each of the 8 k in another one, so that no two lanes meet.
template <int SIZE, int TK, int THREADS, int APART>
struct FloatOperand<SIZE, TK, THREADS, true, APART> {
    static constexpr int TURN = THREADS / 8, COPIES = SIZE * TK / THREADS;    // rows of a turn, at 8 k
    static_assert(TK == 16 && TURN % 4 == 0 && SIZE % 32 == 0 && (APART == 16 || APART == 32), "whole turns");
    const float* from;                                // this thread's next element, one in every TURN rows and 8 k
    long long turn;
    int size, k;                                      // how many rows there are from the first one's on; its k
    unsigned to, at;

    __device__ FloatOperand(const float* matrix, int first, int rows, int k_begin, long long stride, unsigned tile, int part)
    {
        int row = threadIdx.x / 8;
        k = threadIdx.x % 8, size = rows - first - row, turn = TURN * stride;
        from = matrix + (first + row) * stride + k_begin + k;
        to = tile + (k * SIZE + (row / 4 ^ k) * 4 + row % 4) * 4, at = tile + part * 4;
    }
    __device__ __forceinline__ void copy(int i, int slot, int left)
    {
        int above = i / 2 * (TURN / 4), later = i % 2 * 8;                    // groups of 4 rows; k
        copy_one_or_zero((to + slot ^ above % 8 * 16) + (later * SIZE + above / 8 * 32) * 4, from + later,
                         i / 2 * TURN < size && k + later < left);
        if (later) from += turn;
        if (i == COPIES - 1) from += TK - COPIES / 2 * turn;
    }
    // The first rows of a thread stand in the first APART: what is behind is added.
    __device__ __forceinline__ void load(float* out, int g, int k, int slot) const
    {
        constexpr int NEAR = APART / 4;
        int far = g * NEAR ^ k % 8 / NEAR * NEAR;
        load_four(out, (at ^ k % 8 % NEAR * 16) + slot + (k * SIZE + far * 4) * 4);
    }
};
