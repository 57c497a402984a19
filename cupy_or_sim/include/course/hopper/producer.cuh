// The producer.
#pragma once
#include <course/hopper/order.cuh>

// The producer, one warp: k-tile after k-tile of all pieces into the ring. A block loads its share of the boxes of A and
// of B, for all that read them.
template <int TM, int TN, int SLOTS, bool A_ALONG_K, bool B_ALONG_K, int BELOW, int ACROSS, int SPLIT>
__device__ __forceinline__ void produce(Ring<TM, TN, SLOTS>& s, const TensorMap& A, const TensorMap& B,
                                        const Order<BELOW * TM, ACROSS * TN>& order, const Place<BELOW, ACROSS, SPLIT>& place)
{
    constexpr int BLOCKS = BELOW * ACROSS * SPLIT;
    int count = 0;                                            // k-tiles so far
    for (int number = blockIdx.x / BLOCKS; number < order.count; number += gridDim.x / BLOCKS) {
        Piece piece = share_of<TM, TN>(order[number], place);
        for (int k_tile = piece.begin; k_tile < piece.end; ++k_tile, ++count) {
            int slot = count % SLOTS, turn = count / SLOTS;
            mbarrier_wait(&s.empty[slot], (turn + 1) % 2);
            if (threadIdx.x % 32) continue;
            mbarrier_expect(&s.full[slot], sizeof(s.slots[slot]));
            int k = k_tile * TK;
            for (int i = place.column * 64; i < TM; i += ACROSS * 64)
                Boxes<A_ALONG_K>::template load<ACROSS>(place.beside(), s.slots[slot].A + i * TK, A, piece.m + i, k, &s.full[slot]);
            for (int i = place.row * 64; i < TN; i += BELOW * 64)
                Boxes<B_ALONG_K>::template load<BELOW>(place.below(), s.slots[slot].B + i * TK, B, piece.n + i, k, &s.full[slot]);
        }
    }
    if (BELOW + ACROSS > 2)                                        // until all have arrived here, this block may not end
        for (int i = 0; i < SLOTS; ++i, ++count) mbarrier_wait(&s.empty[count % SLOTS], (count / SLOTS + 1) % 2);
}
