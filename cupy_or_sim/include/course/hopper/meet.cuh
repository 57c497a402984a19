// Blocks of a cluster that meet, and that add up sums of theirs.
#pragma once
#include <course/hopper/order.cuh>

// Wait until all threads of the cluster have come. It orders no memory, and so needs no fence for all of the GPU, which takes
// 1000 cycles: of barriers that were made before, mbarrier_init_done() has told the others.
__device__ __forceinline__ void cluster_meet()
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
}

// Start to copy bytes of this block's shared memory to the same cluster's block `rank`, whose barrier counts them.
__device__ __forceinline__ void copy_to_block(int rank, void* to, const void* from, int bytes, Mbarrier* barrier)
{
    unsigned into = __cvta_generic_to_shared(to), source = __cvta_generic_to_shared(from), counts = __cvta_generic_to_shared(barrier);
    asm volatile("{ .reg .b32 into, counts; mapa.shared::cluster.u32 into, %0, %4; mapa.shared::cluster.u32 counts, %3, %4;"
                 " cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [into], [%1], %2, [counts]; }"
                 :: "r"(into), "r"(source), "r"(bytes), "r"(counts), "r"(rank) : "memory");
}

// SPLIT blocks of a cluster hold sums `d` of one tile, each of its part of K. Each adds up into `sums` the columns that are
// its share. The others' sums come by the copy engine, out of their rings, which nobody reads or fills any more.
template <typename Form>
__device__ __forceinline__ void add_up(float (&sums)[Form::TN / 2 / Form::SPLIT], const float (&d)[Form::TN / 2],
                                       Shared<Form>& s, const Place<Form>& place)
{
    int part = place.part;
    constexpr int TM = Form::TM, TN = Form::TN, SPLIT = Form::SPLIT;
    constexpr int THREADS = TM * 2, SHARE = TN / 8 / SPLIT;   // of the consumers; float4s that a thread has of a share
    static_assert(TM * TN * sizeof(float) <= sizeof(s.slots), "all sums of a block lie in its ring");
    float4* mine = (float4*)s.slots + (threadIdx.x - 128);
    named_sync<THREADS>(7);                                   // all consumers have read their last k-tile
    #pragma unroll
    for (int i = 0; i < TN / 8; ++i) mine[i * THREADS] = make_float4(d[4 * i], d[4 * i + 1], d[4 * i + 2], d[4 * i + 3]);
    fence_async();
    named_sync<THREADS>(7);
    int to = threadIdx.x - 128;                               // one thread for each of the others
    if (to < SPLIT && to != part)
        copy_to_block(place.rank + (to - part) * place.GROUP, s.received[part < to ? part : part - 1],
                      (float4*)s.slots + to * SHARE * THREADS, sizeof(s.received[0]), &s.come);
    #pragma unroll
    for (int p = 0; p < SPLIT; ++p)                           // registers have no index that is known late
        if (p == part)
            #pragma unroll
            for (int i = 0; i < TN / 2 / SPLIT; ++i) sums[i] = d[p * (TN / 2 / SPLIT) + i];
    mbarrier_wait(&s.come, 0);
    for (int from = 0; from < SPLIT - 1; ++from)
        #pragma unroll
        for (int i = 0; i < SHARE; ++i) {
            float4 x = ((float4*)s.received[from])[i * THREADS + (threadIdx.x - 128)];
            sums[4 * i] += x.x;
            sums[4 * i + 1] += x.y;
            sums[4 * i + 2] += x.z;
            sums[4 * i + 3] += x.w;
        }
}
