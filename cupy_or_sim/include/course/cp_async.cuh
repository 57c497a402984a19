// Asynchronous copies from global to shared memory, as lesson 02 explains them. They need compute capability 8.0.
// PTX ISA, "Data Movement and Conversion Instructions: cp.async".
#pragma once

// Start to copy BYTES (4, 8 or 16) for this thread and go on at once. Both addresses must be multiples of BYTES.
// 16 bytes go past the L1 cache (.cg), smaller pieces through it (.ca): the hardware has no other choice for them.
template <int BYTES>
__device__ __forceinline__ void copy_async(void* to_shared, const void* from_global)
{
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "cp.async moves 4, 8 or 16 bytes");
    unsigned address = __cvta_generic_to_shared(to_shared);
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" :: "r"(address), "l"(from_global) : "memory");
    else
        asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2;"
                     :: "r"(address), "l"(from_global), "n"(BYTES) : "memory");
}

// All copies that this thread started since its last commit become one group; an empty group counts too.
__device__ __forceinline__ void commit_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Wait until at most the NEWER newest groups of this thread are still on their way.
template <int NEWER>
__device__ __forceinline__ void wait_group()
{
    static_assert(NEWER >= 0, "a wait for less than nothing is compiled to no wait at all");
    asm volatile("cp.async.wait_group %0;" :: "n"(NEWER) : "memory");
}

// Wait for all copies of this thread, committed or not. What other threads copied is complete after a barrier.
__device__ __forceinline__ void wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }
