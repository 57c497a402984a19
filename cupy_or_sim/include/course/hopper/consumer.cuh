// A consumer.
#pragma once
#include <course/hopper/layouts.cuh>

// A consumer, one warpgroup: d = its 64 rows of A times the columns of B, over the k-tiles of a piece. `count`: k-tiles so far.
template <typename T, int TM, int TN, int SLOTS, bool A_ALONG_K, bool B_ALONG_K, typename Place>
__device__ __forceinline__ void consume(float (&d)[TN / 2], Ring<TM, TN, SLOTS>& s, const Place& place, int consumer, int k_tiles,
                                        int& count)
{
    int mate = threadIdx.x % 128 < Place::MATES ? place.mate(threadIdx.x % 128) : -1;
    auto free = [&](int slot) {                               // this warpgroup has read it: every block that fills it must know
        if (mate < 0) return;
        if (Place::MATES == 1) mbarrier_arrive(&s.empty[slot]);
        else mbarrier_arrive_at(&s.empty[slot], mate);
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
