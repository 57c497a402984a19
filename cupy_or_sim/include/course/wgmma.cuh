// Tensor cores that read shared memory and run on their own, as lesson 07 explains them. They need sm_90a.
// PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions": wgmma.mma_async, "Shared Memory Matrix Layout".
#pragma once

// Says where a tile lies in shared memory: rows of 64 halves (128 bytes), swizzled by 128 bytes, so that 8 rows, 1024
// bytes, repeat. `tile` is the address of the first row, a multiple of 1024. For k from 16 s on add 2 s: 32 s bytes.
__device__ __forceinline__ unsigned long long matrix_descriptor(const void* tile)
{
    unsigned long long address = __cvta_generic_to_shared(tile);
    return (address & 0x3FFFF) >> 4 | 1ull << 16 | 1024ull >> 4 << 32 | 1ull << 62;
}

// The tensor cores see the sums that this warpgroup's registers hold.
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// All wgmma since the last commit become one group.
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Wait until at most the NEWER newest groups are still at work.
template <int NEWER>
__device__ __forceinline__ void wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(NEWER) : "memory");
}

// d += a @ b.T, or d = a @ b.T where `add` is 0: 64 rows of A and 256 of B, 16 deep, by the four warps of a warpgroup.
// float16 operands by their descriptors, float32 sums. Thread t holds in d[4 j + 2 h + i] row 16 (t / 32) + t % 32 / 4
// + 8 h and column 8 j + 2 (t % 4) + i.
#define TEN(t) "%" #t "0,%" #t "1,%" #t "2,%" #t "3,%" #t "4,%" #t "5,%" #t "6,%" #t "7,%" #t "8,%" #t "9,"
#define SUMS(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SUMS16(i) SUMS(i), SUMS(i + 4), SUMS(i + 8), SUMS(i + 12)
__device__ __forceinline__ void wgmma_m64n256k16(float (&d)[128], unsigned long long a, unsigned long long b, int add)
{
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %130, 0; wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
                 TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9) TEN(10) TEN(11)
                 "%120,%121,%122,%123,%124,%125,%126,%127}, %128, %129, p, 1, 1, 0, 0; }"
                 : SUMS16(0), SUMS16(16), SUMS16(32), SUMS16(48), SUMS16(64), SUMS16(80), SUMS16(96), SUMS16(112)
                 : "l"(a), "l"(b), "r"(add));
}
#undef TEN
#undef SUMS
#undef SUMS16

// The same for one k-tile of 64, as a group of its own: 64 rows of A from `a` on and 256 of B from `b` on, both with
// rows of 64 halves swizzled by 128 bytes. It goes on at once.
__device__ __forceinline__ void start_k_tile(float (&d)[128], const void* a, const void* b, bool add)
{
    unsigned long long rows_of_a = matrix_descriptor(a), rows_of_b = matrix_descriptor(b);
    wgmma_fence();
    for (int k = 0; k < 4; ++k) wgmma_m64n256k16(d, rows_of_a + 2 * k, rows_of_b + 2 * k, add || k > 0);
    wgmma_commit();
}

// This warpgroup gives registers back, or takes them: its threads have COUNT each (a multiple of 8) from here on.
template <int COUNT>
__device__ __forceinline__ void fewer_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(COUNT)); }
template <int COUNT>
__device__ __forceinline__ void more_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(COUNT)); }
