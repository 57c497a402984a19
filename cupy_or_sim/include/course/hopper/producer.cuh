// The producer.
#pragma once
#include <course/hopper/order.cuh>

// The producer, one warp: k-tile after k-tile of all pieces into the ring. A block loads its own rows of A, and its share of
// the boxes of B, which go to all blocks of the cluster.
template <int TM, int TN, int SLOTS, int CLUSTER, bool A_ALONG_K, bool B_ALONG_K>
__device__ __forceinline__ void produce(Shared<TM, TN, SLOTS>& s, const TensorMap& A, const TensorMap& B,
                                        const Order<CLUSTER * TM, TN>& order, int rank)
{
    int count = 0;                                            // k-tiles so far
    for (int number = blockIdx.x / CLUSTER; number < order.count; number += gridDim.x / CLUSTER) {
        Piece piece = order[number];
        for (int k_tile = piece.begin; k_tile < piece.end; ++k_tile, ++count) {
            int slot = count % SLOTS, turn = count / SLOTS;
            mbarrier_wait(&s.empty[slot], (turn + 1) % 2);
            if (threadIdx.x % 32) continue;
            mbarrier_expect(&s.full[slot], sizeof(s.slots[slot]));
            int m = piece.m + rank * TM, n = piece.n, k = k_tile * TK;
            for (int i = 0; i < TM; i += 64)
                Boxes<A_ALONG_K>::template load<1>(s.slots[slot].A + i * TK, A, m + i, k, &s.full[slot]);
            for (int i = rank * 64; i < TN; i += CLUSTER * 64)
                Boxes<B_ALONG_K>::template load<CLUSTER>(s.slots[slot].B + i * TK, B, n + i, k, &s.full[slot]);
        }
    }
}
