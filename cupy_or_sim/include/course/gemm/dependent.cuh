// Kernels in a row that overlap, from compute capability 9.0 on; before it they never do. PTX ISA, "Parallel Synchronization and
// Communication Instructions: griddepcontrol".
#pragma once

// The next kernel may begin, where it was launched so, as soon as all blocks have said this or have ended: what comes before its
// wait_for_kernel_before() then runs beside this one.
__device__ __forceinline__ void let_next_kernel_begin()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Wait until the kernel before has ended, and all that it wrote is there. Nothing where this kernel was launched as always.
__device__ __forceinline__ void wait_for_kernel_before()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
