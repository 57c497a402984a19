// Two blocks of a cluster that multiply together, as deeper/11_pairs explains them. They need sm_100a.
// PTX ISA, "TensorCore 5th Generation Family Instructions": .cta_group::2.
#pragma once
#include <course/cluster.cuh>
#include <course/tcgen05.cuh>

// As tcgen05_alloc, by a warp of each of both blocks: they get the same columns. Both blocks have begun.
template <int COLUMNS>
__device__ __forceinline__ void pair_alloc(unsigned* where)
{
    unsigned address = __cvta_generic_to_shared(where);
    asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;"
                 :: "r"(address), "n"(COLUMNS) : "memory");
}

// As tcgen05_dealloc, by a warp of each of both blocks.
template <int COLUMNS>
__device__ __forceinline__ void pair_dealloc(unsigned columns)
{
    asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" :: "r"(columns), "n"(COLUMNS) : "memory");
}

// As load_rows, into this block; the barrier at the same place of the even block counts the bytes.
__device__ __forceinline__ void pair_load_rows(int rows, void* to_shared, const TensorMap& map, int x, int y,
                                               Mbarrier* barrier)
{
    unsigned to = __cvta_generic_to_shared(to_shared), counts = __cvta_generic_to_shared(barrier) & 0xFEFFFFFF;
    for (int row = 0; row < rows; row += 64)
        asm volatile("cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.mbarrier::complete_tx::bytes"
                     " [%0], [%1, {%2, %3}], [%4];"
                     :: "r"(to + row * 128), "l"(&map), "r"(x), "r"(y + row), "r"(counts) : "memory");
}

// As start_k_tile, by one thread of the even block: 256 rows of A, 128 of each block from `a` on, and COLUMNS of B, half
// of them of each block from `b` on, at the same places in both. Each block's lanes hold its own rows of the sums.
template <int COLUMNS>
__device__ __forceinline__ void pair_start_k_tile(unsigned sums, const void* a, const void* b, bool add)
{
    constexpr unsigned SHAPE = 1u << 4 | COLUMNS >> 3 << 17 | 256 >> 4 << 24;  // float32 sums, N, M
    unsigned long long rows_of_a = matrix_descriptor(a), rows_of_b = matrix_descriptor(b);
    for (int k = 0; k < 4; ++k)
        asm volatile("{ .reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, %3, p; }"
                     :: "r"(sums), "l"(rows_of_a + 2 * k), "l"(rows_of_b + 2 * k), "r"(SHAPE), "r"((int)(add || k > 0))
                     : "memory");
}

// As tcgen05_commit: the tensor cores arrive at the barrier of both blocks.
__device__ __forceinline__ void pair_commit(Mbarrier* barrier)
{
    unsigned address = __cvta_generic_to_shared(barrier);
    asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;"
                 :: "r"(address), "h"((unsigned short)3) : "memory");
}
