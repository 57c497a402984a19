// Record when a kernel's phases begin and end.
//
//   extern "C" __global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K TRACE_ARG)
//   {
//       for (int k_tile = 0; k_tile < K / 16; ++k_tile) {
//           TRACE_BEGIN(copy, k_tile);
//           ...
//           TRACE_END(copy, k_tile);
//
// Phases: copy, wait, barrier, math, epilogue. Without -DCOURSE_TRACE all three macros are empty: the kernel
// compiles to the same PTX as without them. With it, the kernel takes one more argument, an array of int64
//
//       [32 warps][5 phases][16 k-tiles][begin, end]      filled with zeros before the launch,
//
// and lane 0 of up to four warps of one block writes clock64() there: the block in the middle of the grid. (More warps
// would show no more, and slow each other down.) K-tiles from 16 on are left out. A phase that comes twice in one
// k-tile keeps only its last time, so give each part of a k-tile its own phase. All lanes of a warp must come to the
// macros together. The compiler may still move arithmetic across a clock read (memory accesses it may not move), so
// the border of "math" is a little soft.
#pragma once

#ifdef COURSE_TRACE

enum TracePhase { trace_copy, trace_wait, trace_barrier, trace_math, trace_epilogue, trace_phases };

// Write the clock of this warp to trace_buffer[warp][phase][k_tile][end].
__device__ __forceinline__ void trace_write(long long* trace_buffer, TracePhase phase, int k_tile, int end)
{
    if (k_tile >= 16) return;  // first, so that most k-tiles of a large problem pay for one comparison only
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned warps = (blockDim.x * blockDim.y * blockDim.z + 31) / 32;
    if (block != gridDim.x * gridDim.y * gridDim.z / 2 || thread / 32 % ((warps + 3) / 4) != 0) return;
    __syncwarp();  // without it an H100 reads the clock behind a barrier before the barrier completes
    if (thread % 32 == 0) {
        long long clock;
        asm volatile("mov.u64 %0, %%clock64;" : "=l"(clock) :: "memory");
        trace_buffer[((thread / 32 * trace_phases + phase) * 16 + k_tile) * 2 + end] = clock;
    }
}

#define TRACE_ARG , long long* trace_buffer
#define TRACE_BEGIN(phase, k_tile) trace_write(trace_buffer, trace_##phase, k_tile, 0)
#define TRACE_END(phase, k_tile) trace_write(trace_buffer, trace_##phase, k_tile, 1)

#else

#define TRACE_ARG
#define TRACE_BEGIN(phase, k_tile)
#define TRACE_END(phase, k_tile)

#endif
