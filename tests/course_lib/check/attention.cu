
#include <course/attention.cuh>
#include <course/timeline.cuh>
constexpr int CONSUMERS = 2, KEYS = 128, SLOTS = 2, THREADS = 128 * (1 + CONSUMERS);
struct Shared {
    __half Q[CONSUMERS][64 * HEAD], K[SLOTS][KEYS * HEAD], V[SLOTS][KEYS * HEAD];
    Mbarrier q_full, k_full[SLOTS], k_empty[SLOTS], v_full[SLOTS], v_empty[SLOTS];
};

// Scores become weights. `most` and `sum` are those of this thread's two rows, so far.
__device__ __forceinline__ void softmax(float (&scores)[64], float (&most)[2], float (&sum)[2], float (&factor)[2],
                                        float scale)
{
    for (int h = 0; h < 2; ++h) {
        float largest = most[h];
        for (int j = 0; j < 16; ++j)
            largest = fmaxf(largest, fmaxf(scores[4 * j + 2 * h], scores[4 * j + 2 * h + 1]));
        largest = largest_of_row(largest);
        factor[h] = exp2_of((most[h] - largest) * scale);
        most[h] = largest;
        sum[h] *= factor[h];
        for (int j = 0; j < 16; ++j)
            for (int i = 0; i < 2; ++i) {
                float& weight = scores[4 * j + 2 * h + i];
                weight = exp2_of(weight * scale - largest * scale);
                sum[h] += weight;
            }
    }
}

__device__ __forceinline__ void rescale(float (&O)[64], const float (&factor)[2])
{
    for (int i = 0; i < 64; ++i) O[i] *= factor[i / 2 % 2];
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
side_by_side(const __grid_constant__ TensorMap Q, const __grid_constant__ TensorMap K,
             const __grid_constant__ TensorMap V, const __grid_constant__ TensorMap O,
             int queries, int keys, float scale TRACE_ARG)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Shared& s = *(Shared*)memory;
    int row = blockIdx.y * queries + blockIdx.x * 64 * CONSUMERS, first = blockIdx.y * keys, tiles = keys / KEYS;
    if (threadIdx.x == 0) {
        mbarrier_init(&s.q_full, 1);
        for (int slot = 0; slot < SLOTS; ++slot) {
            mbarrier_init(&s.k_full[slot], 1);
            mbarrier_init(&s.v_full[slot], 1);
            mbarrier_init(&s.k_empty[slot], CONSUMERS);
            mbarrier_init(&s.v_empty[slot], CONSUMERS);
        }
        mbarrier_init_done();
    }
    __syncthreads();
    if (threadIdx.x < 128) {                          // the producer
        fewer_registers<24>();
        if (threadIdx.x == 0) {
            mbarrier_expect(&s.q_full, sizeof(s.Q));
            for (int i = 0; i < CONSUMERS; ++i) load_head_rows(64, s.Q[i], Q, row + i * 64, &s.q_full);
        }
        for (int tile = 0; tile < tiles && threadIdx.x < 32; ++tile) {
            int slot = tile % SLOTS, turn = tile / SLOTS;
            TRACE_BEGIN(wait, tile);
            mbarrier_wait(&s.k_empty[slot], (turn + 1) % 2);
            mbarrier_wait(&s.v_empty[slot], (turn + 1) % 2);
            TRACE_END(wait, tile);
            TRACE_BEGIN(copy, tile);
            if (threadIdx.x == 0) {
                mbarrier_expect(&s.k_full[slot], sizeof(s.K[slot]));
                load_head_rows(KEYS, s.K[slot], K, first + tile * KEYS, &s.k_full[slot]);
                mbarrier_expect(&s.v_full[slot], sizeof(s.V[slot]));
                load_head_rows(KEYS, s.V[slot], V, first + tile * KEYS, &s.v_full[slot]);
            }
            TRACE_END(copy, tile);
        }
    } else {                                          // the consumers
        more_registers<240>();
        int mine = threadIdx.x / 128 - 1, thread = threadIdx.x % 128;
        float o[64] = {}, sum[2] = {}, factor[2], most[2] = {-1e30f, -1e30f};
        mbarrier_wait(&s.q_full, 0);
        for (int tile = 0; tile < tiles; ++tile) {
            int slot = tile % SLOTS, turn = tile / SLOTS;
            float scores[64];
            unsigned weights[8][4];
            TRACE_BEGIN(wait, tile);
            mbarrier_wait(&s.k_full[slot], turn % 2);
            TRACE_END(wait, tile);
            TRACE_BEGIN(math, tile);
            start_scores(scores, s.Q[mine], s.K[slot]);
            wgmma_wait<0>();
            TRACE_END(math, tile);
            if (thread == 0) mbarrier_arrive(&s.k_empty[slot]);
            TRACE_BEGIN(softmax, tile);
            softmax(scores, most, sum, factor, scale);
            rescale(o, factor);
            pack(weights, scores);
            TRACE_END(softmax, tile);
            TRACE_BEGIN(wait, tile);
            mbarrier_wait(&s.v_full[slot], turn % 2);
            TRACE_END(wait, tile);
            TRACE_BEGIN(math, tile);
            start_values(o, weights, s.V[slot]);
            wgmma_wait<0>();
            TRACE_END(math, tile);
            if (thread == 0) mbarrier_arrive(&s.v_empty[slot]);
        }
        TRACE_BEGIN(epilogue, tiles - 1);
        for (int h = 0; h < 2; ++h) factor[h] = 1 / sum_of_row(sum[h]);
        rescale(o, factor);
        store_head_rows(O, row + mine * 64, s.Q[mine], o, 1 + mine);
        TRACE_END(epilogue, tiles - 1);
    }
}
