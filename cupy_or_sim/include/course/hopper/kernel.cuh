// The kernel.
#pragma once
#include <course/hopper/producer.cuh>
#include <course/hopper/consumer.cuh>
#include <course/hopper/finish.cuh>
#include <course/hopper/meet.cuh>
#include <course/hopper/store.cuh>
#include <course/hopper/store_any.cuh>

// A (M, K) @ B (K, N), in tiles of TM x TN; operands and C by their tensor maps. BOXES: C has T's type and rows that begin at
// multiples of 16 bytes, and is not read; else its maps are not looked at. TURNED, which needs BOXES: C lies there as (N, M). Each
// part of K, of `k_part` k-tiles, has sums of its own. A cluster has BELOW x ACROSS blocks, as Place says, for each of SPLIT parts
// of the k-tiles; where these are several, one piece. A kernel behind it may begin as soon as all k-tiles are on their way.
template <typename T, typename Out, int TM, int TN, int SLOTS, int BELOW, int ACROSS, int SPLIT, bool A_ALONG_K, bool B_ALONG_K,
          bool BOXES, bool TURNED>
__global__ void __cluster_dims__(BELOW * ACROSS * SPLIT, 1, 1)
__launch_bounds__(128 + TM * 2, ON_AN_SM<Form<TM, TN, SLOTS, BELOW, ACROSS, SPLIT, A_ALONG_K, B_ALONG_K>>)
hopper(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b, const __grid_constant__ TensorMap map_c,
       const __grid_constant__ TensorMap map_c_rest, Out* C, const T* bias, float alpha, float beta, int by_row, int activation,
       int M, int N, int c_stride, int k_tiles, int k_part, int pieces, unsigned long long part, unsigned long long group,
       unsigned long long rows, unsigned long long last_rows)
{
    using Mine = Form<TM, TN, SLOTS, BELOW, ACROSS, SPLIT, A_ALONG_K, B_ALONG_K>;
    extern __shared__ __align__(1024) unsigned char memory[];
    auto& s = *(Shared<Mine>*)memory;
    Place<Mine> place;
    Order<Mine> order = {part, group, rows, last_rows, k_tiles, k_part, pieces};
    auto meet = [] { Mine::BLOCKS > 1 ? cluster_meet() : named_sync<128 + TM * 2>(8); };   // from three places
    int consumer = (int)threadIdx.x / 128 - 1;
    if (threadIdx.x == 32) {                                  // a warp with nothing else to do
        for (int slot = 0; slot < SLOTS; ++slot) {
            if (slot > 0 || !HAS_SM<Mine>) mbarrier_init(&s.full[slot], 1);
            mbarrier_init(&s.empty[slot], place.MATES * Mine::CONSUMERS);
        }
        if constexpr (SPLIT > 1) {
            mbarrier_init(&s.come, 1);
            mbarrier_expect(&s.come, sizeof(s.received));
        }
        mbarrier_init_done();
    }
    if (consumer >= 0) {
        if (Mine::CONSUMERS > 1) more_registers<Mine::CONSUMERS == 2 ? 232 : 160>();
        meet();
        float d[TN / 2];
        int count = 0, stored = 0;
        for (int number = blockIdx.x / Mine::BLOCKS; number < order.count; number += gridDim.x / Mine::BLOCKS) {
            Piece piece = order(number, place);
            consume<T, Mine>(d, s, place, consumer, piece.end - piece.begin, count);
            int m = piece.m + consumer * 64;
            Out* sums = C + (size_t)piece.part * M * c_stride;
            Finish<T, Out> finish = {sums, bias, alpha, beta, by_row, activation, M, N, c_stride};
            float share[SPLIT > 1 ? TN / 2 / SPLIT : 1];
            if constexpr (SPLIT > 1) add_up<Mine>(share, d, s, place);
            auto& whole = [&]() -> auto& { if constexpr (SPLIT > 1) return share; else return d; }();
            int n = piece.n + place.part * (TN / SPLIT);
            if constexpr (BOXES) {
                if (bias || alpha != 1 || activation) finish_sums(whole, finish, m, n);
                store_boxes<T, TURNED>(whole, s.C[consumer], map_c, map_c_rest, consumer, m, n, stored);
            } else store_sums<T>(whole, s.C[consumer], finish, m, n);
        }
        if (BOXES && threadIdx.x % 128 == 0) wait_stores_read();
    } else {                                                  // warpgroup 0
        if (Mine::CONSUMERS > 1) fewer_registers<Mine::CONSUMERS == 2 ? 40 : 32>();
        threadIdx.x < 32 ? produce<Mine>(s, map_a, map_b, order, place, meet) : meet();
    }
    if (SPLIT > 1) cluster_meet();                            // until the others have what they copy from here
}
