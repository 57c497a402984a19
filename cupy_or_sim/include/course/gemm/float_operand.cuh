// A or B of float32: what a thread moves of it to shared memory, and what it reads there.
#pragma once
#include <course/gemm/tiles.cuh>
#include <course/wide_tile.cuh>

// Sixteen bytes of global memory, or zeros where `inside` is false.
__device__ __forceinline__ void load_or_zero(float (&out)[4], const float* from, bool inside)
{
    asm volatile("{ .reg .pred go; setp.ne.b32 go, %5, 0; mov.f32 %0, 0f00000000; mov.f32 %1, %0; mov.f32 %2, %0; mov.f32 %3, %0;"
                 " @go ld.global.nc.L2::128B.v4.f32 {%0, %1, %2, %3}, [%4]; }"
                 : "=&f"(out[0]), "=&f"(out[1]), "=&f"(out[2]), "=&f"(out[3]) : "l"(from), "r"((int)inside) : "memory");
}

// One operand, in tiles of SIZE rows of A (or columns of B) x TK. In shared memory a tile lies k by k, SIZE floats for each: so
// the rows that a thread has at one k lie in registers one behind the other, in both register banks, whatever k is. A thread
// reads 4 rows, those APART behind them, ... It moves a tile in UNITS.
//
// Contiguous along M or N, as it lies there: 16 bytes a unit, asynchronously.
template <int SIZE, int TK, int THREADS, bool ALONG_K, int APART>
struct FloatOperand {
    static constexpr int TURN = THREADS * 4 / SIZE, UNITS = SIZE * TK / 4 / THREADS;
    static_assert(UNITS * TURN == TK, "whole turns");
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
    // Unit i of the next k-tile, of which `left` k are there, to a slot; zeros behind them, and for rows that are not there.
    __device__ __forceinline__ void begin(int i, int slot, int left)
    {
        copy_or_zero(to + slot + i * TURN * SIZE * 4, from, inside && k + i * TURN < left);
        from += turn;                                 // behind the last one of a k-tile stands the first of the next
    }
    __device__ __forceinline__ void end(int i, int slot) {}
    // When a unit begins and ends, in TIMES of a k-tile: spread over its second half, and at once.
    template <int TIMES>
    static __device__ constexpr int begins(int i) { return TIMES / 2 + i * (TIMES / 2 / UNITS); }
    template <int TIMES>
    static __device__ constexpr int ends(int i) { return begins<TIMES>(i); }

    // Four rows of group g at one k.
    __device__ __forceinline__ void load(float* out, int g, int k, int slot) const
    {
        load_four(out, at + slot + (k * SIZE + g * APART) * 4);
    }
};

// Contiguous along K: a unit is 4 k of two neighbouring rows, which go through registers and change places on the way.
template <int SIZE, int TK, int THREADS, int APART>
struct FloatOperand<SIZE, TK, THREADS, true, APART> {
    static constexpr int UNITS = SIZE * TK / 8 / THREADS, TURN = THREADS / 32 * 16;  // rows
    static_assert(TK == 16 && UNITS * THREADS * 8 == SIZE * TK, "whole turns");
    static_assert(TURN % 32 == 0, "16 pairs of rows, 4 chunks of each");
    const float* from;                                // this thread's chunk of the first row of its first pair
    long long stride;
    int size, k;                                      // how many rows there are from the first one on
    unsigned to, at;
    float held[2][4];

    __device__ FloatOperand(const float* matrix, int first, int rows, int k_begin, long long stride, unsigned tile, int part)
        : stride(stride)
    {
        // Half a warp has the same chunk of 16 pairs: what it stores at a time lies in 32 different banks.
        int row = (threadIdx.x % 16 + threadIdx.x / 64 * 16) * 2;
        k = threadIdx.x / 16 % 4 * 4, size = rows - first - row;
        from = matrix + (first + row) * stride + k_begin + k;
        to = tile + (k * SIZE + row) * 4, at = tile + part * 4;
    }
    __device__ __forceinline__ void begin(int i, int slot, int left)
    {
        for (int row = 0; row < 2; ++row)
            load_or_zero(held[row], from + (i * TURN + row) * stride, i * TURN + row < size && k < left);
        if (i == UNITS - 1) from += TK;
    }
    __device__ __forceinline__ void end(int i, int slot)
    {
        for (int e = 0; e < 4; ++e)
            asm volatile("st.shared.v2.f32 [%0], {%1, %2};"
                         :: "r"(to + slot + (e * SIZE + i * TURN) * 4), "f"(held[0][e]), "f"(held[1][e]) : "memory");
    }
    // One unit after the other is on its way; into the slot they come when all have left it, after half of the k-tile.
    template <int TIMES>
    static __device__ constexpr int begins(int i) { return i ? ends<TIMES>(i - 1) + 1 : 0; }
    template <int TIMES>
    static __device__ constexpr int ends(int i) { return TIMES / 2 + (i + 1) * (TIMES / 2 / UNITS) - 1; }

    __device__ __forceinline__ void load(float* out, int g, int k, int slot) const
    {
        load_four(out, at + slot + (k * SIZE + g * APART) * 4);
    }
};
