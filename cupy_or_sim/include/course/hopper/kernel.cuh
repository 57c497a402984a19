// The kernel.
#pragma once
#include <course/hopper/producer.cuh>
#include <course/hopper/consumer.cuh>
#include <course/hopper/finish.cuh>
#include <course/hopper/meet.cuh>
#include <course/hopper/store.cuh>
#include <course/hopper/store_any.cuh>

// A (M, K) @ B (K, N), in tiles of TM x TN; operands and C by their tensor maps. BOXES: C has T's type and rows that begin at
// multiples of 16 bytes, and is not read; else `map_c` is not looked at. Each of `parts` parts of K has sums of its own. A cluster
// has BELOW x ACROSS blocks, as Place says, for each of SPLIT parts of the k-tiles; where these are several, one piece.
template <typename T, typename Out, int TM, int TN, int SLOTS, int BELOW, int ACROSS, int SPLIT, bool A_ALONG_K, bool B_ALONG_K,
          bool BOXES>
__global__ void __cluster_dims__(BELOW * ACROSS * SPLIT, 1, 1)
__launch_bounds__(128 + TM * 2, ON_AN_SM<TM, sizeof(Shared<TM, TN, SLOTS, SPLIT>)>)
hopper(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b, const __grid_constant__ TensorMap map_c,
       Out* C, const T* bias, float alpha, float beta, int by_row, int activation, int M, int N, int K, int group, int parts,
       int c_stride)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    auto& s = *(Shared<TM, TN, SLOTS, SPLIT>*)memory;
    Order<BELOW * TM, ACROSS * TN> order(M, N, K, group, parts);
    Place<BELOW, ACROSS, SPLIT> place;
    constexpr int BLOCKS = BELOW * ACROSS * SPLIT;
    int consumer = (int)threadIdx.x / 128 - 1;
    if (threadIdx.x == 0) {
        for (int slot = 0; slot < SLOTS; ++slot) {
            mbarrier_init(&s.full[slot], 1);
            mbarrier_init(&s.empty[slot], place.MATES * TM / 64);
        }
        if constexpr (SPLIT > 1) {
            mbarrier_init(&s.come, 1);
            mbarrier_expect(&s.come, sizeof(s.received));
        }
        mbarrier_init_done();
    }
    BLOCKS > 1 ? cluster_meet() : __syncthreads();
    if (consumer < 0) {                                       // warpgroup 0
        if (TM == 128) fewer_registers<40>();
        if (threadIdx.x < 32) produce<TM, TN, SLOTS, A_ALONG_K, B_ALONG_K>(s, map_a, map_b, order, place);
    } else {
        if (TM == 128) more_registers<232>();
        float d[TN / 2];
        int count = 0, boxes = 0;
        for (int number = blockIdx.x / BLOCKS; number < order.count; number += gridDim.x / BLOCKS) {
            Piece piece = share_of<TM, TN>(order[number], place);
            consume<T, TM, TN, SLOTS, A_ALONG_K, B_ALONG_K>(d, s, place, consumer, piece.end - piece.begin, count);
            int m = piece.m + consumer * 64;
            Out* sums = C + (size_t)piece.part * M * c_stride;
            Finish<T, Out> finish = {sums, bias, alpha, beta, by_row, activation, M, N, c_stride};
            if constexpr (SPLIT > 1) {
                float whole[TN / 2 / SPLIT];
                add_up<TM, TN, SLOTS>(whole, d, s, place);
                store_sums<T>(whole, s.C[consumer], finish, m, piece.n + place.part * (TN / SPLIT));
            } else if constexpr (BOXES) {
                if (bias || alpha != 1 || activation) finish_sums(d, finish, m, piece.n);
                store_boxes<T>(d, s.C[consumer], map_c, consumer, m, piece.n, boxes);
            } else store_sums<T>(d, s.C[consumer], finish, m, piece.n);
        }
        if (BOXES && threadIdx.x % 128 == 0) wait_stores_read();
    }
    if (SPLIT > 1) cluster_meet();                            // until the others have what they copy from here
}
