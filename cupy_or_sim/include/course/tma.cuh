// The copy engine (TMA): boxes of matrices between global and shared memory, as lesson 07 explains them. They need
// compute capability 9.0. PTX ISA, "Data Movement and Conversion Instructions: cp.async.bulk.tensor".
#pragma once
#include <course/mbarrier.cuh>

// What the host has told the copy engine of a matrix. A kernel takes it as `const __grid_constant__ TensorMap`.
struct alignas(64) TensorMap { unsigned char bytes[128]; };

// Start to copy the box of the matrix that begins at column x of row y, and go on at once. The barrier, which expects
// its bytes, counts them as they land. One thread does it.
__device__ __forceinline__ void load_box(void* to_shared, const TensorMap& map, int x, int y, Mbarrier* barrier)
{
    unsigned to = __cvta_generic_to_shared(to_shared), counts = __cvta_generic_to_shared(barrier);
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3}], [%4];"
                 :: "r"(to), "l"(&map), "r"(x), "r"(y), "r"(counts) : "memory");
}

// The same for `rows` rows, a multiple of 64, in boxes of 64 rows of 64 halves, one behind the other.
__device__ __forceinline__ void load_rows(int rows, void* to_shared, const TensorMap& map, int x, int y,
                                          Mbarrier* barrier)
{
    for (int row = 0; row < rows; row += 64) load_box((char*)to_shared + row * 128, map, x, y + row, barrier);
}

// What this thread wrote to shared memory, the copy engine and the tensor cores see from here on.
__device__ __forceinline__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Start to copy a box from shared memory into the matrix; what lies beyond its edges is left out. One thread does it.
__device__ __forceinline__ void store_box(const TensorMap& map, int x, int y, const void* from_shared)
{
    unsigned from = __cvta_generic_to_shared(from_shared);
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
                 :: "l"(&map), "r"(x), "r"(y), "r"(from) : "memory");
}

// All stores that this thread started since its last commit become one group.
__device__ __forceinline__ void commit_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Wait until the stores of this thread have read shared memory: it may be written again.
__device__ __forceinline__ void wait_stores_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }

// Wait until the stores of this thread have been written.
__device__ __forceinline__ void wait_stores() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
