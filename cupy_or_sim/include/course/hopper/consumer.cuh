// A consumer.
#pragma once
#include <course/hopper/place.cuh>

// A consumer, one warpgroup: d = its 64 rows of A times the columns of B, over the k-tiles of a piece. `count`: k-tiles so far.
template <typename T, typename Form>
__device__ __forceinline__ void consume(float (&d)[Form::TN / 2], Ring<Form>& s, const Place<Form>& place, int consumer,
                                        int k_tiles, int& count)
{
    using Left = typename Form::Left;
    using Right = typename Form::Right;
    int mate = threadIdx.x % 128 < place.MATES ? place.mate(threadIdx.x % 128) : -1;
    auto free = [&](int slot) {                               // this warpgroup has read it: every block that fills it must know
        if (mate < 0) return;
        if (place.MATES == 1) mbarrier_arrive(&s.empty[slot]);
        else mbarrier_arrive_at(&s.empty[slot], mate);
    };
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile, ++count) {
        int slot = count % Form::SLOTS, turn = count / Form::SLOTS;
        mbarrier_wait(&s.full[slot], turn % 2);
        unsigned long long a = Left::descriptor(s.slots[slot].A + consumer * BOX), b = Right::descriptor(s.slots[slot].B);
        wgmma_fence();
        for (int k = 0; k < TK / 16; ++k)
            wgmma<T, Form::A_ALONG_K, Form::B_ALONG_K, Form::TN>(d, a + k * Left::STEP, b + k * Right::STEP, k_tile + k > 0);
        wgmma_commit();
        wgmma_wait<1>();                                      // the k-tile before has been read
        if (k_tile > 0) free((count - 1) % Form::SLOTS);
    }
    wgmma_wait<0>();
    free((count - 1) % Form::SLOTS);
}
