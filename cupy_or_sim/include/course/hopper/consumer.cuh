// A consumer.
#pragma once
#include <course/hopper/layouts.cuh>

// A consumer, one warpgroup: d = its 64 rows of A times the columns of B, over the k-tiles of a piece. `count`: k-tiles so far.
template <typename T, int TM, int TN, int SLOTS, int CLUSTER, bool A_ALONG_K, bool B_ALONG_K>
__device__ __forceinline__ void consume(float (&d)[TN / 2], Shared<TM, TN, SLOTS>& s, int consumer, int k_tiles, int& count)
{
    auto free = [&](int slot) {                               // this warpgroup has read it: every block that fills it must know
        int thread = threadIdx.x % 128;
        if (CLUSTER == 1 && thread == 0) mbarrier_arrive(&s.empty[slot]);
        if (CLUSTER > 1 && thread < CLUSTER) mbarrier_arrive_at(&s.empty[slot], thread);
    };
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile, ++count) {
        int slot = count % SLOTS, turn = count / SLOTS;
        mbarrier_wait(&s.full[slot], turn % 2);
        unsigned long long a = Boxes<A_ALONG_K>::descriptor(s.slots[slot].A + consumer * BOX);
        unsigned long long b = Boxes<B_ALONG_K>::descriptor(s.slots[slot].B);
        wgmma_fence();
        for (int k = 0; k < TK / 16; ++k)
            wgmma<T, A_ALONG_K, B_ALONG_K, TN>(d, a + k * Boxes<A_ALONG_K>::STEP, b + k * Boxes<B_ALONG_K>::STEP, k_tile + k > 0);
        wgmma_commit();
        wgmma_wait<1>();                                      // the k-tile before has been read
        if (k_tile > 0) free((count - 1) % SLOTS);
    }
    wgmma_wait<0>();
    free((count - 1) % SLOTS);
}
