// Named barriers, as lesson 02 explains them: a block has 16, number 0 is __syncthreads().
// PTX ISA, "Parallel Synchronization and Communication Instructions: bar".
#pragma once

// Come to barrier `id` and wait until COUNT threads have come. COUNT is a multiple of 32: warps come as a whole.
template <int COUNT>
__device__ __forceinline__ void named_sync(int id)
{
    asm volatile("bar.sync %0, %1;" :: "r"(id), "n"(COUNT) : "memory");
}

// Come to barrier `id` and go on at once. What this thread wrote or read before is done for those who waited.
template <int COUNT>
__device__ __forceinline__ void named_arrive(int id)
{
    asm volatile("bar.arrive %0, %1;" :: "r"(id), "n"(COUNT) : "memory");
}
