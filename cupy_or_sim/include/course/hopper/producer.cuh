// The producer.
#pragma once
#include <course/gemm/dependent.cuh>
#include <course/hopper/order.cuh>

// The producer, one warp: k-tile after k-tile of all pieces into the ring. A block loads its share of A and of B, for all that read
// them. `meet` waits until every block's barriers are made.
template <typename Form, typename Meet>
__device__ __forceinline__ void produce(Ring<Form>& s, const TensorMap& A, const TensorMap& B, const Order<Form>& order,
                                        const Place<Form>& place, Meet meet)
{
    if (HAS_SM<Form> && threadIdx.x == 0) {                   // the first k-tile's barrier, which nobody else makes then
        mbarrier_init(&s.full[0], 1);
        mbarrier_init_done();
    }
    int count = 0, number = blockIdx.x / Form::BLOCKS;        // k-tiles so far
    Piece piece = order(number, place);
    if (!HAS_SM<Form>) meet();
    wait_for_kernel_before();                                 // which may have written A and B, or have read what C is now
    for (; number < order.count; piece = order(number, place)) {
        for (int k_tile = piece.begin; k_tile < piece.end; ++k_tile, ++count) {
            int slot = count % Form::SLOTS, turn = count / Form::SLOTS;
            if (turn > 0 || !HAS_SM<Form>) mbarrier_wait(&s.empty[slot], (turn + 1) % 2);
            if (threadIdx.x % 32 == 0) {
                auto& to = s.slots[slot];
                mbarrier_expect(&s.full[slot], sizeof(to));
                Form::Left::template load<Form::ACROSS>(place.column, place.beside(), to.A, A, piece.m, k_tile * TK, &s.full[slot]);
                Form::Right::template load<Form::BELOW>(place.row, place.below(), to.B, B, piece.n, k_tile * TK, &s.full[slot]);
            }
            if (HAS_SM<Form> && count == 0) meet();
        }
        number += gridDim.x / Form::BLOCKS;
    }
    let_next_kernel_begin();                                  // earlier its blocks would share SMs with some of these
    if (Form::BELOW + Form::ACROSS > 2)                       // until all have arrived here, this block may not end
        for (int i = 0; i < Form::SLOTS; ++i, ++count)
            mbarrier_wait(&s.empty[count % Form::SLOTS], (count / Form::SLOTS + 1) % 2);
}
