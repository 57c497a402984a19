// Barriers that lie in shared memory and count bytes, as lesson 07 explains them. They need compute capability 9.0.
// PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier".
#pragma once

typedef unsigned long long Mbarrier;

// Make a barrier whose phases end after so many arrivals each. One thread does it, and mbarrier_init_done() follows.
__device__ __forceinline__ void mbarrier_init(Mbarrier* barrier, int arrivals)
{
    unsigned address = __cvta_generic_to_shared(barrier);
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(address), "r"(arrivals) : "memory");
}

// The other blocks of a cluster see the barriers that this thread made. For its own block a barrier of threads is enough.
__device__ __forceinline__ void mbarrier_init_done()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Arrive once.
__device__ __forceinline__ void mbarrier_arrive(Mbarrier* barrier)
{
    unsigned address = __cvta_generic_to_shared(barrier);
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(address) : "memory");
}

// Arrive once; the phase does not end before so many bytes more have landed, which copies count down.
__device__ __forceinline__ void mbarrier_expect(Mbarrier* barrier, int bytes)
{
    unsigned address = __cvta_generic_to_shared(barrier);
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(address), "r"(bytes) : "memory");
}

// Wait until the phase of this parity has ended: phase 0, 2, 4, ... have parity 0. The phase before the first one has
// parity 1 and has always ended.
__device__ __forceinline__ void mbarrier_wait(Mbarrier* barrier, int parity)
{
    unsigned address = __cvta_generic_to_shared(barrier), done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(address), "r"(parity) : "memory");
}
