// Clusters: blocks that reach each other's shared memory, as lesson 08 explains them. They need compute capability 9.0.
// PTX ISA, "Cluster of Cooperative Thread Arrays", "mapa", "barrier.cluster".
#pragma once
#include <course/tma.cuh>

// The number of this block in its cluster.
__device__ __forceinline__ int cluster_rank()
{
    int rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// Wait for all threads of the cluster.
__device__ __forceinline__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
}

// Arrive once at the barrier that another block of the cluster has at the same place.
__device__ __forceinline__ void mbarrier_arrive_at(Mbarrier* barrier, int rank)
{
    unsigned address = __cvta_generic_to_shared(barrier);
    asm volatile("{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;"
                 " mbarrier.arrive.shared::cluster.b64 _, [there]; }" :: "r"(address), "r"(rank) : "memory");
}

// As load_box, into every block of the cluster whose bit is set in `blocks`, at the same place; the barrier at the same
// place of each of them counts the bytes.
__device__ __forceinline__ void load_box_to(unsigned short blocks, void* to_shared, const TensorMap& map, int x, int y,
                                            Mbarrier* barrier)
{
    unsigned to = __cvta_generic_to_shared(to_shared), counts = __cvta_generic_to_shared(barrier);
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                 " [%0], [%1, {%2, %3}], [%4], %5;"
                 :: "r"(to), "l"(&map), "r"(x), "r"(y), "r"(counts), "h"(blocks) : "memory");
}

// As load_rows for the rows of a whole cluster: each of its BLOCKS blocks loads its share of them for all.
template <int BLOCKS>
__device__ __forceinline__ void load_rows_shared(int rows, void* to_shared, const TensorMap& map, int x, int y,
                                                 Mbarrier* barrier)
{
    for (int row = cluster_rank() * 64; row < rows; row += BLOCKS * 64)
        load_box_to((1 << BLOCKS) - 1, (char*)to_shared + row * 128, map, x, y + row, barrier);
}
