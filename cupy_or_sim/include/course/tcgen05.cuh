// Tensor cores whose sums lie in tensor memory, as lesson 11 explains them. They need sm_100a.
// PTX ISA, "TensorCore 5th Generation Family Instructions": tcgen05.
#pragma once
#include <course/mbarrier.cuh>
#include <cuda_fp16.h>

// Ask for so many columns of tensor memory, a power of two from 32 to 512, and write to shared memory where they begin.
// A whole warp does it; it waits until they are free.
template <int COLUMNS>
__device__ __forceinline__ void tcgen05_alloc(unsigned* where)
{
    unsigned address = __cvta_generic_to_shared(where);
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;"
                 :: "r"(address), "n"(COLUMNS) : "memory");
}

// Give them back. A whole warp does it, when all that others did with them is over.
template <int COLUMNS>
__device__ __forceinline__ void tcgen05_dealloc(unsigned columns)
{
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" :: "r"(columns), "n"(COLUMNS) : "memory");
}

// Says where a tile lies in shared memory: rows of 64 halves (128 bytes), swizzled by 128 bytes, so that 8 rows, 1024
// bytes, repeat. `tile` is the address of the first row, a multiple of 1024. For k from 16 s on add 2 s: 32 s bytes.
// As wgmma's, with a version (bit 46) and three bits for the swizzle.
__device__ __forceinline__ unsigned long long matrix_descriptor(const void* tile)
{
    unsigned long long address = __cvta_generic_to_shared(tile);
    return (address & 0x3FFFF) >> 4 | 1ull << 16 | 1024ull >> 4 << 32 | 1ull << 46 | 2ull << 61;
}

// Start sums += a @ b.T, or sums = a @ b.T where `add` is 0, and go on at once: 128 rows of A and COLUMNS of B (a
// multiple of 16 up to 256), 16 deep, float16 by their descriptors, float32 sums. Row r lies in lane r, column c in
// column c from `sums` on. One thread does it.
template <int COLUMNS>
__device__ __forceinline__ void tcgen05_mma(unsigned sums, unsigned long long a, unsigned long long b, int add)
{
    constexpr unsigned SHAPE = 1u << 4 | COLUMNS >> 3 << 17 | 128 >> 4 << 24;  // float32 sums, N, M
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p; }"
                 :: "r"(sums), "l"(a), "l"(b), "r"(SHAPE), "r"(add) : "memory");
}

// The same for one k-tile of 64: 128 rows of A from `a` on and COLUMNS of B from `b` on, both with rows of 64 halves
// swizzled by 128 bytes.
template <int COLUMNS>
__device__ __forceinline__ void start_k_tile(unsigned sums, const void* a, const void* b, bool add)
{
    unsigned long long rows_of_a = matrix_descriptor(a), rows_of_b = matrix_descriptor(b);
    for (int k = 0; k < 4; ++k) tcgen05_mma<COLUMNS>(sums, rows_of_a + 2 * k, rows_of_b + 2 * k, add || k > 0);
}

// When all that this thread started so far has been multiplied, the tensor cores arrive at the barrier once.
__device__ __forceinline__ void tcgen05_commit(Mbarrier* barrier)
{
    unsigned address = __cvta_generic_to_shared(barrier);
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];"
                 :: "r"(address) : "memory");
}

// Start to load 16 columns of this thread's lane, from `from` on: thread t of a warp has lane t of its 32. A whole warp
// does it; warp w of a block reaches lanes 32 (w % 4) to 32 (w % 4) + 31.
__device__ __forceinline__ void tcgen05_ld(float (&v)[16], unsigned from)
{
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x16.b32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, "
                 "%14, %15}, [%16];"
                 : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3]), "=f"(v[4]), "=f"(v[5]), "=f"(v[6]), "=f"(v[7]),
                   "=f"(v[8]), "=f"(v[9]), "=f"(v[10]), "=f"(v[11]), "=f"(v[12]), "=f"(v[13]), "=f"(v[14]), "=f"(v[15])
                 : "r"(from) : "memory");
}

// Wait until this warp's loads are over.
__device__ __forceinline__ void tcgen05_wait_ld() { asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory"); }

// Write COLUMNS sums of this thread's lane, from `sums` on, as halves to `row`, a multiple of 16 bytes: 32 bytes at a
// time. A whole warp does it, for 32 rows.
template <int COLUMNS>
__device__ __forceinline__ void store_row(__half* row, unsigned sums)
{
    for (int n = 0; n < COLUMNS; n += 16) {
        float v[16];
        tcgen05_ld(v, sums + n);
        tcgen05_wait_ld();
        union { __half2 pairs[8]; uint4 pieces[2]; };
        for (int i = 0; i < 8; ++i) pairs[i] = __floats2half2_rn(v[2 * i], v[2 * i + 1]);
        for (int i = 0; i < 2; ++i) ((uint4*)(row + n))[i] = pieces[i];
    }
}

// What this thread did with tensor memory stays before the next barrier; what it does from here on, behind the last one.
// nvcc 13.0 makes no instruction of them: they hold the compiler back.
__device__ __forceinline__ void tcgen05_before_sync()
{
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}
__device__ __forceinline__ void tcgen05_after_sync()
{
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}
