// Four 8 x 8 matrices of halves from the registers of a warp to shared memory, as lesson 08 explains it. Needs compute
// capability 9.0. PTX ISA, "Warp Level Matrix Instructions: stmatrix".
#pragma once
#include <cuda_fp16.h>

// Two sums, rounded, in one register.
__device__ __forceinline__ unsigned packed(float low, float high)
{
    __half2 pair = __floats2half2_rn(low, high);
    return *(unsigned*)&pair;
}

// Lane l names row l % 8 of matrix l / 8; a, b, c and d hold two neighbours of each matrix, as in a fragment of mma.
__device__ __forceinline__ void stmatrix_x4(void* row, unsigned a, unsigned b, unsigned c, unsigned d)
{
    unsigned address = __cvta_generic_to_shared(row);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 :: "r"(address), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}
