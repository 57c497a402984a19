// Kernels in a row that overlap. PTX ISA, "Parallel Synchronization and Communication Instructions: griddepcontrol".
#pragma once

// The next kernel may begin, where it was launched so, as soon as all blocks have said this or have ended: what comes before its
// wait_for_kernel_before() then runs beside this one.
__device__ __forceinline__ void let_next_kernel_begin() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

// Wait until the kernel before has ended, and all that it wrote is there. Nothing where this kernel was launched as always.
__device__ __forceinline__ void wait_for_kernel_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
