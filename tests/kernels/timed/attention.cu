// Attention of rows of 128 halves, for the clock: how softmax goes beside wgmma. A block has a warpgroup that copies and
// WG that multiply, each 64 rows of Q by tiles of 128 keys. TURNS 1: they start the scores in turn; 2: each has the
// tensor cores to itself in its turn, for P V and the next scores; EARLY: until P V is done. AHEAD: the next scores are
// started before P V. Without a part the answer is wrong: NOEXP, NORESCALE (of the sums), NOSOFT (all of softmax).
#include <cuda_fp16.h>
#define INFINITY __int_as_float(0x7f800000)
#include <course/named_barrier.cuh>
#include <course/stmatrix.cuh>
#include <course/tma.cuh>
#include <course/wgmma.cuh>
constexpr int KEYS = 128, D = 128, SLOTS = 2, THREADS = 128 * (WG + 1);

#define SUMS4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SUMS16(i) SUMS4(i), SUMS4(i + 4), SUMS4(i + 8), SUMS4(i + 12)
#define SUMS64 SUMS16(0), SUMS16(16), SUMS16(32), SUMS16(48)
__device__ __forceinline__ void ss(float (&d)[64], unsigned long long a, unsigned long long b, int add)
{
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %66, 0;"
                 " wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {REGISTERS}, %64, %65, p, 1, 1, 0, 0; }"
                 : SUMS64 : "l"(a), "l"(b), "r"(add));
}
// d += P V: A from registers, B (keys x 128) contiguous along its columns
__device__ __forceinline__ void rs(float (&d)[64], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned long long b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {REGISTERS}, {%64,%65,%66,%67}, %68, 1, 1, 1, 1;"
                 : SUMS64 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(b));
}
// rows of 64 halves; two halves of D behind each other
__device__ __forceinline__ void start_scores(float (&s)[KEYS / 2], const __half* Q, const __half* K)
{
    unsigned long long q = matrix_descriptor(Q), k = matrix_descriptor(K);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < 8; ++i)
        ss(s, q + i / 4 * (64 * 128 >> 4) + i % 4 * 2, k + i / 4 * (KEYS * 128 >> 4) + i % 4 * 2, i > 0);
    wgmma_commit();
}
__device__ __forceinline__ void start_values(float (&o)[64], unsigned (&p)[KEYS / 4], const __half* V)
{
    unsigned long long address = __cvta_generic_to_shared(V);
    unsigned long long v = (address & 0x3FFFF) >> 4 | (unsigned long long)(KEYS * 128 >> 4) << 16 | 1024ull >> 4 << 32 | 1ull << 62;
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < KEYS / 16; ++i)
        rs(o, p[4 * i], p[4 * i + 1], p[4 * i + 2], p[4 * i + 3], v + i * (16 * 128 >> 4));
    wgmma_commit();
}
__device__ __forceinline__ float exp2_of(float x) { float y; if (NOEXP) return x; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }

struct Shared { __half Q[WG][64 * D], K[SLOTS][KEYS * D], V[SLOTS][KEYS * D];
                Mbarrier q_full, q_empty, k_full[SLOTS], k_empty[SLOTS], v_full[SLOTS], v_empty[SLOTS]; };

// scores of one tile become P against a new maximum; the factor of what was summed before
__device__ __forceinline__ void softmax(float (&s)[KEYS / 2], float (&most)[2], float (&sum)[2], float (&less)[2], float scale)
{
    if (NOSOFT) { less[0] = less[1] = 1; return; }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        float m = most[h];
#pragma unroll
        for (int j = 0; j < KEYS / 8; ++j) m = fmaxf(m, fmaxf(s[4 * j + 2 * h], s[4 * j + 2 * h + 1]));
        m = fmaxf(m, __shfl_xor_sync(~0u, m, 1));
        m = fmaxf(m, __shfl_xor_sync(~0u, m, 2));
        less[h] = exp2_of((most[h] - m) * scale);
        most[h] = m;
        sum[h] *= less[h];
        float from = m * scale;
#pragma unroll
        for (int j = 0; j < KEYS / 8; ++j)
            for (int i = 0; i < 2; ++i) {
                float p = exp2_of(fmaf(s[4 * j + 2 * h + i], scale, -from));
                s[4 * j + 2 * h + i] = p;
                sum[h] += p;
            }
    }
}
__device__ __forceinline__ void rescale(float (&o)[64], const float (&less)[2])
{
    if (NOSOFT || NORESCALE) return;
#pragma unroll
    for (int i = 0; i < 64; ++i) o[i] *= less[i / 2 % 2];
}
__device__ __forceinline__ void pack(unsigned (&p)[KEYS / 4], const float (&s)[KEYS / 2])
{
#pragma unroll
    for (int i = 0; i < KEYS / 4; ++i) p[i] = packed(s[2 * i], s[2 * i + 1]);
}
extern "C" __global__ void __launch_bounds__(THREADS, 1)
attention(const __grid_constant__ TensorMap Q, const __grid_constant__ TensorMap K, const __grid_constant__ TensorMap V,
          const __grid_constant__ TensorMap O, int length, int tiles, float scale)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Shared& s = *(Shared*)memory;
    int per_head = length / (64 * WG);
    if (threadIdx.x == 0) {
        mbarrier_init(&s.q_full, 1);
        mbarrier_init(&s.q_empty, WG);
        for (int slot = 0; slot < SLOTS; ++slot) {
            mbarrier_init(&s.k_full[slot], 1);
            mbarrier_init(&s.v_full[slot], 1);
            mbarrier_init(&s.k_empty[slot], WG);
            mbarrier_init(&s.v_empty[slot], WG);
        }
        mbarrier_init_done();
    }
    __syncthreads();
    int warpgroup = threadIdx.x / 128;
    if (warpgroup == 0) {
        fewer_registers<WG == 3 ? 32 : WG == 2 ? 24 : 40>();
        int count = 0, turn_q = 0;
        if (threadIdx.x == 0)
        for (int number = blockIdx.x; number < tiles; number += gridDim.x, ++turn_q) {
            int head = number / per_head, at = number % per_head;
            int first = head * length, m = first + at * 64 * WG;
            int k_tiles = (length + KEYS - 1) / KEYS;
            mbarrier_wait(&s.q_empty, (turn_q + 1) % 2);
            mbarrier_expect(&s.q_full, sizeof(s.Q));
            for (int w = 0; w < WG; ++w)
                for (int half = 0; half < 2; ++half)
                    load_box(s.Q[w] + half * 64 * 64, Q, half * 64, m + w * 64, &s.q_full);
            for (int tile = 0; tile < k_tiles; ++tile, ++count) {
                int slot = count % SLOTS, turn = count / SLOTS;
                mbarrier_wait(&s.k_empty[slot], (turn + 1) % 2);
                mbarrier_expect(&s.k_full[slot], sizeof(s.K[0]));
                for (int half = 0; half < 2; ++half)
                    load_box(s.K[slot] + half * KEYS * 64, K, half * 64, first + tile * KEYS, &s.k_full[slot]);
                mbarrier_wait(&s.v_empty[slot], (turn + 1) % 2);
                mbarrier_expect(&s.v_full[slot], sizeof(s.V[0]));
                for (int half = 0; half < 2; ++half)
                    load_box(s.V[slot] + half * KEYS * 64, V, half * 64, first + tile * KEYS, &s.v_full[slot]);
            }
        }
        return;
    }
    more_registers<WG == 3 ? 160 : WG == 2 ? 240 : 232>();
    int w = warpgroup - 1, thread = threadIdx.x % 128, lane = threadIdx.x % 32;
    int count = 0, turn_q = 0;
    if (TURNS && w == 0) named_arrive<256>(1);                // the first turn is warpgroup 0's: as if the other had left
#define MY_TURN if (TURNS) named_sync<256>(1 + w)
#define YOUR_TURN if (TURNS) named_arrive<256>(1 + (w ^ 1))
    for (int number = blockIdx.x; number < tiles; number += gridDim.x, ++turn_q) {
        int head = number / per_head, at = number % per_head;
        int m = head * length + at * 64 * WG;
        int k_tiles = (length + KEYS - 1) / KEYS;
        float o[64], sum[2] = {0, 0}, most[2] = {-INFINITY, -INFINITY}, less[2];
        unsigned p[KEYS / 4];
#pragma unroll
        for (int i = 0; i < 64; ++i) o[i] = 0;
        mbarrier_wait(&s.q_full, turn_q % 2);
#if TURNS == 2
        {
            float scores[KEYS / 2];
            mbarrier_wait(&s.k_full[count % SLOTS], count / SLOTS % 2);
            MY_TURN;
            start_scores(scores, s.Q[w], s.K[count % SLOTS]);
            wgmma_wait<0>();
            YOUR_TURN;
            if (thread == 0) mbarrier_arrive(&s.k_empty[count % SLOTS]);
            for (int tile = 0; tile < k_tiles; ++tile, ++count) {
                int slot = count % SLOTS, parity = count / SLOTS % 2, next = (count + 1) % SLOTS;
                softmax(scores, most, sum, less, scale);
                rescale(o, less);
                pack(p, scores);
                mbarrier_wait(&s.v_full[slot], parity);
                if (tile + 1 < k_tiles) mbarrier_wait(&s.k_full[next], (count + 1) / SLOTS % 2);
                MY_TURN;
                start_values(o, p, s.V[slot]);
                if (tile + 1 < k_tiles) start_scores(scores, s.Q[w], s.K[next]);
                if (EARLY) { wgmma_wait<1>(); YOUR_TURN; wgmma_wait<0>(); }
                else { wgmma_wait<0>(); YOUR_TURN; }
                if (thread == 0) { mbarrier_arrive(&s.v_empty[slot]); if (tile + 1 < k_tiles) mbarrier_arrive(&s.k_empty[next]); }
            }
        }
#elif !AHEAD
        for (int tile = 0; tile < k_tiles; ++tile, ++count) {
            int slot = count % SLOTS, parity = count / SLOTS % 2;
            float scores[KEYS / 2];
            mbarrier_wait(&s.k_full[slot], parity);
            MY_TURN;
            start_scores(scores, s.Q[w], s.K[slot]);
            if (TURNS == 1) YOUR_TURN;
            wgmma_wait<0>();
            if (thread == 0) mbarrier_arrive(&s.k_empty[slot]);
            softmax(scores, most, sum, less, scale);
            rescale(o, less);
            pack(p, scores);
            mbarrier_wait(&s.v_full[slot], parity);
            start_values(o, p, s.V[slot]);
            wgmma_wait<0>();
            if (thread == 0) mbarrier_arrive(&s.v_empty[slot]);
        }
#else
        {
            float scores[KEYS / 2];
            int slot = count % SLOTS;
            mbarrier_wait(&s.k_full[slot], count / SLOTS % 2);
            MY_TURN;
            start_scores(scores, s.Q[w], s.K[slot]);
            YOUR_TURN;
            wgmma_wait<0>();
            if (thread == 0) mbarrier_arrive(&s.k_empty[slot]);
            softmax(scores, most, sum, less, scale);
            pack(p, scores);
            ++count;
        }
        for (int tile = 1; tile < k_tiles; ++tile, ++count) {
            float scores[KEYS / 2];
            int slot = count % SLOTS, before = (count - 1) % SLOTS;
            mbarrier_wait(&s.k_full[slot], count / SLOTS % 2);
            MY_TURN;
            start_scores(scores, s.Q[w], s.K[slot]);
            mbarrier_wait(&s.v_full[before], (count - 1) / SLOTS % 2);
            start_values(o, p, s.V[before]);
            YOUR_TURN;
            wgmma_wait<1>();
            if (thread == 0) mbarrier_arrive(&s.k_empty[slot]);
            softmax(scores, most, sum, less, scale);
            wgmma_wait<0>();
            if (thread == 0) mbarrier_arrive(&s.v_empty[before]);
            rescale(o, less);
            pack(p, scores);
        }
        {
            int before = (count - 1) % SLOTS;
            mbarrier_wait(&s.v_full[before], (count - 1) / SLOTS % 2);
            start_values(o, p, s.V[before]);
            wgmma_wait<0>();
            if (thread == 0) mbarrier_arrive(&s.v_empty[before]);
        }
#endif
        for (int h = 0; h < 2; ++h) {
            sum[h] += __shfl_xor_sync(~0u, sum[h], 1);
            sum[h] += __shfl_xor_sync(~0u, sum[h], 2);
            less[h] = 1 / sum[h];
        }
        rescale(o, less);
        // the way out: through this warpgroup's place of Q
        named_sync<128>(4 + w);
        for (int j = 0; j < 8; ++j) {                         // 16 columns
            __half* to = s.Q[w] + j / 4 * 64 * 64 + (thread / 32 * 16 + lane % 16) * 64;
            stmatrix_x4(to + ((j % 4 * 2 + lane / 16) ^ lane % 8) * 8, packed(o[8 * j], o[8 * j + 1]),
                        packed(o[8 * j + 2], o[8 * j + 3]), packed(o[8 * j + 4], o[8 * j + 5]), packed(o[8 * j + 6], o[8 * j + 7]));
        }
        fence_async();
        named_sync<128>(4 + w);
        if (thread == 0) {
            for (int half = 0; half < 2; ++half) store_box(O, half * 64, m + w * 64, s.Q[w] + half * 64 * 64);
            commit_stores();
            wait_stores_read();
            mbarrier_arrive(&s.q_empty);
        }
    }
    if (TURNS && w == 0) named_sync<256>(1);                  // nobody leaves with an arrival open
    if (thread == 0) wait_stores();
}
