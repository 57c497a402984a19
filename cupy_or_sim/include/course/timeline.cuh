// Mark when a kernel's phases begin and end.
//
//   extern "C" __global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K TRACE_ARG)
//   {
//       for (int k_tile = 0; k_tile < K / 16; ++k_tile) {
//           TRACE_BEGIN(copy, k_tile);
//           ...
//           TRACE_END(copy, k_tile);
//
// Phases: copy, wait, barrier, math, epilogue, softmax, values. Without -DCOURSE_TRACE the macros are empty: the kernel compiles to the
// same PTX as without them. A function that has marks takes TRACE_ARG too, and is called with TRACE_PASS.
//
// All marks at once would make another kernel of it: slower by half, and slow in the wrong places. So `timeline`
// compiles the kernel many times, each time with two marks for a warp: a point (TRACE_POINT: twice the phase, and 1 for
// its end) and a reference, which every warp passes once in each of its k-tiles (TRACE_REFERENCES: a bit for each point
// that is one; of two, a warp passes only one: producers copy, consumers do the math). All warps read the clock there and
// write it to trace_marks, where every trace_apart-th block from trace_first on has a row of its own in each k-tile:
//
//       [k-tile][32 blocks, then 8 rows of all others][32 warps][point's clock, its k-tile + 1, reference's clock, the same]
//
// A k-tile of 0 means that it is the row's.
// What a mark does to the compiler's order of instructions is chance. There are several ways to write one, and the way
// that disturbs a point least is taken. TRACE_WAY 0: both marks write at once. + 1: the point's clock stays in a register
// until the next reference writes both, in the reference's row. + 2: all lanes meet at the mark. + 4: the compiler moves
// no access to memory across it. + 8: the k-tile is written with the clock, in one store of 8 bytes. Marks that may stand behind a barrier (the ends of a wait and of a barrier, the begin of
// the math) always let them meet: without it an H100 reads the clock before the barrier completes.
// All lanes of a warp must come to the macros together.
#pragma once

#ifdef COURSE_TRACE

enum { trace_copy = 0, trace_wait = 2, trace_barrier = 4, trace_math = 6, trace_epilogue = 8, trace_softmax = 10, trace_values = 12 };

// Lower half of the SM's cycle counter, read by this warp.
template <int POINT>
__device__ __forceinline__ unsigned trace_clock_at()
{
    constexpr bool behind = POINT == trace_barrier + 1 || POINT == trace_wait + 1 || POINT == trace_math;
    if (behind || TRACE_WAY & 2) __syncwarp();
    unsigned clock;
    if (TRACE_WAY & 4) asm volatile("mov.u32 %0, %%clock;" : "=r"(clock) :: "memory");
    else asm volatile("mov.u32 %0, %%clock;" : "=r"(clock));
    return clock;
}

// Where this warp writes: at the kernel's begin, where `timeline` puts a call of it. All blocks write, or those that do
// would be slower than the others: the ones that are not traced share eight rows that nobody reads.
__device__ __forceinline__ unsigned* trace_row(unsigned* marks, unsigned first, unsigned apart)
{
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z), at = block - first;
    unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    marks += ((at % apart == 0 && at / apart < 32 ? at / apart : 32 + block % 8) * 32 + thread / 32) * 4;
    asm volatile("" : "+l"(marks));  // or the compiler computes it again at each mark, between the instructions of math
    return marks;
}

__device__ __forceinline__ void trace_store(unsigned long long at, unsigned now, int k_tile)
{
    if (TRACE_WAY & 8) asm volatile("st.global.v2.u32 [%0], {%1, %2};" :: "l"(at), "r"(now), "r"(k_tile + 1));
    else asm volatile("st.global.u32 [%0], %1;" :: "l"(at), "r"(now));
}

// Of a k-tile in this warp's row. Added in halves: as one multiply-add of 64 bits (IMAD.WIDE), between two wgmma, it
// makes Hopper's kernels 3 to 5 % slower.
__device__ __forceinline__ unsigned long long trace_address(unsigned* row, int k_tile)
{
    unsigned long long at = __cvta_generic_to_global(row);
    unsigned low = (unsigned)at, high = at >> 32;
    asm("add.cc.u32 %0, %0, %2;\n\taddc.u32 %1, %1, 0;" : "+r"(low), "+r"(high) : "r"(k_tile * (40 * 32 * 16)));
    return (unsigned long long)high << 32 | low;
}

template <int AT>
__device__ __forceinline__ void trace_at(unsigned* row, int k_tile, unsigned& clock, int& of_k_tile)
{
    constexpr bool later = TRACE_WAY & 1 && TRACE_POINT / 2 != trace_epilogue / 2;  // behind an epilogue comes no reference
    unsigned long long at = trace_address(row, k_tile);
    if (AT == TRACE_POINT) {
        unsigned now = trace_clock_at<AT>();
        if (later) clock = now, of_k_tile = k_tile + 1;
        else trace_store(at, now, k_tile);
    }
    if (TRACE_REFERENCES >> AT & 1) {
        unsigned now = trace_clock_at<AT>();
        if (later) asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" :: "l"(at), "r"(clock), "r"(of_k_tile), "r"(now), "r"(0));
        else trace_store(at + 8, now, k_tile);
    }
}

#define TRACE_ARG \
    , unsigned* trace_marks, unsigned trace_first, unsigned trace_apart, unsigned trace_clock, int trace_k_tile
#define TRACE_PASS , trace_marks, trace_first, trace_apart, trace_clock, trace_k_tile
#define TRACE_BEGIN(phase, k_tile) trace_at<trace_##phase>(trace_marks, k_tile, trace_clock, trace_k_tile)
#define TRACE_END(phase, k_tile) trace_at<trace_##phase + 1>(trace_marks, k_tile, trace_clock, trace_k_tile)

#else

#define TRACE_ARG
#define TRACE_PASS
#define TRACE_BEGIN(phase, k_tile)
#define TRACE_END(phase, k_tile)

#endif
